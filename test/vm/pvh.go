package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Unpacking itself costs a kernel half of the boot when each of its
// instructions is emulated. So it is unpacked once, here, into the form that
// qemu starts directly.

// unpackKernel unpacks the compressed image and writes the kernel to file.
// It is an error when the kernel cannot be started that way.
func unpackKernel(ctx context.Context, image, file string) error {
	data, err := os.ReadFile(image)
	if err != nil {
		return err
	}
	packed, size, err := payload(data)
	if err != nil {
		return err
	}
	tool, err := unpacker(packed)
	if err != nil {
		return err
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, tool, "-dc")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(packed), &out, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", tool, err, said.String())
	}
	if out.Len() != int(size) {
		return fmt.Errorf("unpacked to %d bytes, not %d", out.Len(), size)
	}
	if !hasPVHEntry(out.Bytes()) {
		return errors.New("the kernel has no PVH entry")
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// payload finds the compressed kernel in a bzImage, and its size when
// unpacked, which follows it. See Documentation/arch/x86/boot.rst in the kernel.
func payload(image []byte) (packed []byte, size uint32, err error) {
	const (
		setupSectors  = 0x1f1
		magic         = 0x202
		payloadOffset = 0x248
		payloadLength = 0x24c
		headerEnd     = 0x250
	)
	if len(image) < headerEnd || string(image[magic:magic+4]) != "HdrS" {
		return nil, 0, errors.New("not a bzImage")
	}
	le := binary.LittleEndian
	start := (uint64(image[setupSectors])+1)*512 + uint64(le.Uint32(image[payloadOffset:]))
	end := start + uint64(le.Uint32(image[payloadLength:]))
	if end > uint64(len(image)) || end-start < 4 {
		return nil, 0, errors.New("a truncated bzImage")
	}
	return image[start : end-4], le.Uint32(image[end-4:]), nil
}

// unpacker names the tool for the compression that data begins with.
func unpacker(data []byte) (string, error) {
	for tool, magic := range map[string]string{
		"xz": "\xfd7zXZ\x00", "zstd": "\x28\xb5\x2f\xfd", "gzip": "\x1f\x8b",
	} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return findTool(tool)
		}
	}
	return "", errors.New("unknown compression")
}

// hasPVHEntry looks for the ELF note that qemu starts such a kernel by.
func hasPVHEntry(program []byte) bool {
	const physEntry = 18 // XEN_ELFNOTE_PHYS32_ENTRY
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return false
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := p.ReadAt(notes, 0); err != nil {
			return false
		}
		for len(notes) >= 12 {
			name, desc := f.ByteOrder.Uint32(notes), f.ByteOrder.Uint32(notes[4:])
			if f.ByteOrder.Uint32(notes[8:]) == physEntry && bytes.HasPrefix(notes[12:], []byte("Xen\x00")) {
				return true
			}
			size := 12 + align4(name) + align4(desc)
			if size > uint64(len(notes)) {
				break
			}
			notes = notes[size:]
		}
	}
	return false
}

func align4(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }

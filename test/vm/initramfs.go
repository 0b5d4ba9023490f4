package main

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/u-root/u-root/pkg/cpio"
)

// bootModules are the modules that the guest's init needs before it sees the
// host's files; the rest load by themselves.
func bootModules() []string {
	return []string{"virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_net", "virtio_console"}
}

// writeInitramfs writes an initramfs of this very program as init, and the
// modules, to w.
func writeInitramfs(ctx context.Context, w io.Writer, k kernel) error {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := mustBeStatic(self); err != nil {
		return err
	}
	records := []cpio.Record{
		cpio.Directory("dev", 0o755),
		cpio.CharDev("dev/console", 0o600, 5, 1),
		cpio.StaticFile("init", string(self), 0o755),
		cpio.Directory("modules", 0o755),
	}
	files, err := k.modules(ctx, bootModules()...)
	if err != nil {
		return err
	}
	for i, file := range files {
		module, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("modules/%03d-%s", i, filepath.Base(file))
		records = append(records, cpio.StaticFile(name, string(module), 0o644))
	}
	out := bufio.NewWriter(w)
	archive := cpio.Newc.Writer(out)
	if err := cpio.WriteRecords(archive, records); err != nil {
		return err
	}
	if err := cpio.WriteTrailer(archive); err != nil {
		return err
	}
	return out.Flush()
}

// mustBeStatic refuses a program that needs a loader, which an initramfs lacks.
func mustBeStatic(program []byte) error {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("this program is to be the guest's init: build it with CGO_ENABLED=0, as test/vm/run does")
		}
	}
	return nil
}

package cni

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
)

// thisProgram tells whether the file is this very program: its file, or a copy of
// it. Where that can't be told, it is not: it will be executed.
func thisProgram(path string) bool {
	const self = "/proc/self/exe"
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	here, err := os.Stat(self)
	if err != nil || os.SameFile(there, here) {
		return err == nil
	}
	if there.Size() != here.Size() {
		return false
	}
	a, err := head(self)
	if err != nil {
		return false
	}
	b, err := head(path)
	return err == nil && bytes.Equal(a, b) && hasBuildID(a)
}

// headLen is where Go's linker has a program's code begin. Before it are the
// headers, and the build ID.
const headLen = 4096

func head(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, headLen)
	_, err = io.ReadFull(f, data)
	return data, err
}

// hasBuildID tells whether Go's build ID is in the head: a hash of all that the
// program was made of. It is an ELF note of type 4, by the name of Go.
func hasBuildID(head []byte) bool {
	note := binary.NativeEndian.AppendUint32(nil, 4)
	note = append(note, "Go\x00\x00"...)
	at := bytes.Index(head, note)
	return at >= 4 && binary.NativeEndian.Uint32(head[at-4:]) > 0
}

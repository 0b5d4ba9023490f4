package cni

import (
	"os"
	"path/filepath"
	"testing"
)

// TestThisProgram: each plugin may be a file of its own, and a delegate is called
// in this process all the same; what differs by a byte is another's.
func TestThisProgram(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	other := func(change func(p []byte) []byte) []byte { return change(append([]byte(nil), program...)) }
	for name, c := range map[string]struct {
		content []byte
		want    bool
	}{
		"a copy":         {program, true},
		"a longer one":   {append(program[:len(program):len(program)], 'x'), false},
		"half a copy":    {program[:len(program)/2], false},
		"other build ID": {other(func(p []byte) []byte { p[headLen-0x60] ^= 1; return p }), false},
		"other headers":  {other(func(p []byte) []byte { p[0x40] ^= 1; return p }), false},
		"a script":       {[]byte("#!/bin/sh\n"), false},
		"empty":          {nil, false},
	} {
		path := filepath.Join(t.TempDir(), "plugin")
		if err := os.WriteFile(path, c.content, 0o755); err != nil {
			t.Fatal(err)
		}
		if got := thisProgram(path); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !thisProgram(self) {
		t.Error("its own file")
	}
	if thisProgram(filepath.Join(t.TempDir(), "none")) {
		t.Error("no file")
	}
}

// TestHasBuildID: without one, two builds can't be told apart by their heads.
func TestHasBuildID(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]bool{
		"": false, "\x04\x00\x00\x00Go\x00\x00": false,
		"\x00\x00\x00\x00\x04\x00\x00\x00Go\x00\x00":    false,
		"\x53\x00\x00\x00\x04\x00\x00\x00Go\x00\x00abc": true,
	} {
		if got := hasBuildID([]byte(head)); got != want {
			t.Errorf("%q: %v", head, got)
		}
	}
}

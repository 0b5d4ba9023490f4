package main

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestPassEnv(t *testing.T) {
	t.Parallel()
	got := passEnv([]string{
		"PATH=/x", "HOME=/h", "SECRET=1", "OTHER=2", "FAIRLEAD_X=y", "FAIRLEAD_VM=no", "CNI_PATH=/p", "LC_ALL=C",
	}, []string{"OTHER", "NEW=3", "UNSET"})
	slices.Sort(got)
	want := []string{
		"CNI_PATH=/p", "FAIRLEAD_VM=1", "FAIRLEAD_X=y", "HOME=/h", "LC_ALL=C", "NEW=3", "OTHER=2",
		"PATH=/x:/usr/local/sbin:/usr/sbin:/sbin",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestSplitTestArgs(t *testing.T) {
	t.Parallel()
	flags, packages := splitTestArgs([]string{"-v", "-run=X", "./a", "./b"})
	if !slices.Equal(flags, []string{"-v", "-run=X"}) || !slices.Equal(packages, []string{"./a", "./b"}) {
		t.Errorf("flags %q, packages %q", flags, packages)
	}
}

func TestDependedKernel(t *testing.T) {
	t.Parallel()
	meta := "Package: linux-image-amd64\nDepends: libc6, linux-image-6.1.0-57-amd64 (= 6.1.192-3)\nSize: 1\n"
	if got := dependedKernel("linux-image-amd64", meta); got != "linux-image-6.1.0-57-amd64" {
		t.Errorf("metapackage: %q", got)
	}
	real := "Package: linux-image-6.1.0-57-amd64\nDepends: kmod, linux-base (>= 4.3~)\n"
	if got := dependedKernel("linux-image-6.1.0-57-amd64", real); got != "linux-image-6.1.0-57-amd64" {
		t.Errorf("real package: %q", got)
	}
}

func TestCacheDir(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"FAIRLEAD_VM_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c"},
		{map[string]string{"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/fairlead/vm"},
		{map[string]string{"HOME": "/h"}, "/h/.cache/fairlead/vm"},
		{nil, ""},
	} {
		got, err := cacheDir(func(name string) string { return c.env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q, %v; want %q", c.env, got, err, c.want)
		}
	}
}

func TestFindKernel(t *testing.T) {
	t.Parallel()
	tree := kernelTree(t, t.TempDir())
	want := kernel{
		Image: filepath.Join(tree, "boot/vmlinuz-9.9"), Modules: filepath.Join(tree, "lib/modules"), Release: "9.9",
	}
	for _, spec := range []string{tree, want.Image} {
		if got, err := findKernel(t.Context(), spec, t.TempDir()); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", spec, got, err, want)
		}
	}
	bare := filepath.Join(t.TempDir(), "bzImage")
	write(t, bare, "")
	if got, err := findKernel(t.Context(), bare, t.TempDir()); err != nil || got != (kernel{Image: bare}) {
		t.Errorf("a bare image: %+v, %v", got, err)
	}
	for _, spec := range []string{"/no/such/file", t.TempDir()} {
		if got, err := findKernel(t.Context(), spec, t.TempDir()); err == nil {
			t.Errorf("%s: %+v, want an error", spec, got)
		}
	}
}

func TestCachedKernelIsFilledOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache", "linux")
	if _, err := cachedKernel(t.Context(), dir, func(string) error { return errors.New("no network") }); err == nil {
		t.Fatal("want an error")
	}
	var fills atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			_, err := cachedKernel(t.Context(), dir, func(dir string) error {
				fills.Add(1)
				kernelTree(t, dir)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := fills.Load(); n != 1 {
		t.Errorf("filled %d times", n)
	}
}

func TestMustBeStatic(t *testing.T) {
	t.Parallel()
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := mustBeStatic(shell); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("a dynamic program: %v", err)
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	image := make([]byte, 2048)
	image[0x1f1] = 1
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint32(image[0x248:], 16)
	binary.LittleEndian.PutUint32(image[0x24c:], 10)
	copy(image[1024+16:], "packed\x07\x00\x00\x00")
	if packed, size, err := payload(image); string(packed) != "packed" || size != 7 || err != nil {
		t.Errorf("%q, %d, %v", packed, size, err)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "no magic": make([]byte, 2048), "truncated": image[:1024+20],
	} {
		if _, _, err := payload(bad); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
	if hasPVHEntry(image) {
		t.Error("a bzImage has a PVH entry")
	}
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain"), "")
	env := []string{"PATH=" + dir + ":/usr/bin:/bin"}
	for name, want := range map[string]string{"sh": "/usr/bin/sh", "./x": "./x", "plain": "", "no-such-command": ""} {
		got, err := lookPath(&command{Argv: []string{name}, Env: env})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"// Package a.\n//\n//fairlead:vmtest\npackage a\n":          true,
		"package a\n\n//fairlead:vmtest\n":                           false,
		"// Package a is not //fairlead:vmtest marked.\npackage a\n": false,
	} {
		file := filepath.Join(t.TempDir(), "a.go")
		write(t, file, text)
		if got, err := hasMark(file); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestConsoleExplains(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[ 1.0] Kernel panic - not syncing: VFS: cannot\r\n":                                    "kernel panicked: VFS: cannot",
		consolePrefix + "mounting host on /lower: x\r\nKernel panic - not syncing: Attempted\n": "init failed: mounting host",
		"qemu-system-x86_64: bad option\n":                                                      "qemu ended",
	} {
		c := &console{}
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := c.explain(nil).Error(); !strings.Contains(got, want) || !strings.Contains(got, strings.TrimSpace(text[:10])) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// kernelTree makes what a kernel package unpacks to.
func kernelTree(t *testing.T, dir string) string {
	t.Helper()
	write(t, filepath.Join(dir, "boot/vmlinuz-9.9"), "")
	write(t, filepath.Join(dir, "lib/modules/9.9/modules.dep"), "")
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

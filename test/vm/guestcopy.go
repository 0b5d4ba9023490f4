package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// copyPrograms has the programs that tests start over and over, and their
// libraries, copied to the overlay's memory: of a file that is in 9p, each
// opening, and each symbolic link on the way there, is a request to the host.
// What is not installed is left out.
func copyPrograms() error {
	c, err := newCopier()
	if err != nil {
		return err
	}
	for _, name := range []string{
		"ip", "tc", "bridge", "nft", "modprobe", "sh", "ping", "sysctl",
		"iptables", "iptables-restore", "iptables-nft", "iptables-legacy",
		"ip6tables", "ip6tables-restore", "ip6tables-nft", "ip6tables-legacy",
	} {
		for _, dir := range []string{"/usr/sbin", "/usr/bin"} {
			if err := c.program(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("copying %s: %w", name, err)
			}
		}
	}
	others := []string{"/etc/ld.so.cache", "/bin", "/sbin", "/lib", "/lib64"}
	for _, pattern := range []string{
		"/etc/iproute2/*", "/usr/share/iproute2/*",
		// The kernel starts modprobe for each kind of link that it does not know.
		"/lib/modules/*/modules.*", "/lib/modprobe.d/*", "/etc/modprobe.d/*",
	} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		others = append(others, names...)
	}
	for _, name := range others {
		if err := c.file(name); err != nil {
			return err
		}
	}
	return nil
}

// A copier copies files once each.
type copier struct {
	done map[string]bool
	libs []string // where libraries are
}

func newCopier() (copier, error) {
	libs, err := filepath.Glob("/usr/lib/*-linux-gnu*")
	return copier{map[string]bool{}, append(libs, "/usr/lib64", "/usr/lib")}, err
}

// file copies a file, or a symbolic link as such: overlayfs copies what is about
// to be changed, even if it is then changed to what it was.
func (c copier) file(path string) error {
	c.done[path] = true
	if i, err := os.Lstat(path); err != nil || i.IsDir() {
		return unlessMissing(err)
	}
	return os.Lchown(path, -1, -1)
}

// program copies an executable or a library with all that it needs.
func (c copier) program(path string) error {
	for range 8 { // symbolic links
		if c.done[path] {
			return nil
		}
		if err := c.file(path); err != nil {
			return err
		}
		to, err := os.Readlink(path)
		if errors.Is(err, unix.EINVAL) { // no link
			return c.libraries(path)
		}
		if err != nil {
			return unlessMissing(err)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return fmt.Errorf("%s: too many symbolic links", path)
}

func (c copier) libraries(path string) error {
	f, err := elf.Open(path)
	if _, bad := errors.AsType[*elf.FormatError](err); bad {
		return nil // a script
	}
	if err != nil {
		return unlessMissing(err)
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if interp := f.Section(".interp"); interp != nil {
		name, err := interp.Data()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		needed = append(needed, filepath.Base(strings.TrimRight(string(name), "\x00")))
	}
	for _, name := range needed {
		for _, dir := range c.libs {
			if err := c.program(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

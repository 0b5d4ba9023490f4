package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// WriteFile writes a file as the host sees it, and makes its directory.
func (h *Host) WriteFile(path, content string) {
	h.t.Helper()
	var err error
	h.Do(func() {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
	})
	if err != nil {
		h.t.Fatalf("host: %v", err)
	}
}

// ReadFile reads a file as the host sees it; ok is false when there is none.
func (h *Host) ReadFile(path string) (content string, ok bool) {
	h.t.Helper()
	var b []byte
	var err error
	h.Do(func() { b, err = os.ReadFile(path) })
	if os.IsNotExist(err) {
		return "", false
	}
	if err != nil {
		h.t.Fatalf("host: %v", err)
	}
	return string(b), true
}

// ReadDir lists the names in a directory as the host sees it; none when there
// is no such directory.
func (h *Host) ReadDir(path string) []string {
	h.t.Helper()
	var entries []os.DirEntry
	var err error
	h.Do(func() { entries, err = os.ReadDir(path) })
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatalf("host: %v", err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// RemoveAll removes a path and what is below it, as the host sees it.
func (h *Host) RemoveAll(path string) {
	h.t.Helper()
	var err error
	h.Do(func() { err = os.RemoveAll(path) })
	if err != nil {
		h.t.Fatalf("host: %v", err)
	}
}

// Reboot does to the host what a reboot does to a machine: what is in memory
// is gone, the kernel has another boot_id, and /var/lib is as before. The
// namespaces of containers must be gone already.
func (h *Host) Reboot() {
	h.t.Helper()
	h.RemoveAll("/run/fairlead")
	h.RemoveAll("/run/cni")
	h.MustRun("nft", "flush", "ruleset")
	for _, link := range h.ReadDir("/sys/class/net") {
		if link != "lo" {
			// A veth's other end goes with it.
			_ = h.Command("ip", "link", "del", link).Run()
		}
	}
	path := h.fresh("/run/boot_id.")
	number, _ := strings.CutPrefix(path, "/run/boot_id.")
	h.WriteFile(path, fmt.Sprintf("00000000-0000-4000-8000-%012s\n", number))
	var err error
	h.Do(func() { err = unix.Mount(path, "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, "") })
	if err != nil {
		h.t.Fatalf("host: another boot_id: %v", err)
	}
}

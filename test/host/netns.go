package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const netnsDir = "/run/netns"

// Netns makes the network namespace of a container and returns its path,
// /run/netns/NAME, which exists in this host only.
func (h *Host) Netns(name string) string {
	h.t.Helper()
	path, err := h.host.AddNetns(name)
	if err != nil {
		h.t.Fatalf("host: %v", err)
	}
	return path
}

// DeleteNetns takes a container's namespace away, as a runtime does: nothing
// is left at its path. The kernel destroys what is in it a moment later.
func (h *Host) DeleteNetns(path string) {
	h.t.Helper()
	var err error
	h.Do(func() { _, err = os.Lstat(path) })
	if errors.Is(err, fs.ErrNotExist) {
		h.t.Fatalf("host: deleting namespace %s: %v", path, err)
	}
	h.RemoveNetns(path)
}

// RemoveNetns is DeleteNetns for a path that may be gone already, or be no
// namespace any more.
func (h *Host) RemoveNetns(path string) {
	h.t.Helper()
	if filepath.Dir(path) != netnsDir {
		h.t.Fatalf("host: %s is not in %s", path, netnsDir)
	}
	if err := h.host.RemoveNetns(path); err != nil {
		h.t.Fatalf("host: %v", err)
	}
}

// Inside runs f on the host's thread, within the namespace at path. As in Do,
// f must not end its goroutine.
func (h *Host) Inside(path string, f func()) {
	h.t.Helper()
	if err := h.host.Inside(path, f); err != nil {
		h.t.Fatalf("host: %v", err)
	}
}

package host

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/fairlead-net/fairlead/lab/host"
)

// A Host is a private host: one thread in network and mount namespaces of its
// own. It ends with its test. Its methods may be called from any goroutine,
// but not from within a function handed to Do.
type Host struct {
	t    testing.TB
	host *host.Host
	// born are the mounts that the host began with, by ID.
	born map[string]string

	mu    sync.Mutex
	spare int // numbers generated names
}

// New makes a host. It needs root; without, the test fails.
func New(t testing.TB) *Host {
	t.Helper()
	private, err := host.New()
	if err != nil {
		t.Fatalf("host: %v", err)
	}
	t.Cleanup(func() {
		if err := private.Close(); err != nil {
			t.Errorf("host: %v", err)
		}
	})
	return &Host{t: t, host: private, born: private.Born()}
}

// Do runs f on the host's thread and waits for it. Children that f starts
// inherit the host's namespaces. f must not end its goroutine (t.Fatal); a
// panic in it comes out of Do.
func (h *Host) Do(f func()) { h.host.Do(f) }

// NetnsPath is the host's own network namespace, usable from any thread of
// this process and from its children.
func (h *Host) NetnsPath() string { return h.host.NetnsPath() }

// fresh returns a name that this host has not given out before.
func (h *Host) fresh(prefix string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spare++
	return fmt.Sprintf("%s%d", prefix, h.spare)
}

// InVM tells whether the test runs in the virtual machine, whose kernel has
// every link kind.
func InVM() bool { return os.Getenv("FAIRLEAD_VM") == "1" }

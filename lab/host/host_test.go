package host

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func newHost(t testing.TB) *Host {
	t.Helper()
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func output(t *testing.T, h *Host, netns, name string, args ...string) string {
	t.Helper()
	out, err := h.OutputIn(netns, h.Command(name, args...))
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

func TestHostIsPrivate(t *testing.T) {
	t.Parallel()
	h, other := newHost(t), newHost(t)
	output(t, h, "", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
	for _, path := range []string{"/run/x", "/var/lib/x"} {
		var err error
		h.Do(func() { err = os.WriteFile(path, nil, 0o600) })
		if err != nil {
			t.Fatal(err)
		}
		other.Do(func() { _, err = os.Stat(path) })
		if !os.IsNotExist(err) {
			t.Errorf("%s is in the other host: %v", path, err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is on the machine: %v", path, err)
		}
	}
	if got := output(t, h, "", "ls", "/sys/class/net"); !strings.Contains(got, "v0") {
		t.Errorf("/sys shows %q", got)
	}
	if got := output(t, other, "", "ip", "-o", "link"); strings.Contains(got, "v0") {
		t.Errorf("the other host has %s", got)
	}
}

func TestNetns(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	path, err := h.AddNetns("c1")
	if err != nil || path != "/run/netns/c1" {
		t.Fatalf("%q, %v", path, err)
	}
	if _, err := h.AddNetns("c1"); err == nil {
		t.Error("a second one of that name")
	}
	output(t, h, "", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", "c1")
	if got := output(t, h, path, "ip", "-o", "link"); !strings.Contains(got, "v1") || strings.Contains(got, "v0") {
		t.Errorf("in the container: %s", got)
	}
	if got := output(t, h, "", "ip", "-o", "link"); !strings.Contains(got, "v0") || strings.Contains(got, "v1:") {
		t.Errorf("on the host: %s", got)
	}
	for range 2 {
		if err := h.RemoveNetns("c1"); err != nil {
			t.Error(err)
		}
	}
	if err := h.Inside(path, func() {}); err == nil {
		t.Error("entered what is gone")
	}
}

// TestSettings: a host does not depend on the machine's settings, nor does a
// container's namespace.
func TestSettings(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	path, err := h.AddNetns("c1")
	if err != nil {
		t.Fatal(err)
	}
	for _, netns := range []string{"", path} {
		for _, s := range pinned() {
			if got := strings.TrimSpace(output(t, h, netns, "cat", "/proc/sys/net/"+s.name)); got != s.value {
				t.Errorf("in %q %s is %s", netns, s.name, got)
			}
		}
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	defer func() {
		if p := recover(); p != "over" {
			t.Errorf("recovered %v", p)
		}
		h.Do(func() {}) // still at work
	}()
	h.Do(func() { panic("over") })
}

// TestClose: what was started in a host is seen, and ends with it, also when its
// parent has gone, and when it went into other namespaces.
func TestClose(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	if list, err := h.Processes(); err != nil || len(list) != 0 {
		t.Errorf("processes of an empty host: %v, %v", list, err)
	}
	output(t, h, "", "sh", "-c", "sleep 1001 >/dev/null 2>&1 & unshare -m sleep 1002 >/dev/null 2>&1 & unshare -n sleep 1003 >/dev/null 2>&1 &")
	var list []Process
	for i := 0; i < 1000 && len(list) < 3; i++ {
		var err error
		if list, err = h.Processes(); err != nil {
			t.Fatal(err)
		}
		list = slices.DeleteFunc(list, func(p Process) bool { return p.Program != "sleep" })
		output(t, h, "", "true") // some time
	}
	if len(list) != 3 {
		t.Fatalf("processes: %+v", list)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if now, alive := readProcess(p.PID); alive && slices.Equal(now.Args, p.Args) {
			t.Errorf("%+v lives", now)
		}
	}
}

func BenchmarkHost(b *testing.B) {
	for b.Loop() {
		h, err := New()
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

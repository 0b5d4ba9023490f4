package cni

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
)

// container is a namespace that lives to the end of the test.
func container(t *testing.T) *kernel.Namespace {
	t.Helper()
	ns, err := kernel.Create("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Close() })
	return ns
}

// mounted binds a namespace to a new file, as runtimes do; unmount takes both
// away.
func mounted(t *testing.T, ns *kernel.Namespace) (path string, unmount func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ns")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(ns.Path(), path, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	unmount = func() {
		if err := kernel.Unmount(path); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(unmount)
	return path, unmount
}

// high counts descriptors; the limit is 1024 on many machines.
var high atomic.Int32

// fdPath leads to the namespace by a descriptor of this process.
func fdPath(t *testing.T, ns *kernel.Namespace, format string) (path string, closeFD func()) {
	t.Helper()
	f, err := os.Open(ns.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// So high that no other test is given the number once it is free.
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 900+int(high.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(format, fd), func() { _ = unix.Close(fd) }
}

var placeInHeader = regexp.MustCompile(`"place":"[^"]*",`)

// edit rewrites the one entry that there is.
func (d *desk) edit(t *testing.T, place string) {
	t.Helper()
	name := d.entries(t)[0]
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !placeInHeader.Match(data) {
		t.Fatalf("no place in %s", data)
	}
	if err := os.WriteFile(name, placeInHeader.ReplaceAll(data, []byte(place)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRule07GoneWhereItWasSeen: a path that leads nowhere is a fact for GC in the
// place of ADD alone; for DEL, and an ADD that meets its own, the runtime speaks.
func TestRule07GoneWhereItWasSeen(t *testing.T) {
	t.Parallel()
	const another = `"place":"id 1 root 1:1",`
	fd := func(format string) func(*testing.T, *kernel.Namespace) (string, func()) {
		return func(t *testing.T, ns *kernel.Namespace) (string, func()) { return fdPath(t, ns, format) }
	}
	link := func(t *testing.T, ns *kernel.Namespace) (string, func()) {
		to, closeFD := fdPath(t, ns, "/proc/self/fd/%d")
		path := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path, closeFD
	}
	keep := func(*testing.T, *desk) {}
	for name, c := range map[string]struct {
		path             func(*testing.T, *kernel.Namespace) (string, func())
		change           func(*testing.T, *desk)
		collected, again bool // by GC; a second ADD finds a leftover
	}{
		"a mount":                  {mounted, keep, true, true},
		"of the version before":    {mounted, func(t *testing.T, d *desk) { d.edit(t, "") }, false, true},
		"of another place":         {mounted, func(t *testing.T, d *desk) { d.edit(t, another) }, false, false},
		"a descriptor":             {fd("/proc/self/fd/%d"), keep, false, false},
		"a descriptor in /dev":     {fd("/dev/fd/%d"), keep, false, false},
		"a thread's descriptor":    {fd("/proc/thread-self/fd/%d"), keep, false, false},
		"a process's descriptor":   {fd(fmt.Sprintf("/proc/%d/fd/%%d", os.Getpid())), keep, false, true},
		"a link to a descriptor":   {link, keep, false, true},
		"a path that is not clean": {fd("/proc/./self//fd/%d"), keep, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, verb := range []Verb{GC, Del, Add} {
				d := newDesk(t)
				path, leave := c.path(t, container(t))
				d.vars["CNI_NETNS"] = path
				if code, out := d.call(Add, goodConf); code != 0 {
					t.Fatal(out)
				}
				c.change(t, d)
				leave()
				if verb == Add {
					d.vars["CNI_NETNS"] = container(t).Path()
				}
				code, out := d.call(verb, goodConf)
				switch verb {
				case GC:
					if code != 0 || d.made() == c.collected {
						t.Errorf("GC: %d, %s, still there: %t", code, out, d.made())
					}
					if !c.collected && !strings.Contains(d.stderr.String(), "GC keeps c1/eth0") {
						t.Errorf("GC does not say what it keeps: %q", d.stderr)
					}
				case Del:
					if code != 0 || d.made() || len(d.entries(t)) != 0 {
						t.Errorf("DEL: %d, %s", code, out)
					}
				case Add:
					if c.again != (code == 0) || !c.again && errorObject(t, out).Code != CodeAlreadyAdded {
						t.Errorf("the second ADD: %d, %s", code, out)
					}
				}
			}
		})
	}
}

// TestRule07ForcedGCGoesByTheOperator: what nobody can prove is taken at his
// word, or it would stay for ever.
func TestRule07ForcedGCGoesByTheOperator(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	path, leave := mounted(t, container(t))
	d.vars["CNI_NETNS"] = path
	if code, out := d.call(Add, goodConf); code != 0 {
		t.Fatal(out)
	}
	d.edit(t, "")
	leave()
	d.vars[forceGC] = "1"
	if code, out := d.call(GC, goodConf); code != 0 || d.made() || len(d.entries(t)) != 0 {
		t.Errorf("%d, %s", code, out)
	}
}

package kernel

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRule7Absence: what is a fact, and what could not be found out.
func TestRule7Absence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	loop := filepath.Join(dir, "loop")
	must(t, os.Symlink(loop, loop))
	dangling := filepath.Join(dir, "dangling")
	must(t, os.Symlink(filepath.Join(dir, "none"), dangling))
	fifo := filepath.Join(dir, "fifo")
	must(t, unix.Mkfifo(fifo, 0o600))
	sock := filepath.Join(dir, "sock")
	l, err := net.Listen("unix", sock)
	must(t, err)
	defer l.Close()

	ended := exec.Command("true")
	must(t, ended.Run())

	for name, c := range map[string]struct {
		path    string
		absence Absence
		errno   unix.Errno
	}{
		"missing":                {filepath.Join(dir, "none"), NoSuchPath, 0},
		"empty":                  {"", NoSuchPath, 0},
		"missing directory":      {filepath.Join(dir, "none", "x"), NoSuchPath, 0},
		"below a plain file":     {filepath.Join(file, "x"), NoSuchPath, 0},
		"dangling link":          {dangling, NoSuchPath, 0},
		"process gone":           {filepath.Join("/proc", itoa(ended.Process.Pid), "ns/net"), NoSuchPath, 0},
		"plain file":             {file, NotANamespace, 0},
		"directory":              {dir, NotANamespace, 0},
		"fifo":                   {fifo, NotANamespace, 0},
		"socket":                 {sock, NotANamespace, 0},
		"device":                 {"/dev/null", NotANamespace, 0},
		"namespace of UTS":       {"/proc/self/ns/uts", NotANamespace, 0},
		"namespace of mounts":    {"/proc/self/ns/mnt", NotANamespace, 0},
		"loop of symbolic links": {loop, "", unix.ELOOP},
		"name too long":          {filepath.Join(dir, strings.Repeat("x", 300)), NoSuchPath, 0},
	} {
		n, absence, err := Open(c.path)
		var e *Error
		switch {
		case n != nil:
			t.Errorf("%s: there is a namespace", name)
		case absence != c.absence:
			t.Errorf("%s: %q (%v), want %q", name, absence, err, c.absence)
		case (err != nil) != (c.errno != 0):
			t.Errorf("%s: %v", name, err)
		case err != nil && (!errors.As(err, &e) || e.Errno != c.errno || e.Object != c.path || Absent(ObjectNamespace, err)):
			t.Errorf("%s: %#v", name, err)
		}
	}
}

func itoa(i int) string { return object(i) }

// TestRule7StaleMountPoint: the file on which a namespace was mounted remains.
func TestRule7StaleMountPoint(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ns")
	n, err := Create(path)
	must(t, err)
	defer n.Close()
	if _, err := Create(path); !Exists(err) {
		t.Errorf("made twice: %v", err)
	}

	again, absence, err := Open(path)
	if err != nil || absence != "" {
		t.Fatal(absence, err)
	}
	defer again.Close()
	if same, err := n.Same(again); err != nil || !same {
		t.Error("not the same namespace", err)
	}
	if again.Name() != path || again.Path() != path {
		t.Errorf("%s at %s, want %s", again.Name(), again.Path(), path)
	}

	must(t, unix.Unmount(path, unix.MNT_DETACH))
	if _, absence, err := Open(path); absence != NotANamespace {
		t.Errorf("stale: %q, %v", absence, err)
	}
	must(t, Unmount(path))
	if _, absence, err := Open(path); absence != NoSuchPath {
		t.Errorf("unmounted: %q, %v", absence, err)
	}
	must(t, Unmount(path))
}

func TestCreateLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, path := range []string{filepath.Join(t.TempDir(), "none", "x"), "/proc/fairlead"} {
		if n, err := Create(path); err == nil {
			n.Close()
			t.Errorf("made at %s", path)
		}
	}
}

// TestRule7CookieOutlivesInode: another namespace has another cookie, even when
// it has the inode number of one that is gone.
func TestRule7CookieOutlivesInode(t *testing.T) {
	t.Parallel()
	cookies := map[uint64]bool{}
	for range 20 {
		n, err := Create("")
		must(t, err)
		c, err := n.Cookie()
		must(t, err)
		if cookies[c] || c == 0 {
			t.Errorf("cookie %d again", c)
		}
		cookies[c] = true
		again, absence, err := Open(n.Path())
		if err != nil || absence != "" {
			t.Fatal(absence, err)
		}
		if o, err := again.Cookie(); err != nil || o != c {
			t.Errorf("by another way its cookie is %d, want %d: %v", o, c, err)
		}
		must(t, again.Close())
		must(t, n.Close())
	}
}

func TestHostIsWhereTheThreadIs(t *testing.T) {
	t.Parallel()
	host, err := Host()
	must(t, err)
	defer host.Close()
	if host.Name() != "host" {
		t.Error(host.Name())
	}
	n := newNS(t)
	if same, _ := host.Same(n); same {
		t.Error("a new namespace is the host's")
	}
	must(t, n.Do(func() error {
		inside, err := Host()
		if err != nil {
			return err
		}
		defer inside.Close()
		if same, _ := inside.Same(n); !same {
			t.Error("inside, the host is not the namespace")
		}
		return nil
	}))
	byPath, absence, err := Open(host.Path())
	if err != nil || absence != "" {
		t.Fatal(absence, err)
	}
	defer byPath.Close()
	if same, _ := host.Same(byPath); !same {
		t.Error("its path leads elsewhere")
	}
}

func TestIsInitial(t *testing.T) {
	t.Parallel()
	if is, err := newNS(t).IsInitial(); err != nil || is {
		t.Errorf("a new namespace is the initial one: %v", err)
	}
	host, err := Host()
	must(t, err)
	defer host.Close()
	is, err := host.IsInitial()
	must(t, err)
	// The kernel shows what it has but once in the initial namespace only.
	_, want, err := host.Sysctl("net/core/netdev_max_backlog")
	must(t, err)
	if is != want {
		t.Errorf("initial is %v, want %v", is, want)
	}
}

// TestRule7NoPermission: what one may not look at is unknown, not gone.
func TestRule7NoPermission(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "closed")
	must(t, os.Mkdir(dir, 0o700))
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with its goroutine
		_, err := unix.SetfsuidRetUid(65534)
		if err != nil {
			result <- err
			return
		}
		n, absence, err := Open(filepath.Join(dir, "ns"))
		if n != nil || absence != "" {
			t.Errorf("%v, %q", n, absence)
		}
		result <- err
	}()
	if err := <-result; !errors.Is(err, unix.EACCES) {
		t.Error(err)
	}
}

func TestClosedNamespace(t *testing.T) {
	t.Parallel()
	n, err := Create("")
	must(t, err)
	view := n.WithFaults(nil)
	must(t, n.Close())
	must(t, n.Close())
	must(t, view.Close())
	if _, ok, err := n.Link("lo"); err == nil || ok {
		t.Errorf("a closed namespace answers: %v, %v", ok, err)
	}
	o := newNS(t)
	for name, err := range map[string]error{
		"do":      n.Do(func() error { return nil }),
		"peer":    o.AddLink(LinkSpec{Name: "a", Kind: VethKind{Peer: LinkSpec{Name: "b", Netns: n}}}),
		"netns":   o.AddLink(LinkSpec{Name: "a", Kind: IFBKind{}, Netns: n}),
		"parent":  o.AddLink(LinkSpec{Name: "a", Kind: MacvlanKind{}, Parent: 1, ParentNetns: n}),
		"move":    o.SetLink(1, LinkChange{Netns: n}),
		"sysctl":  n.SetSysctl("net/ipv4/conf/lo/arp_notify", "1"),
		"address": n.WaitDAD(t.Context(), 1, []netip.Addr{addr("::1")}),
	} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package kernel

import (
	"errors"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSysctlIsTheNamespaces: each has its own, whatever thread asks.
func TestSysctlIsTheNamespaces(t *testing.T) {
	t.Parallel()
	a, b := newNS(t), newNS(t)
	const name = "net/ipv4/conf/lo/arp_notify"
	must(t, a.SetSysctl(name, "1"))
	var wg sync.WaitGroup
	for _, c := range []struct {
		n    *Namespace
		want string
	}{{a, "1"}, {b, "0"}} {
		for range 8 {
			wg.Go(func() {
				for range 20 {
					if v, ok, err := c.n.Sysctl(name); v != c.want || !ok || err != nil {
						t.Error(v, ok, err)
					}
				}
			})
		}
	}
	wg.Wait()
}

// TestSysctlOfANameWithDots: an interface's name may have them.
func TestSysctlOfANameWithDots(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	addLink(t, n, LinkSpec{Name: "eth0.5", Kind: IFBKind{}})
	const name = "net/ipv6/conf/eth0.5/accept_dad"
	must(t, n.SetSysctl(name, "2"))
	if v, ok, err := n.Sysctl(name); v != "2" || !ok || err != nil {
		t.Error(v, ok, err)
	}
}

func TestSysctlAbsence(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	for _, name := range []string{"net/ipv4/conf/gone/arp_notify", "net/ipv4/none", "fairlead/x"} {
		if v, ok, err := n.Sysctl(name); v != "" || ok || err != nil {
			t.Errorf("%s: %q, %v, %v", name, v, ok, err)
		}
		if err := n.SetSysctl(name, "1"); !Absent(ObjectSysctl, err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "/net/ipv4/ip_forward", "../etc/passwd", "net/../../../etc/passwd", "net//ipv4", ".."} {
		if _, ok, err := n.Sysctl(name); ok || !errors.Is(err, unix.EINVAL) {
			t.Errorf("%q: %v, %v", name, ok, err)
		}
		if err := n.SetSysctl(name, "1"); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestSysctlRefusals(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	err := n.SetSysctl("net/ipv4/ip_forward", "perhaps")
	if !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
	contains(t, err, "sysctl.set net/ipv4/ip_forward in ")
	if _, ok, err := n.Sysctl("net/ipv4/conf"); ok || err == nil {
		t.Errorf("a directory has a value: %v, %v", ok, err)
	}
	if err := n.SetSysctl("net/ipv6/conf/all/stable_secret", "x"); err == nil {
		t.Error("no secret")
	}
	// One that has no value yet can't be read: unknown, not absent.
	if _, ok, err := n.Sysctl("net/ipv6/conf/all/stable_secret"); ok || !errors.Is(err, unix.EIO) {
		t.Error(ok, err)
	}
}

func TestSysctlThatCanOnlyBeWritten(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	const name = "net/ipv4/route/flush"
	if v, ok, err := n.Sysctl(name); ok || !errors.Is(err, ErrWriteOnly) {
		t.Errorf("%q, %v, %v", v, ok, err)
	}
	must(t, n.SetSysctl(name, "1"))
}

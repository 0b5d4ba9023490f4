package kernel

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTap(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	must(t, n.AddTap(t.Context(), TapSpec{Name: "tap0", Owner: ptr(uint32(1000)), Group: ptr(uint32(1001)), MultiQueue: true, VNetHdr: true}))
	l := link(t, n, "tap0")
	if l.Kind != "tun" || l.Up {
		t.Errorf("%+v", l)
	}
	if k, ok := l.Info.(TunKind); !ok || !k.Tap || *k.Owner != 1000 || *k.Group != 1001 || !k.MultiQueue || !k.Persist {
		t.Errorf("%+v", l.Info)
	}
	// It is here, and nowhere else.
	noLink(t, newNS(t), "tap0")
	must(t, n.Do(func() error {
		host, err := Host()
		if err != nil {
			return err
		}
		defer host.Close()
		link(t, host, "tap0")
		return nil
	}))
	if ok, err := n.DelLink(l.Index); !ok || err != nil {
		t.Error(ok, err)
	}
	noLink(t, n, "tap0")
}

func TestTapNameTaken(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	must(t, n.AddTap(t.Context(), TapSpec{Name: "tap0"}))
	addLink(t, n, LinkSpec{Name: "ifb0", Kind: IFBKind{}})
	for _, name := range []string{"tap0", "ifb0"} {
		if err := n.AddTap(t.Context(), TapSpec{Name: name}); !Exists(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTapRefusals(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	for _, name := range []string{"", "a/b", strings.Repeat("x", 16)} {
		if err := n.AddTap(t.Context(), TapSpec{Name: name}); err == nil || Exists(err) || os.IsNotExist(err) {
			t.Errorf("%q: %v", name, err)
		}
	}
	all, err := n.Links()
	if err != nil || len(all) != 1 {
		t.Error(all, err)
	}
}

// TestTapWithoutSELinux: a context that can't be given makes no device.
func TestTapWithoutSELinux(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	err := n.AddTap(t.Context(), TapSpec{Name: "tap0", SELinux: "system_u:system_r:container_t:s0"})
	if !errors.Is(err, ErrNoSELinux) || Exists(err) {
		t.Errorf("%v", err)
	}
	contains(t, err, "tap0", "system_u:system_r:container_t:s0", "SELinux")
	noLink(t, n, "tap0")
}

// TestMain lets this program be executed to make a tap, as fairlead is.
func TestMain(m *testing.M) {
	if code, ok := MakeTap(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// TestTapMadeInAChild is what is done for a context, less the context: the
// device is in the namespace where /dev/net/tun was opened.
func TestTapMadeInAChild(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	open := func() *os.File {
		var tun *os.File
		must(t, n.Do(func() (err error) {
			tun, err = os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
			return err
		}))
		t.Cleanup(func() { _ = tun.Close() })
		return tun
	}
	must(t, makeTapInChild(t.Context(), open(), TapSpec{Name: "tap0", MultiQueue: true}))
	if k, ok := link(t, n, "tap0").Info.(TunKind); !ok || !k.MultiQueue || k.Persist {
		t.Errorf("%+v", k)
	}
	must(t, n.AddTap(t.Context(), TapSpec{Name: "tap1"}))
	if err := makeTapInChild(t.Context(), open(), TapSpec{Name: "tap1"}); !errors.Is(err, unix.EBUSY) {
		t.Errorf("a name that is taken: %v", err)
	}
}

package kernel

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	ifb := func(name string) LinkSpec { return LinkSpec{Name: name, Kind: IFBKind{}} }
	for name, c := range map[string]struct {
		op     string
		nth    int
		after  bool
		failed []string // of the links a, b, c, added in this order
		made   []string
	}{
		"first, before":  {"link.add", 1, false, []string{"a"}, []string{"b", "c"}},
		"second, before": {"link.add", 2, false, []string{"b"}, []string{"a", "c"}},
		"second, after":  {"link.add", 2, true, []string{"b"}, []string{"a", "b", "c"}},
		"any, third":     {"", 3, false, []string{"c"}, []string{"a", "b"}},
		"other call":     {"link.del", 1, false, nil, []string{"a", "b", "c"}},
		"never reached":  {"link.add", 4, false, nil, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNS(t)
			faulty := n.WithFaults(FailNth(c.op, c.nth, c.after, unix.ENOMEM))
			var failed, made []string
			for _, l := range []string{"a", "b", "c"} {
				err := faulty.AddLink(ifb(l))
				if err == nil {
					continue
				}
				failed = append(failed, l)
				var e *Error
				if !errors.As(err, &e) || e.Errno != unix.ENOMEM || e.Op != "link.add" || e.Object != l {
					t.Errorf("%#v", err)
				}
			}
			all, err := n.LinksOfKind("ifb")
			must(t, err)
			for _, l := range all {
				made = append(made, l.Name)
			}
			slices.Sort(made)
			if !slices.Equal(failed, c.failed) || !slices.Equal(made, c.made) {
				t.Errorf("failed %v, made %v", failed, made)
			}
		})
	}
}

// TestFaultsAreOfTheView: the namespace itself is as before, and a look-up can
// be made to fail in each of the ways.
func TestFaultsAreOfTheView(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	f := n.WithFaults(func(op Op) error {
		switch {
		case op.After:
			return nil
		case op.Object == "gone":
			return unix.ENODEV
		case op.Object == "denied":
			return unix.EPERM
		case op.Object == "lost":
			return &Error{Errno: unix.ENOBUFS, Unanswered: true}
		}
		return nil
	})
	link(t, f, "lo")
	if _, ok, err := f.Link("gone"); ok || err != nil {
		t.Errorf("gone: %v, %v", ok, err)
	}
	if _, ok, err := f.Link("denied"); ok || !errors.Is(err, unix.EPERM) {
		t.Errorf("denied: %v, %v", ok, err)
	}
	_, ok, err := f.Link("lost")
	if ok || !Unanswered(err) {
		t.Errorf("lost: %v, %v", ok, err)
	}
	contains(t, err, "link.get lost in ")
	noLink(t, n, "denied")
	if same, _ := f.Same(n); !same {
		t.Error("the view is another namespace")
	}
}

package kernel

import (
	"context"
	"errors"
	"testing"
)

// TestWatchLinks: what comes after the first look is heard.
func TestWatchLinks(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	looks := 0
	must(t, n.WatchLinks(context.Background(), func() (bool, error) {
		if looks++; looks == 1 {
			return false, n.AddLink(LinkSpec{Name: "a", Kind: VethKind{Peer: LinkSpec{Name: "b"}}})
		}
		_, ok, err := n.Link("a")
		return ok, err
	}))
	if looks < 2 {
		t.Errorf("%d looks", looks)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err := n.WatchLinks(ctx, func() (bool, error) { cancel(); return false, nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	want := errors.New("no")
	if err := n.WatchLinks(context.Background(), func() (bool, error) { return false, want }); !errors.Is(err, want) {
		t.Error(err)
	}
}

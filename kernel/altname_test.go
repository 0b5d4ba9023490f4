package kernel

import (
	"slices"
	"testing"
)

func TestAltNames(t *testing.T) {
	t.Parallel()
	n := newNS(t)
	a := addLink(t, n, LinkSpec{Name: "a", Kind: VethKind{Peer: LinkSpec{Name: "b"}}})
	b := link(t, n, "b")
	for _, name := range []string{"short", "a-name-of-more-than-fifteen-letters"} {
		must(t, n.AddAltName(a.Index, name))
		if l := link(t, n, name); l.Name != "a" || !slices.Contains(l.AltNames, name) {
			t.Errorf("%s: %+v", name, l)
		}
		if err := n.AddAltName(b.Index, name); !Exists(err) {
			t.Errorf("%s twice: %v", name, err)
		}
		if ok, err := n.DelAltName(b.Index, name); ok || err != nil {
			t.Errorf("%s of another: %t, %v", name, ok, err)
		}
		for _, want := range []bool{true, false} {
			if ok, err := n.DelAltName(a.Index, name); ok != want || err != nil {
				t.Errorf("%s: %t, want %t, %v", name, ok, want, err)
			}
		}
	}
	if ok, err := n.DelAltName(a.Index, "a"); ok || err != nil {
		t.Errorf("the name itself: %t, %v", ok, err)
	}
	link(t, n, "a")
}

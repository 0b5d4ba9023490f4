package attachment

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNamesOfVPCsFitAndAreDistinct(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if n := len(VRFOfVPC(a)); n > 15 {
			t.Fatalf("the VRF's name has %d bytes", n)
		}
		if len(TapOfVPC(a, b)) != 15 || len(draw(t, "id").Owner().GuestVeth()) != 15 {
			t.Fatal("a name does not have 15 bytes")
		}
		if a != b && (VRFOfVPC(a) == VRFOfVPC(b) || TapOfVPC(a, b) == TapOfVPC(b, a)) {
			t.Fatalf("%s and %s have one name", a, b)
		}
	})
}

func TestAliasNamesTheAttachmentOfTheVPC(t *testing.T) {
	t.Parallel()
	id := ID{Network: strings.Repeat("n", 200), Container: "c1", IfName: "eth0"}
	alias := id.AliasIn("blue", "web-1")
	if owner, ok := OwnerOfAlias(alias); !ok || owner != id.Owner() || len(alias) != aliasMax {
		t.Errorf("%q: %q, %v", alias, owner, ok)
	}
	for _, c := range []struct {
		alias, vpc, attachment string
		want                   bool
	}{
		{alias, "blue", "web-1", true},
		{alias, "blue", "web-2", false},
		{alias, "red", "web-1", false},
		{id.Alias(), "blue", "web-1", false},
		{"x y blue/web-1", "blue", "web-1", false},
		{"", "", "", false},
	} {
		if InVPC(c.alias, c.vpc, c.attachment) != c.want {
			t.Errorf("%q in %s/%s: want %v", c.alias, c.vpc, c.attachment, c.want)
		}
	}
}

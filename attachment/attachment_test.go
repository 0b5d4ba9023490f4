package attachment

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func draw(t *rapid.T, label string) ID {
	return ID{
		Network:   rapid.StringMatching(`[a-z0-9._-]{1,40}`).Draw(t, label+" network"),
		Container: rapid.StringMatching(`[a-zA-Z0-9._-]{1,64}`).Draw(t, label+" container"),
		IfName:    rapid.StringMatching(`[a-z0-9.]{1,15}`).Draw(t, label+" ifname"),
	}
}

func TestDerivedNamesAreFitAndDistinct(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		if a != b && a.Owner() == b.Owner() {
			t.Fatalf("%v and %v have one owner", a, b)
		}
		if n := len(a.Owner().HostVeth()); n != 15 {
			t.Fatalf("host name has %d bytes", n)
		}
		if mac := a.Owner().MAC("guest"); len(mac) != 6 || mac[0]&1 != 0 || mac[0]&2 == 0 {
			t.Fatalf("%v is no locally administered unicast address", mac)
		}
		owner, ok := OwnerOfAlias(a.Alias())
		if !ok || owner != a.Owner() {
			t.Fatalf("alias %q read back as %q, %v", a.Alias(), owner, ok)
		}
	})
}

func TestOwnerKeepsFieldsApart(t *testing.T) {
	t.Parallel()
	a := ID{Network: "ab", Container: "c", IfName: "d"}
	b := ID{Network: "a", Container: "bc", IfName: "d"}
	if a.Owner() == b.Owner() {
		t.Fatal("the border between network and container is lost")
	}
}

// TestCase27TwoInterfacesOfOneContainer: both on one network, nothing shared.
func TestCase27TwoInterfacesOfOneContainer(t *testing.T) {
	t.Parallel()
	a := ID{Network: "net", Container: "c1", IfName: "eth0"}
	b := ID{Network: "net", Container: "c1", IfName: "net1"}
	if a.Owner() == b.Owner() || a.Owner().HostVeth() == b.Owner().HostVeth() {
		t.Fatal("two interfaces of one container on one network collide")
	}
}

func TestOwnerOfAliasRefuses(t *testing.T) {
	t.Parallel()
	for _, alias := range []string{
		"", "eth0", "fairlead:", "fairlead:short x/y z", "fairlead:bridge cni0",
		"fairlead:" + strings.Repeat("a", 27), "fairlead:" + strings.Repeat("A", 26),
	} {
		if owner, ok := OwnerOfAlias(alias); ok {
			t.Errorf("%q gave %q", alias, owner)
		}
	}
}

package campaign

import "testing"

func TestNormalise(t *testing.T) {
	t.Parallel()
	n := newNormaliser()
	for in, want := range map[string]string{
		"openat /proc/123/task/456/ns/net":                  "openat /proc/*/task/*/ns/net",
		"route RTM_NEWLINK name=veth1a2b3c4d":               "route RTM_NEWLINK name=veth*",
		"route RTM_NEWLINK name=veth12345678":               "route RTM_NEWLINK name=veth*",
		"route RTM_NEWLINK name=veth8e123456":               "route RTM_NEWLINK name=veth*",
		"openat /run/locks/1b5fcc4d4d23faac":                "openat /run/locks/*",
		"route RTM_NEWLINK name=veth0":                      "route RTM_NEWLINK name=veth0",
		"route RTM_NEWLINK mac=02:42:ac:11:00:02 up":        "route RTM_NEWLINK mac=MAC up",
		"route RTM_NEWADDR fe80::42:acff:fe11:2/64":         "route RTM_NEWADDR fe80::*/64",
		"route RTM_NEWADDR 10.1.2.3/24 2001:db8::1/64":      "route RTM_NEWADDR 10.1.2.3/24 2001:db8::1/64",
		"renameat /run/x/.entry1234567890 /run/x/entry":     "renameat /run/x/.entry* /run/x/entry",
		"openat /var/lib/cni/networks/net/10.1.2.3 O_CREAT": "openat /var/lib/cni/networks/net/10.1.2.3 O_CREAT",
	} {
		if got := n.normalise(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		if again := n.normalise(n.normalise(in)); again != want {
			t.Errorf("%q becomes %q at the second time", in, again)
		}
	}
}

func TestOccurrences(t *testing.T) {
	t.Parallel()
	c := newCounter()
	for i, e := range []struct {
		program, text, name string
	}{
		{"bridge", "a", "DEL bridge a #1"},
		{"bridge", "b", "DEL bridge b #1"},
		{"bridge", "a", "DEL bridge a #2"},
		{"host-local", "a", "DEL bridge/host-local a #1"},
		{"bridge", "a", "DEL bridge a #3"},
	} {
		if got := c.next(verbDel, "bridge", e.program, e.text).Name(); got != e.name {
			t.Errorf("%d: %q, want %q", i, got, e.name)
		}
	}
}

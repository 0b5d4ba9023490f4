package ipam

import (
	"net"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
)

func TestParseLease(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   string
		want holder
		ok   bool
	}{
		"ours":                 {"c1\r\neth0", holder{container: "c1", ifName: "eth0"}, true},
		"trimmed as the other": {" c1\r\neth0 \n", holder{container: "c1", ifName: "eth0"}, true},
		"before 0.8":           {"c1", holder{container: "c1"}, true},
		"before 0.8, ended":    {"c1\r\n", holder{container: "c1"}, true},
		"empty":                {"", holder{blank: true}, true},
		"zeros":                {"\x00\x00\x00", holder{blank: true}, true},
		"blanks":               {" \r\n", holder{blank: true}, true},
		"unix line":            {"c1\neth0", holder{}, false},
		"no ID":                {"c 1\r\neth0", holder{}, false},
		"no interface":         {"c1\r\neth/0", holder{}, false},
		"three lines":          {"c1\r\neth0\r\nx", holder{}, false},
		"long":                 {"c1\r\n" + strings.Repeat("x", maxLease), holder{}, false},
		"ID too long":          {strings.Repeat("x", maxContainer+1), holder{}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if h, ok := parseLease([]byte(tt.in)); h != tt.want || ok != tt.ok {
				t.Errorf("got %+v, %t", h, ok)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", ".", "..", ".fairlead", "a/b", "-a", "a b", "ä", "a\x00", strings.Repeat("x", 256)} {
		if checkNetwork(bad) == nil {
			t.Errorf("network %q accepted", bad)
		}
		if _, err := Open("/d", bad); err == nil {
			t.Errorf("store of network %q opened", bad)
		}
		if len(bad) < 256 && checkOwner(attachment.ID{Container: bad, IfName: "eth0"}) == nil {
			t.Errorf("container %q accepted", bad)
		}
	}
	for _, bad := range []string{"", ".", "..", "a/b", "a:b", "a b", "a\r\nb", "a\x00", "sixteen-letters-"} {
		if checkOwner(attachment.ID{Container: "c", IfName: bad}) == nil {
			t.Errorf("interface %q accepted", bad)
		}
	}
	for _, good := range []string{"a", "0", "net_1.x-y", strings.Repeat("x", 255)} {
		if err := checkNetwork(good); err != nil {
			t.Error(err)
		}
	}
}

func FuzzLeaseContent(f *testing.F) {
	for _, s := range []string{"", "c1\r\neth0", "c1", "c1\r\n\r\n", "\x00", "\r\neth0", "c1\r\neth0\r\neth1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, ok := parseLease(data)
		if !ok || h.blank {
			return
		}
		id := h.id("net")
		if h.ifName == "" {
			// What the reference compares a container's old leases with.
			if strings.TrimSpace(string(data)) != h.container {
				t.Errorf("%q read as %q", data, h.container)
			}
			return
		}
		if err := checkOwner(id); err != nil {
			t.Errorf("%q: %v", data, err)
		}
		if strings.TrimSpace(string(data)) != string(leaseText(id)) {
			t.Errorf("%q read as %q", data, leaseText(id))
		}
	})
}

func FuzzLeaseName(f *testing.F) {
	for _, s := range []string{"10.0.0.1", "fd00::1", "lock", "last_reserved_ip.0", "fairlead.new", "::", "fe80::1%eth0", "d", "FD00::A"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		addr, ok := leaseAddr(name)
		ref := net.ParseIP(name)
		// The reference's own reading of a name.
		if ok != (ref != nil) {
			t.Fatalf("%q: ok %t, the reference reads %v", name, ok, ref)
		}
		if ok && addr.String() != ref.String() {
			t.Errorf("%q: %s, the reference reads %s", name, addr, ref)
		}
	})
}

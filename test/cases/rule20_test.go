package cases

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// tools are what rules can be written with by forking.
var tools = []string{
	"nft", "iptables", "ip6tables", "iptables-save", "iptables-restore", "ip6tables-save", "ip6tables-restore",
	"iptables-nft-restore", "ip6tables-nft-restore", "iptables-legacy-save", "ip6tables-legacy-save", "iptables-legacy-restore",
	"ip6tables-legacy-restore", "firewall-cmd",
}

// watched gives a PATH that has tools which write down that they were called,
// and how often that was so far.
func watched(t *testing.T) (path string, calls func() int) {
	t.Helper()
	dir, record := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	script := "#!/bin/sh\necho \"$0\" >>" + record + "\nexec /usr/sbin/\"$(basename \"$0\")\" \"$@\"\n"
	for _, tool := range tools {
		if err := os.WriteFile(filepath.Join(dir, tool), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir + ":/usr/sbin:/usr/bin:/sbin:/bin", func() int {
		b, err := os.ReadFile(record)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(b), "\n")
	}
}

// TestRule20Backends: rules go over netlink, and nothing is forked for them;
// but iptables is used where it is asked for by name.
func TestRule20Backends(t *testing.T) {
	dual := hostLocal("10.55.0.0/24", "fd00:55::/64")
	var list []network
	for _, backend := range []any{nil, "nftables", "iptables"} {
		name, _ := backend.(string)
		list = append(list,
			network{"bridge " + name, bridge("ipMasq", true, "ipMasqBackend", backend, "macspoofchk", true, "ipam", dual), "eth0"},
			network{"ptp " + name, ptp("ipMasq", true, "ipMasqBackend", backend, "ipam", dual), "eth0"})
	}
	each(t, list, func(s *scene) {
		before := s.h.Snapshot()
		path, calls := watched(s.T)
		a := s.attach().WithEnv("PATH", path)
		byName := s.config["ipMasqBackend"] == "iptables"
		if o := a.Status(); !o.OK() {
			s.Errorf("STATUS: %s", o.Stdout)
		}
		r := a.MustAdd(s)
		if n := calls(); (n > 0) != byName {
			s.Errorf("%d tools were called", n)
		}
		address := r.Address(0)
		if has := slices.ContainsFunc(s.h.Snapshot().Of("nft"), func(f host.Fact) bool {
			return strings.HasPrefix(f.Name, "inet cni_plugins_masquerade ") && strings.Contains(f.Detail, address)
		}); has == byName {
			s.Errorf("%s in our own table: %t", address, has)
		}
		s.healthy(a, r)
		a.MustDel(s)
		a.MustDel(s)
		if n := calls(); !byName && n > 0 {
			s.Errorf("%d tools were called", n)
		}
		s.h.DeleteNetns(a.Netns)
		s.clean(before)
	})
}

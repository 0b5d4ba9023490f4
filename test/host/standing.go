package host

import (
	"path/filepath"
	"strings"
)

// Standing is true for what an attachment may leave because it was ensured,
// not owned: packet filter tables and base chains without rules, forwarding,
// the allocator's lock and its memory of the last address, locks and logs in
// Fairlead's state directory. A rule, a lease or a journal entry never
// stands.
func Standing(f Fact) bool {
	switch f.Sort {
	case "sysctl", "table":
		return true
	case "chain":
		return strings.Contains(f.Detail, `"hook":`) || ownTable(f.Name)
	case "nft":
		// The base chain of the reference suite's masquerading, which we share.
		return f.Name == "inet cni_plugins_masquerade postrouting"
	case "set", "map":
		return !strings.Contains(f.Detail, `"elem":`)
	case "iptables":
		return strings.HasPrefix(f.Detail, "-P ")
	case "file":
		return standingFile(f.Name)
	}
	return false
}

// ownTable is true for a chain in a table that only one suite writes: there
// an empty chain harms nobody.
func ownTable(name string) bool {
	fields := strings.Fields(name)
	return len(fields) > 1 && (strings.HasPrefix(fields[1], "fairlead") || strings.HasPrefix(fields[1], "cni_plugins"))
}

func standingFile(path string) bool {
	base := filepath.Base(path)
	switch {
	case strings.HasPrefix(path, "/run/xtables"):
		return true
	case strings.Contains(path, "/.fairlead/"):
		// The allocator's index: an entry is as a lease is.
		return base == "state" || base == "lock"
	case strings.HasPrefix(path, "/var/lib/cni/"), strings.HasPrefix(path, "/run/cni"):
		return base == "lock" || strings.HasPrefix(base, "last_reserved_ip.")
	case strings.HasPrefix(path, "/run/fairlead/"):
		return standingState(strings.TrimPrefix(path, "/run/fairlead/"))
	}
	return false
}

// Bridge is true for what belongs to a bridge that stands after its last
// container has gone (rule 9), its VLAN gateways and their ports among it.
func Bridge(name string) func(Fact) bool {
	mark := "ifalias=fairlead:bridge " + name + " "
	return func(f Fact) bool {
		if f.Name != name && !strings.HasPrefix(f.Name, name+".") && !strings.Contains(f.Detail, mark) {
			return false
		}
		switch f.Sort {
		case "link", "address", "route":
			return true
		}
		return false
	}
}

// standingState is true for what stays in Fairlead's state directory: locks
// and the operation log, but never an attachment's entry.
func standingState(path string) bool {
	return !strings.HasPrefix(path, "attachments/")
}

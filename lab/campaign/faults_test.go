package campaign

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/inject"
)

func names(faults []Fault) []string {
	var all []string
	for _, f := range faults {
		all = append(all, f.Name)
	}
	return all
}

// TestTable: every fault of the table is one that there is, no name twice, and
// each is what its name says.
func TestTable(t *testing.T) {
	t.Parallel()
	all := FaultNames()
	if sorted := slices.Sorted(slices.Values(all)); len(slices.Compact(sorted)) != len(all) {
		t.Errorf("a name twice in %q", all)
	}
	for s, list := range errnos() {
		for _, e := range list {
			if !slices.Contains(names(faultsAt(place{sort: s})), unix.ErrnoName(e)) {
				t.Errorf("%s has no %s: it is not among all faults", s, unix.ErrnoName(e))
			}
		}
	}
	for s, list := range replies() {
		for _, e := range list {
			if !slices.Contains(names(faultsAt(place{sort: s})), "reply "+unix.ErrnoName(e)) {
				t.Errorf("%s has no reply %s: it is not among all faults", s, unix.ErrnoName(e))
			}
		}
	}
	for _, f := range allFaults() {
		if f.Words == "" || f.verdict == (inject.Verdict{}) && !f.gone && !f.again && f.scene == nil {
			t.Errorf("%s does nothing", f.Name)
		}
	}
}

func TestFaultsAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at   place
		has  []string
		none []string
	}{
		{place{sort: sortNone}, nil, FaultNames()},
		{place{sort: sortWrite}, []string{"ENOSPC", "short write", "kill before", "kill after"}, []string{"kill all before", "gone", "reply ENOMEM", "interrupted"}},
		{place{sort: sortWrite, children: true}, []string{"kill all before", "kill all after"}, nil},
		{place{sort: sortGet}, []string{"ENOBUFS", "reply EPERM"}, []string{"kill before", "gone"}},
		{place{sort: sortGet, gone: true}, []string{"gone"}, nil},
		{place{sort: sortRemove, again: true}, []string{"done before", "reply EBUSY"}, []string{"gone"}},
		{place{sort: sortDumped}, []string{"interrupted", "truncated", "ENOBUFS"}, []string{"kill before", "reply ENOMEM"}},
		{place{sort: sortLook}, []string{"EIO", "EMFILE", "EACCES"}, []string{"ENOSPC", "gone", "kill before"}},
		{place{sort: sortSpaceOf}, []string{"ENFILE", "ENOMEM"}, []string{"EIO", "kill before"}},
		{place{sort: sortRead}, []string{"EIO"}, []string{"EMFILE", "kill after"}},
		{place{sort: sortBegin, scenes: []string{"renamed"}}, []string{"renamed"}, []string{"re-aliased", "EIO", "kill before"}},
		{place{sort: sortGet, scenes: []string{"renamed"}}, []string{"renamed", "ENOBUFS"}, []string{"no inodes"}},
		{place{sort: sortSetParam}, nil, []string{"short write"}},
	} {
		got := names(faultsAt(c.at))
		for _, name := range c.has {
			if !slices.Contains(got, name) {
				t.Errorf("%+v: no %s in %q", c.at, name, got)
			}
		}
		for _, name := range c.none {
			if slices.Contains(got, name) {
				t.Errorf("%+v: %s in %q", c.at, name, got)
			}
		}
	}
}

func TestSortOf(t *testing.T) {
	t.Parallel()
	file := func(call, path string, flags int) inject.Event {
		return inject.Event{Kind: inject.KindFile, Call: call, Path: path, Flags: flags}
	}
	netlink := func(protocol int, receive bool, messages ...inject.Message) inject.Event {
		return inject.Event{Kind: inject.KindNetlink, Call: "sendto", Protocol: protocol, Receive: receive, Netlink: messages}
	}
	route := func(kind, flags uint16) inject.Message { return inject.Message{Type: kind, Flags: flags} }
	nft := func(what uint16) inject.Message { return inject.Message{Type: unix.NFNL_SUBSYS_NFTABLES<<8 | what} }
	begin, end := inject.Message{Type: unix.NFNL_MSG_BATCH_BEGIN}, inject.Message{Type: unix.NFNL_MSG_BATCH_END}
	for _, c := range []struct {
		e    inject.Event
		want sort
	}{
		{file("openat", "/etc/x", unix.O_RDONLY), sortNone},
		{file("openat", "/run/x", unix.O_RDWR), sortOpen},
		{file("openat", "/run/x", unix.O_RDWR|unix.O_CREAT), sortCreate},
		{file("openat", "/run", unix.O_RDONLY|unix.O_DIRECTORY), sortNone},
		{file("openat", "/run/x", unix.O_RDONLY), sortLook},
		{file("openat", "/var/lib/x", unix.O_RDONLY|unix.O_DIRECTORY), sortLook},
		{file("openat", "/run/netns/x", unix.O_PATH), sortSpaceOf},
		{file("openat", "/proc/self/fd/7", unix.O_RDONLY), sortNone},
		{file("read", "/run/x", 0), sortRead},
		{file("read", "/usr/lib/x.so", 0), sortNone},
		{file("getdents64", "/var/lib/x", 0), sortRead},
		{file("newfstatat", "/run/x", 0), sortStat},
		{file("newfstatat", "/opt/cni/bin/x", 0), sortNone},
		{file("openat", "/run", unix.O_RDWR|unix.O_TMPFILE), sortCreate},
		{file("openat", "/proc/sys/net/ipv4/ip_forward", unix.O_WRONLY|unix.O_TRUNC), sortParam},
		{file("write", "/proc/sys/net/ipv4/ip_forward", 0), sortSetParam},
		{file("write", "/run/x", 0), sortWrite},
		{file("write", "/dev/null", 0), sortNone},
		{file("renameat2", "/run/x", 0), sortPlace},
		{file("unlinkat", "/run/x", 0), sortUnlink},
		{file("flock", "/run/x", unix.LOCK_EX), sortLock},
		{file("flock", "/run/x", unix.LOCK_EX|unix.LOCK_NB), sortTryLock},
		{file("flock", "/run/x", unix.LOCK_UN), sortNone},
		{file("fchmod", "/run/x", 0), sortMode},
		{inject.Event{Kind: inject.KindExec}, sortExec},
		{inject.Event{Kind: inject.KindExec, Fresh: true}, sortExec},
		{inject.Event{Kind: inject.KindFile, Call: "unlink", Path: "/run/x", Fresh: true}, sortNone},
		{inject.Event{Kind: inject.KindOther, Call: "write"}, sortNone},
		{inject.Event{Kind: inject.KindNamespace, Call: "unshare", Flags: unix.CLONE_FS}, sortNone},
		{inject.Event{Kind: inject.KindNamespace, Call: "unshare", Flags: unix.CLONE_NEWNET}, sortUnshare},
		{inject.Event{Kind: inject.KindNamespace, Call: "setns"}, sortEnter},
		{netlink(unix.NETLINK_ROUTE, false, route(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL)), sortMake},
		{netlink(unix.NETLINK_ROUTE, false, route(unix.RTM_NEWLINK, 0)), sortChange},
		{netlink(unix.NETLINK_ROUTE, false, route(unix.RTM_SETLINK, 0)), sortChange},
		{netlink(unix.NETLINK_ROUTE, false, route(unix.RTM_DELADDR, 0)), sortRemove},
		{netlink(unix.NETLINK_ROUTE, false, route(unix.RTM_GETLINK, 0)), sortGet},
		{netlink(unix.NETLINK_ROUTE, false, route(unix.RTM_GETADDR, unix.NLM_F_DUMP)), sortDump},
		{netlink(unix.NETLINK_ROUTE, true, route(unix.RTM_GETADDR, unix.NLM_F_DUMP)), sortDumped},
		{netlink(unix.NETLINK_ROUTE, true, route(unix.RTM_DELLINK, 0)), sortReceive},
		{netlink(unix.NETLINK_NETFILTER, false, begin, nft(unix.NFT_MSG_NEWTABLE), nft(unix.NFT_MSG_NEWRULE), end), sortMake},
		{netlink(unix.NETLINK_NETFILTER, false, begin, nft(unix.NFT_MSG_DELRULE), nft(unix.NFT_MSG_DELCHAIN), end), sortRemove},
		{netlink(unix.NETLINK_NETFILTER, false, begin, nft(unix.NFT_MSG_DELRULE), nft(unix.NFT_MSG_NEWRULE), end), sortMake},
		{netlink(unix.NETLINK_NETFILTER, false, nft(unix.NFT_MSG_GETGEN)), sortGet},
	} {
		if got := sortOf(c.e); got != c.want {
			t.Errorf("%+v is %q, want %q", c.e, got, c.want)
		}
	}
}

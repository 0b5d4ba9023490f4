package cases

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/test/host"
)

// readOnly mounts /proc/sys read-only, as container runtimes do.
func readOnly(t *testing.T, h *host.Host) {
	t.Helper()
	var err error
	h.Do(func() {
		if err = unix.Mount("/proc/sys", "/proc/sys", "", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			err = unix.Mount("", "/proc/sys", "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
		}
	})
	if err != nil {
		t.Fatalf("mount /proc/sys read-only: %v", err)
	}
}

// TestCase32ReadOnlyParameters: what has its value already, or is a refinement,
// need not be written.
func TestCase32ReadOnlyParameters(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		s.h.MustRun("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
		if strings.Contains(s.name, "dual stack") {
			s.h.MustRun("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
		}
		readOnly(s.T, s.h)
		a := s.attach()
		before := s.h.Snapshot()
		if o := a.Status(); !o.OK() {
			s.Errorf("STATUS: %s", o.Stdout)
		}
		o := a.Call("ADD")
		if !o.OK() {
			s.Fatalf("ADD: %s%s", o.Stdout, o.Stderr)
		}
		if !strings.Contains(o.Stderr, "arp_notify") && s.config.Type() != "ptp" {
			s.Errorf("what could not be set is not named: %q", o.Stderr)
		}
		if o := a.Check(o.Result(s)); !o.OK() {
			s.Errorf("CHECK: %s", o.Stdout)
		}
		a.MustDel(s)
		s.cleanSoon(before)
	})
}

// TestCase32NeededParameter: what is needed is not passed over. ADD names it and
// leaves nothing, STATUS says so before.
func TestCase32NeededParameter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		forwarding string // what the host has already
		config     host.Config
		missing    string
	}{
		"IPv4 alone":         {"net.ipv4.ip_forward=0", bridge(), "net/ipv4/ip_forward"},
		"IPv4 of two":        {"net.ipv6.conf.all.forwarding=1", bridge("ipam", dualStack()), "net/ipv4/ip_forward"},
		"IPv6 of two":        {"net.ipv4.ip_forward=1", bridge("ipam", dualStack()), "net/ipv6/conf/all/forwarding"},
		"routed":             {"net.ipv4.ip_forward=1", ptp("ipam", dualStack()), "net/ipv6/conf/all/forwarding"},
		"IPv6 is not wanted": {"net.ipv4.ip_forward=1", bridge(), ""},
		"nothing is routed":  {"net.ipv4.ip_forward=0", bridge("isGateway", false), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, network{config: c.config, ifName: "eth0"})
			s.h.MustRun("sysctl", "-q", "-w", c.forwarding)
			readOnly(t, s.h)
			a := s.attach()
			before := s.h.Snapshot()
			status, add := a.Status(), a.Call("ADD")
			if c.missing == "" {
				if !status.OK() || !add.OK() {
					t.Errorf("STATUS: %s ADD: %s", status.Stdout, add.Stdout)
				}
				return
			}
			if e := status.Error(t); e.Code != 50 || !strings.Contains(e.Msg, c.missing) {
				t.Errorf("STATUS: %v", e)
			}
			if e := add.Error(t); e.Code != 5 || !strings.Contains(e.Msg, c.missing) {
				t.Errorf("ADD: %v", e)
			}
			a.MustDel(t)
			s.cleanSoon(before)
		})
	}
}

func dualStack() map[string]any { return hostLocal("10.55.0.0/24", "fd00:55::/64") }

// TestCase32LegacyTableWithoutProgram: another's rules can't be read without its
// program. GC does what it can, and says what it could not.
func TestCase32LegacyTableWithoutProgram(t *testing.T) {
	t.Parallel()
	s := newScene(t, network{config: bridge("ipMasq", true), ifName: "eth0"})
	s.h.MustRun("iptables-legacy", "-t", "nat", "-N", "FOREIGN")
	var err error
	s.h.Do(func() {
		for _, program := range []string{"xtables-legacy-multi", "xtables-nft-multi"} {
			err = errors.Join(err, unix.Mount("/dev/null", "/usr/sbin/"+program, "", unix.MS_BIND, ""))
		}
	})
	if err != nil {
		t.Fatalf("hide iptables: %v", err)
	}
	a, stale := s.attach(), s.attach()
	lives, died := a.MustAdd(t).Address(0), stale.MustAdd(t).Address(0)
	s.h.DeleteNetns(stale.Netns)
	o := a.GC(a)
	if !o.OK() || !strings.Contains(o.Stderr, "legacy iptables") {
		t.Errorf("GC: %s%s", o.Stdout, o.Stderr)
	}
	if rules := s.h.MustRun("nft", "list", "ruleset"); !strings.Contains(rules, lives) || strings.Contains(rules, died) {
		t.Errorf("%s lives, and %s does not: %s", lives, died, rules)
	}
	if o := a.WithConfig("ipMasqBackend", "iptables").GC(a); o.OK() {
		t.Error("a network of iptables was looked through without iptables")
	}
}

// TestCase32EmptiedRecords: the files that say who uses and holds what are
// emptied. DEL puts back what the entries know, and leaves nothing.
func TestCase32EmptiedRecords(t *testing.T) {
	t.Parallel()
	s := newScene(t, network{})
	before := s.h.Snapshot()
	a := s.inList("tuning", values()...)
	r := a.Base().MustAdd(t)
	inside, tuned := s.inside(a), a.Itself().WithConfig("prevResult", r)
	tuned.MustAdd(t)
	s.h.MustRun("find", "/run/fairlead/shared", "-type", "f", "-exec", "truncate", "-s", "0", "{}", "+")
	tuned.MustDel(t)
	s.same(inside, s.inside(a))
	a.Base().MustDel(t)
	s.h.DeleteNetns(a.Netns)
	s.clean(before)
}

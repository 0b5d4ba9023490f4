package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase31ForwardingOfNewLinks: a host that forwards may have new links that
// do not. CHECK tells if one stops.
func TestCase31ForwardingOfNewLinks(t *testing.T) {
	each(t, []network{
		{"bridge", bridge("ipam", dualStack()), "eth0"},
		{"ptp", ptp("ipam", dualStack()), "eth0"},
	}, func(s *scene) {
		s.h.MustRun("sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv4.conf.default.forwarding=0",
			"net.ipv6.conf.all.forwarding=1", "net.ipv6.conf.default.forwarding=0")
		a := s.attach()
		result := a.MustAdd(s)
		link := "cni0"
		if s.config.Type() == "ptp" {
			link = fmt.Sprint(result.Interfaces()[0]["name"])
		}
		for _, family := range []string{"ipv4", "ipv6"} {
			name := "net/" + family + "/conf/" + link + "/forwarding"
			if v := strings.TrimSpace(s.h.MustRun("cat", "/proc/sys/"+name)); v != "1" {
				s.Errorf("%s is %s", name, v)
			}
			s.check(a, result, "")
			s.h.WriteFile("/proc/sys/"+name, "0")
			s.check(a, result, name+" is 0")
			if s.config.Type() == "bridge" {
				s.attach().MustAdd(s) // another one's ADD mends what they share
			} else {
				s.h.WriteFile("/proc/sys/"+name, "1")
			}
			s.check(a, result, "")
		}
	})
}

// check calls CHECK, which is to say so; "" is nothing.
func (s *scene) check(a host.Attachment, result host.Result, says string) {
	s.Helper()
	o := a.Check(result)
	switch {
	case says == "" && !o.OK():
		s.Errorf("CHECK: %s", o.Stdout)
	case says != "" && !strings.Contains(o.Error(s).Msg, says):
		s.Errorf("CHECK does not say %q: %s", says, o.Stdout)
	}
}

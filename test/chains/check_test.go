package chains

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// A damage is one thing that someone does to an attachment by hand. VETH stands
// for the host's end of its pair, VETHMAC for that one's MAC address, and MAC
// for that of the container's end.
type damage struct {
	what string
	by   []string // commands of ip in the container, or on the host
	mend []string // likewise; none: the attachment is made anew
	// plugin is the one whose CHECK must find it; "" is the only one.
	plugin string
	// says are words of the message.
	says []string
}

// A patient is a network, and what is done to it.
type patient struct {
	network
	vm      bool
	prepare func(*host.Host)
	inside  []string // commands of ip in the container, before ADD
	damages []damage
}

// TestCheckNamesWhatIsWrong: CHECK of a healthy list passes; then one thing is
// taken away, and CHECK of the list fails, and that of the plugin whose thing
// it was says which; and with the thing put back it passes.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, p := range patients() {
		if p.vm != host.InVM() {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "1.1.0", p.prepare)
			s.h.Netns(container)
			for _, command := range p.inside {
				s.ip(command)
			}
			s.add(p.network)
			s.healthy("added", p.network)
			for i, d := range p.damages {
				if i > 0 && p.damages[i-1].mend == nil {
					s.anew(p.network)
				}
				s.suffer(p.network, d)
			}
			s.del(p.network)
		})
	}
}

func (s *scene) suffer(n network, d damage) {
	s.Helper()
	name := s.names(n)
	for _, command := range d.by {
		s.do(name.Replace(command))
	}
	if err := s.check(n); err == nil {
		s.Errorf("%s: CHECK of the list passes", d.what)
	}
	var message string
	if d.plugin == "" || s.called().Plugin == d.plugin {
		message = s.called().Error(s).Error()
	} else {
		message = s.checkOf(n, d.plugin).Error(s).Error()
	}
	for _, want := range d.says {
		if want = name.Replace(want); !strings.Contains(message, want) {
			s.Errorf("%s: the message has no %q: %s", d.what, want, message)
		}
	}
	if testing.Verbose() {
		s.Logf("%s: %s", d.what, message)
	}
	for _, command := range d.mend {
		s.do(name.Replace(command))
	}
	if d.mend != nil {
		s.healthy("mended, "+d.what, n)
	}
}

// anew removes the network and adds it again.
func (s *scene) anew(n network) {
	s.Helper()
	if err := s.cni.DelNetworkList(context.Background(), s.list(n), s.runtime(n)); err != nil {
		s.Error(err)
	}
	s.add(n)
}

// do runs a command: of ip, or any one on the host or in the container.
func (s *scene) do(command string) {
	s.Helper()
	switch args := strings.Fields(command); args[0] {
	case "nft", "rm":
		s.h.MustRun(args[0], args[1:]...)
	case "sysctl":
		s.h.MustRunIn(s.netns, args[0], args[1:]...)
	default:
		s.ip(command)
	}
}

// names puts the interfaces of the result in the place of words.
func (s *scene) names(n network) *strings.Replacer {
	s.Helper()
	var veth, vethMAC, mac string
	for _, i := range s.result(n).Interfaces() {
		switch name := fmt.Sprint(i["name"]); {
		case i["sandbox"] != nil:
			mac = fmt.Sprint(i["mac"])
		case strings.HasPrefix(name, "veth"):
			veth, vethMAC = name, fmt.Sprint(i["mac"])
		}
	}
	return strings.NewReplacer("VETHMAC", vethMAC, "VETH", veth, "MAC address", "MAC address", "MAC", mac)
}

// result is what the last ADD of the list answered.
func (s *scene) result(n network) host.Result {
	s.Helper()
	cached, err := s.cni.GetNetworkListCachedResult(s.list(n), s.runtime(n))
	if err != nil {
		s.Fatal(err)
	}
	b, err := json.Marshal(cached)
	if err != nil {
		s.Fatal(err)
	}
	var r host.Result
	if err := json.Unmarshal(b, &r); err != nil {
		s.Fatal(err)
	}
	return r
}

// checkOf is CHECK of one plugin of the list, as libcni would have called it,
// had it come to it.
func (s *scene) checkOf(n network, plugin string) host.Outcome {
	s.Helper()
	a := host.Attachment{Host: s.h, Path: host.Build(s), Container: container, Netns: s.netns, IfName: n.ifName}
	for _, c := range n.plugins {
		if c.Type() == plugin {
			a.Config = c.With("cniVersion", s.version, "name", n.name)
			return a.Check(s.result(n))
		}
	}
	s.Fatalf("%s has no plugin %s", n.name, plugin)
	return host.Outcome{}
}

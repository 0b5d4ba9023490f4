package resource

import (
	"context"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// EnsuredSysctl is a kernel parameter that is set and left: others may have
// come to rely on it.
type EnsuredSysctl struct {
	Side  Side   `json:"side"`
	Name  string `json:"name"` // with slashes, below /proc/sys: "net/ipv4/ip_forward"
	Value string `json:"value"`
	// IfPresent: that the kernel has no such parameter is no failure.
	IfPresent bool `json:"ifPresent,omitempty"`
}

// Forwarding is that the host forwards packets of IPv4, or of IPv6.
func Forwarding(ipv6 bool) *EnsuredSysctl {
	if ipv6 {
		return &EnsuredSysctl{Side: Host, Name: "net/ipv6/conf/all/forwarding", Value: "1"}
	}
	return &EnsuredSysctl{Side: Host, Name: "net/ipv4/ip_forward", Value: "1"}
}

func (s *EnsuredSysctl) Kind() string { return "sysctl.1" }
func (s *EnsuredSysctl) Key() string  { return string(s.Side) + " " + s.Name }
func (s *EnsuredSysctl) Ensured()     {}

func (s *EnsuredSysctl) Within() engine.Ref {
	if s.Side == Container {
		return Sandbox
	}
	return ""
}

// Create writes only what differs: to write net/ipv4/ip_forward anew resets
// other parameters of every link.
func (s *EnsuredSysctl) Create(_ context.Context, env Env) error {
	ns, err := env.At(s.Side)
	if err != nil {
		return err
	}
	value, ok, err := ns.Sysctl(s.Name)
	if err != nil || ok && value == s.Value || !ok && s.IfPresent {
		return err
	}
	return ns.SetSysctl(s.Name, s.Value)
}

func (s *EnsuredSysctl) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, err := env.At(s.Side)
	if err != nil {
		return engine.State{}, err
	}
	var d drift
	err = d.sysctl(ns, s.Name, s.Value, s.IfPresent)
	return d.state(), err
}

// Remove is never DEL's (Ensured).
func (s *EnsuredSysctl) Remove(context.Context, Env) error { return nil }

// LinkSysctls are kernel parameters of one link, which go when it goes.
type LinkSysctls struct {
	On
	Values []LinkSysctl `json:"values"` // set in this order
}

// LinkSysctl is one parameter of a link.
type LinkSysctl struct {
	Family string `json:"family"` // "ipv4" or "ipv6"
	Name   string `json:"name"`   // "arp_notify"
	Value  string `json:"value"`
	// IfPresent: that the kernel has no such parameter is no failure.
	IfPresent bool `json:"ifPresent,omitempty"`
}

func (l LinkSysctl) path(link string) string {
	return "net/" + l.Family + "/conf/" + link + "/" + l.Name
}

func (s *LinkSysctls) Kind() string { return "link-sysctls.1" }
func (s *LinkSysctls) Key() string  { return s.key() }

func (s *LinkSysctls) Create(_ context.Context, env Env) error {
	ns, err := env.At(s.Side)
	if err != nil {
		return err
	}
	for _, v := range s.Values {
		err := ns.SetSysctl(v.path(s.Link), v.Value)
		if err != nil && !(v.IfPresent && kernel.Absent(kernel.ObjectSysctl, err)) {
			return err
		}
	}
	return nil
}

func (s *LinkSysctls) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, _, ok, err := s.find(env)
	if err != nil || !ok {
		return absentUnless(err)
	}
	var d drift
	for _, v := range s.Values {
		if err := d.sysctl(ns, v.path(s.Link), v.Value, v.IfPresent); err != nil {
			return engine.State{}, err
		}
	}
	return d.state(), nil
}

// Remove has nothing to do: a link that stays does no harm with them.
func (s *LinkSysctls) Remove(context.Context, Env) error { return nil }

// sysctl compares a parameter with want.
func (d *drift) sysctl(ns *kernel.Namespace, name, want string, ifPresent bool) error {
	value, ok, err := ns.Sysctl(name)
	switch {
	case err != nil:
		return err
	case !ok && !ifPresent:
		d.add("there is no %s", name)
	case ok && value != want:
		d.add("%s is %s, want %s", name, value, want)
	}
	return nil
}

// acceptNoRA keeps the host from taking routes from what is on the link.
func acceptNoRA(ns *kernel.Namespace, link string) error {
	err := ns.SetSysctl(LinkSysctl{Family: "ipv6", Name: "accept_ra"}.path(link), "0")
	if kernel.Absent(kernel.ObjectSysctl, err) {
		return nil // a kernel without IPv6
	}
	return err
}

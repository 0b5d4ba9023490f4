package resource

import (
	"context"
	"errors"
	"fmt"

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
	// KeepRA has links keep the routes that routers told them of, which the
	// kernel takes away, and learns no more, where it becomes a router itself.
	KeepRA bool `json:"keepRA,omitempty"`
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

// Create writes only what differs: what is as needed may be read-only.
func (s *EnsuredSysctl) Create(_ context.Context, env Env) error {
	ns, err := env.At(s.Side)
	if err != nil {
		return err
	}
	value, ok, err := ns.Sysctl(s.Name)
	if err != nil || ok && value == s.Value || !ok && s.IfPresent {
		return err
	}
	if s.KeepRA {
		if err := keepRA(ns); err != nil {
			return err
		}
	}
	return ns.SetSysctl(s.Name, s.Value)
}

// Ready tells whether the host has the value, or could be given it.
func (s *EnsuredSysctl) Ready(_ context.Context, env Env) error {
	if s.Side != Host {
		return nil
	}
	value, ok, err := env.Host.Sysctl(s.Name)
	if err != nil || !ok || value == s.Value {
		return err // without the link that it is of, it is made later
	}
	writable, err := env.Host.SysctlWritable(s.Name)
	if err == nil && !writable {
		err = fmt.Errorf("%s is %s, want %s: %w", s.Name, value, s.Value, errNotWritable)
	}
	if err != nil || !s.KeepRA {
		return err
	}
	return warnOfRA(env)
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
	// Refines: the link does its work without. That the parameter may not be
	// written here is no failure then.
	Refines bool `json:"refines,omitempty"`
	// Unset is what Create saw: it may not be written here.
	Unset bool `json:"unset,omitempty"`
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
	for i := range s.Values {
		v := &s.Values[i]
		err := writeSysctl(ns, v.path(s.Link), v.Value)
		switch {
		case err == nil, v.IfPresent && kernel.Absent(kernel.ObjectSysctl, err):
		case v.Refines && errors.Is(err, errNotWritable):
			v.Unset = true
			env.warn("%s goes without a refinement: %v", s.Link, err)
		default:
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
		if v.Unset {
			continue
		}
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

// errNotWritable is answered where a parameter may not be written at all.
var errNotWritable = errors.New("the parameter may not be written here")

// writeSysctl writes a parameter. That it may not be written is no failure where
// it has the value already: /proc/sys is mounted read-only in many containers.
func writeSysctl(ns *kernel.Namespace, name, value string) error {
	err := ns.SetSysctl(name, value)
	if !kernel.Denied(err) {
		return err
	}
	found, ok, readErr := ns.Sysctl(name)
	if readErr == nil && ok && found == value {
		return nil
	}
	if writable, askErr := ns.SysctlWritable(name); askErr == nil && !writable {
		return fmt.Errorf("%w: %w", errNotWritable, err)
	}
	return err
}

// acceptNoRA keeps the host from taking routes from what is on the link.
func acceptNoRA(env Env, ns *kernel.Namespace, link string) error {
	err := writeSysctl(ns, ipv6Parameter(link, "accept_ra"), "0")
	if kernel.Absent(kernel.ObjectSysctl, err) {
		return nil // a kernel without IPv6
	}
	if !errors.Is(err, errNotWritable) {
		return err
	}
	accepts, lookErr := acceptsRA(ns, link)
	if lookErr == nil && accepts {
		env.warn("the host takes IPv6 routes from what is on %s: %v", link, err)
	}
	return lookErr
}

// acceptsRA tells whether the kernel heeds router advertisements on the link.
func acceptsRA(ns *kernel.Namespace, link string) (bool, error) {
	accept, ok, err := ns.Sysctl(ipv6Parameter(link, "accept_ra"))
	if err != nil || !ok || accept == "0" {
		return false, err
	}
	forwarding, ok, err := ns.Sysctl(ipv6Parameter(link, "forwarding"))
	return ok && (accept == "2" || forwarding == "0"), err
}

// ipv6Parameter is the path of an IPv6 parameter of a link.
func ipv6Parameter(link, name string) string {
	return LinkSysctl{Family: "ipv6", Name: name}.path(link)
}

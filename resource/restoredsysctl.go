package resource

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// RestoredSysctl is a kernel parameter of the container's namespace: it is set,
// and the old value put back where it still has ours.
type RestoredSysctl struct {
	Name  string `json:"name"` // with slashes, below /proc/sys: "net/ipv4/conf/eth0/arp_filter"
	Value string `json:"value"`

	// Saved is the old value; nil: it is not known, or the parameter can only
	// be written.
	Saved *string `json:"saved,omitempty"`
	// Set is the value as the kernel then told it, which may write it another
	// way; "" where that is known without asking.
	Set string `json:"set,omitempty"`
	// Index is that of the link whose parameter it is, which may have another
	// name by now; 0: it is no link's, or not known.
	Index int `json:"index,omitempty"`
}

func (s *RestoredSysctl) Kind() string       { return "restored-sysctl.1" }
func (s *RestoredSysctl) Key() string        { return s.Name }
func (s *RestoredSysctl) Within() engine.Ref { return Sandbox }

// AnySuites says that it is the same whoever set it.
func (s *RestoredSysctl) AnySuites() {}

// Amend has CHECK expect this value of those that set the parameter before
// (rule 14).
func (s *RestoredSysctl) Amend(earlier Resource) Resource {
	value, _ := plainly(s.Value)
	value = first(s.Set, value)
	switch earlier := earlier.(type) {
	case *RestoredSysctl:
		if earlier.Name == s.Name {
			amended := *earlier
			amended.Value, amended.Set = s.Value, s.Set
			return &amended
		}
	case *EnsuredSysctl:
		if earlier.Side == Container && earlier.Name == s.Name {
			amended := *earlier
			amended.Value = value
			return &amended
		}
	case *LinkSysctls:
		return earlier.with(s.Name, value)
	}
	return earlier
}

// with is the same with another value of the parameter name, if it has it.
func (s *LinkSysctls) with(name, value string) *LinkSysctls {
	if s.Side != Container {
		return s
	}
	amended := *s
	amended.Values = append([]LinkSysctl(nil), s.Values...)
	for i, v := range amended.Values {
		if v.path(s.Link) == name {
			amended.Values[i].Value = value
		}
	}
	return &amended
}

// Save reads the value that is there.
func (s *RestoredSysctl) Save(_ context.Context, env Env) error {
	ns, err := env.At(Container)
	if err != nil {
		return err
	}
	if parts, ok := linkParameter(s.Name); ok {
		link, _, err := ns.Link(parts[linkPart])
		if err != nil {
			return err
		}
		s.Index = link.Index
	}
	value, ok, err := ns.Sysctl(s.Name)
	switch {
	case errors.Is(err, kernel.ErrWriteOnly):
		s.Saved = nil
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("the container has no parameter %s", s.Name)
	default:
		s.Saved = &value
	}
	return nil
}

// Inherit takes over what the leaving holder found.
func (s *RestoredSysctl) Inherit(below Resource) error {
	other, ok := below.(*RestoredSysctl)
	if !ok {
		return fmt.Errorf("%T is no parameter", below)
	}
	if s.Index != 0 && other.Index != 0 && s.Index != other.Index {
		return fmt.Errorf("%s of links %d and %d: %w", s.Name, other.Index, s.Index, engine.ErrApart)
	}
	s.Saved = other.Saved
	return nil
}

// linkPart is where a link's parameter has the link's name.
const linkPart = 3

// linkParameter takes the name of a parameter of one link apart: net, family,
// conf or neigh, link, parameter.
func linkParameter(name string) (parts []string, ok bool) {
	parts = strings.Split(name, "/")
	if len(parts) != 5 || parts[0] != "net" || parts[2] != "conf" && parts[2] != "neigh" {
		return nil, false
	}
	return parts, parts[linkPart] != "all" && parts[linkPart] != "default"
}

// current is the parameter's name now, which has its link's in it; false where
// the link is gone, and took the parameter along.
func (s *RestoredSysctl) current(ns *kernel.Namespace) (name string, ok bool, err error) {
	parts, ok := linkParameter(s.Name)
	if !ok || s.Index == 0 {
		return s.Name, true, nil
	}
	link, ok, err := ns.LinkByIndex(s.Index)
	parts[linkPart] = link.Name
	return strings.Join(parts, "/"), ok, err
}

// Create sets it. What has the value is not written anew: that may reset other
// parameters.
func (s *RestoredSysctl) Create(_ context.Context, env Env) error {
	ns, err := env.At(Container)
	if err != nil {
		return err
	}
	if s.Saved != nil && s.is(*s.Saved) {
		return nil
	}
	if err := ns.SetSysctl(s.Name, s.Value); err != nil {
		return unsure(fmt.Errorf("set %s to %q: %w", s.Name, s.Value, err))
	}
	if _, numbers := plainly(s.Value); numbers || s.Saved == nil {
		return nil
	}
	value, _, err := ns.Sysctl(s.Name)
	s.Set = value
	return engine.Partial(err)
}

func (s *RestoredSysctl) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, err := env.At(Container)
	if err != nil {
		return engine.State{}, err
	}
	name, ok, err := s.current(ns)
	if err != nil || !ok {
		return absentUnless(err)
	}
	value, ok, err := ns.Sysctl(name)
	if errors.Is(err, kernel.ErrWriteOnly) {
		return engine.Present(), nil
	}
	if err != nil || !ok {
		return absentUnless(err)
	}
	var d drift
	if !s.is(value) {
		d.add("%s is %s, want %s", name, value, s.Value)
	}
	return d.state(), nil
}

// is tells whether the kernel's word is our value.
func (s *RestoredSysctl) is(value string) bool {
	if s.Set != "" && value == s.Set {
		return true
	}
	found, _ := plainly(value)
	want, _ := plainly(s.Value)
	return found == want
}

// plainly writes a value in one of the ways in which it can be written: the
// kernel puts tabs between parts, and takes numbers of any base. numbers says
// that it has nothing else.
func plainly(value string) (plain string, numbers bool) {
	parts := strings.Fields(value)
	numbers = true
	for i, p := range parts {
		n, err := strconv.ParseInt(p, 0, 64)
		if err == nil {
			parts[i] = strconv.FormatInt(n, 10)
		}
		numbers = numbers && err == nil
	}
	return strings.Join(parts, " "), numbers
}

// Remove puts the old value back. A parameter that went with its link is gone;
// what someone has set since is theirs.
func (s *RestoredSysctl) Remove(_ context.Context, env Env) error {
	if s.Saved == nil {
		return nil
	}
	ns, err := env.At(Container)
	if err != nil {
		return err
	}
	name, ok, err := s.current(ns)
	if err != nil || !ok {
		return err
	}
	value, ok, err := ns.Sysctl(name)
	if err != nil || !ok || value == *s.Saved || !s.is(value) {
		return err
	}
	// With an end of line, since to write nothing changes nothing.
	err = ns.SetSysctl(name, *s.Saved+"\n")
	if kernel.Absent(kernel.ObjectSysctl, err) || kernel.Refused(err) {
		return nil // it went meanwhile, or does not take that value any more
	}
	return err
}

var _ engine.Restored[Env] = (*RestoredSysctl)(nil)

package resource

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// LinkAttr is one attribute of a link that was there before. It is set, and the
// old value put back where the link lives on and still has ours.
type LinkAttr struct {
	On
	Attr  Attribute `json:"attr"`
	Value string    `json:"value,omitempty"` // "": not known, at a DEL
	// Owner is whose link it is: without the journal, that of another is left
	// alone.
	Owner attachment.Owner `json:"owner,omitempty"`
	// Backup is the file of the LinkBackup that has the old value too: it stays
	// until the value is back, and without the journal it is all there is.
	Backup string `json:"backup,omitempty"`

	Saved string `json:"saved,omitempty"` // the old value
	Index int    `json:"index,omitempty"` // the link that had it
	Type  string `json:"type,omitempty"`  // and the kernel's name of its kind; "" says nothing

	expect string // what prevResult says (rule 14)
}

func (a *LinkAttr) Kind() string { return "link-attr.1" }
func (a *LinkAttr) Key() string  { return a.key(string(a.Attr)) }

// Needs has the file with the old value stay until that is back.
func (a *LinkAttr) Needs() []engine.Ref {
	if a.Backup == "" {
		return nil
	}
	return []engine.Ref{engine.MakeRef(linkBackupKind, a.Backup)}
}

// AnySuites says that it is the same whoever set it.
func (a *LinkAttr) AnySuites() {}

// ExpectLink has Observe compare with what another says of the link: a later
// plugin may have changed it.
func (a *LinkAttr) ExpectLink(name, mac string, mtu int) {
	switch {
	case name != a.Link:
	case a.Attr == AttrMAC && mac != "":
		a.expect = mac
	case a.Attr == AttrMTU && mtu > 0:
		a.expect = fmt.Sprint(mtu)
	}
}

// Amend has CHECK expect of what made the link that it has this value (rule 14).
func (a *LinkAttr) Amend(earlier Resource) Resource {
	switch earlier := earlier.(type) {
	case *Bridge, *VLANGateway: // the host's, whatever their names
	case *LinkAttr:
		if earlier.Key() == a.Key() {
			amended := *earlier
			amended.Value = a.Value
			return &amended
		}
	case Expectant:
		switch mtu := 0; a.Attr {
		case AttrMAC:
			earlier.ExpectLink(a.Link, a.Value, 0)
		case AttrMTU:
			if _, err := fmt.Sscan(a.Value, &mtu); err == nil {
				earlier.ExpectLink(a.Link, "", mtu)
			}
		}
	}
	return earlier
}

// Save reads the value that is there.
func (a *LinkAttr) Save(_ context.Context, env Env) error {
	_, link, err := a.need(env)
	if err == nil {
		a.Saved, a.Index, a.Type = a.Attr.of(link), link.Index, link.Kind
	}
	return err
}

// Inherit takes over what the leaving holder found.
func (a *LinkAttr) Inherit(below Resource) error {
	other, ok := below.(*LinkAttr)
	if !ok {
		return fmt.Errorf("%T is no attribute of a link", below)
	}
	if a.Index != other.Index {
		return fmt.Errorf("%s of links %d and %d: %w", a.Attr.words(), other.Index, a.Index, engine.ErrApart)
	}
	a.Saved, a.Type = other.Saved, other.Type
	return nil
}

// Create sets it.
func (a *LinkAttr) Create(_ context.Context, env Env) error {
	ns, err := env.At(a.Side)
	if err != nil || a.Saved == a.Value {
		return err
	}
	change, err := a.Attr.change(a.Value)
	if err != nil {
		return err
	}
	if err := ns.SetLink(a.Index, change); err != nil {
		return unsure(fmt.Errorf("set %s of %s to %q: %w", a.Attr.words(), a.Link, a.Value, err))
	}
	return nil
}

func (a *LinkAttr) Observe(_ context.Context, env Env) (engine.State, error) {
	_, link, ok, err := a.recorded(env, a.Index, a.Type)
	if err != nil || !ok {
		return absentUnless(err)
	}
	var d drift
	want := first(a.expect, a.Value)
	if a.Attr == AttrMAC {
		d.mac(link, want)
	} else if found := a.Attr.of(link); found != want {
		d.add("%s of %s is %s, want %s", a.Attr.words(), a.Link, found, want)
	}
	return d.state(), nil
}

// Remove puts the old value back. A link that is gone took it along; another
// one of its name never had it; and what someone has set since is theirs.
func (a *LinkAttr) Remove(_ context.Context, env Env) error {
	saved, index, err := a.saved(env)
	if err != nil || saved == "" {
		return err
	}
	ns, link, ok, err := a.recorded(env, index, a.Type)
	if err != nil || !ok {
		return err
	}
	found := a.Attr.of(link)
	if found == saved || a.Saved != "" && found != a.Value {
		return nil
	}
	if a.Saved == "" {
		if other, err := anothers(env, link, a.Owner); err != nil || other {
			return err
		}
	}
	return a.putBack(ns, link, saved)
}

// putBack sets the old value. What is no value, in a file that anyone may have
// written, is none; and what the link does not take any more can't be set.
func (a *LinkAttr) putBack(ns *kernel.Namespace, link kernel.Link, saved string) error {
	change, err := a.Attr.change(saved)
	if err == nil {
		err = ns.SetLink(link.Index, change)
	}
	var noNumber *strconv.NumError
	var noAddress *net.AddrError
	switch {
	case errors.As(err, &noNumber), errors.As(err, &noAddress),
		kernel.Absent(kernel.ObjectLink, err), kernel.Refused(err), kernel.Unsupported(err):
		return nil
	}
	return err
}

// saved is the old value and the index of the link that had it: the journal's,
// else the file's. "" is no value, and 0 no index: the reference suite keeps
// none, and in another namespace it is another link's.
func (a *LinkAttr) saved(env Env) (value string, index int, err error) {
	if a.Saved != "" || a.Backup == "" {
		return a.Saved, a.Index, nil
	}
	kept, err := readLinkBackup(a.Backup)
	if value = kept.value(a.Attr); err != nil || value == "" || kept.Index == 0 {
		return value, 0, err
	}
	ns, err := env.At(a.Side)
	if err != nil {
		return "", 0, err
	}
	scope, err := scopeOf(ns)
	if err == nil && scope == kept.Scope {
		index = kept.Index
	}
	return value, index, err
}

var _ engine.Restored[Env] = (*LinkAttr)(nil)

package resource

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// VRF is a VRF in the container's namespace, shared by those of its interfaces
// that were put into it. It goes with the last of them, whoever made it, as
// with the reference suite; but one that stood empty when we came is its
// maker's.
//
// Its address is derived from its name: so it is marked as ours in the message
// that makes it, and another call never sees it unmarked.
//
// Or it stands for a VPC on the host (see vrfvpc.go): then nobody else's is
// taken for it, and no packet leaves its table for another.
type VRF struct {
	Name string `json:"name"`
	// VPC is the one that it stands for, on the host; "": it is in the container.
	VPC string `json:"vpc,omitempty"`
	// Table has its members' routes; 0: not known.
	Table uint32 `json:"table,omitempty"`
	// Foreign: another made it, and had nothing in it when Create came.
	Foreign bool `json:"foreign,omitempty"`
}

const vrfKind = "vrf.1"

var errUnknownTable = errors.New("the routing table is unknown")

func (v *VRF) Kind() string { return vrfKind }

func (v *VRF) Key() string {
	if v.VPC != "" {
		return string(Host) + " " + v.Name
	}
	return v.Name
}

func (v *VRF) Within() engine.Ref {
	if v.VPC != "" {
		return ""
	}
	return Sandbox
}

func (v *VRF) side() Side {
	if v.VPC != "" {
		return Host
	}
	return Container
}

// Ref names the VRF.
func (v *VRF) Ref() engine.Ref { return engine.MakeRef(vrfKind, v.Key()) }

// AnySuites says that it is the same whoever made it.
func (v *VRF) AnySuites() {}

// Create makes it, or takes the one that is there.
func (v *VRF) Create(_ context.Context, env Env) error {
	ns, err := env.At(v.side())
	if err != nil {
		return err
	}
	if v.Table == 0 {
		return fmt.Errorf("VRF %s: %w", v.Name, errUnknownTable)
	}
	err = ns.AddLink(kernel.LinkSpec{
		Name: v.Name, MAC: vrfMAC(v.Name), Kind: kernel.VRFKind{Table: v.Table}, Up: true,
	})
	switch {
	case kernel.Exists(err):
		return v.join(ns, err)
	case err == nil && v.VPC != "":
		return engine.Partial(v.begin(ns))
	}
	return unsure(err)
}

// join takes the VRF that is there, if it is as asked for.
func (v *VRF) join(ns *kernel.Namespace, cause error) error {
	link, kind, err := vrfLink(ns, v.Name)
	if err != nil {
		return err
	}
	if link == nil {
		return engine.Conflict(fmt.Errorf("another interface is named so and is no VRF: %w", cause))
	}
	if v.VPC != "" && !v.ofVPC(*link) {
		return engine.Conflict(fmt.Errorf("VRF %s is another's %s: %w", v.Name, aliasOf(*link), cause))
	}
	if kind.Table != v.Table {
		return engine.Conflict(v.otherTable(kind.Table))
	}
	if v.VPC != "" {
		if err := v.close(ns); err != nil {
			return err
		}
	} else if !bytes.Equal(link.MAC, vrfMAC(v.Name)) {
		members, err := ns.LinksOfMaster(link.Index)
		if err != nil {
			return err
		}
		v.Foreign = len(members) == 0
	}
	if link.Up {
		return nil
	}
	return setUp(ns, *link, true)
}

func (v *VRF) otherTable(found uint32) error {
	return fmt.Errorf("VRF %s exists with table %d, want %d", v.Name, found, v.Table)
}

func (v *VRF) Observe(_ context.Context, env Env) (engine.State, error) {
	ns, err := env.At(v.side())
	if err != nil {
		return engine.State{}, err
	}
	link, kind, err := vrfLink(ns, v.Name)
	if err != nil || link == nil {
		return absentUnless(err)
	}
	var d drift
	if v.Table != 0 && kind.Table != v.Table {
		d.add("the table of VRF %s is %d, want %d", v.Name, kind.Table, v.Table)
	}
	if !link.Up {
		d.add("%s is down", v.Name)
	}
	if v.VPC == "" {
		return d.state(), nil
	}
	if !v.ofVPC(*link) {
		d.add("VRF %s is another's %s", v.Name, aliasOf(*link))
	}
	err = v.compareWalls(ns, kind.Table, &d)
	return d.state(), err
}

// InUse tells whether an interface is in it, or it is another's.
func (v *VRF) InUse(_ context.Context, env Env) (bool, error) {
	ns, err := env.At(v.side())
	if err != nil || v.Foreign {
		return v.Foreign, err
	}
	link, _, err := vrfLink(ns, v.Name)
	if err != nil || link == nil {
		return false, err
	}
	if v.VPC != "" && !v.ofVPC(*link) {
		return true, nil
	}
	members, err := ns.LinksOfMaster(link.Index)
	return len(members) > 0, err
}

// Remove leaves a link of another kind under the VRF's name alone.
func (v *VRF) Remove(_ context.Context, env Env) error {
	ns, err := env.At(v.side())
	if err != nil {
		return err
	}
	if v.VPC != "" {
		return v.removeVPC(ns)
	}
	link, _, err := vrfLink(ns, v.Name)
	if err != nil || link == nil {
		return err
	}
	_, err = ns.DelLink(link.Index)
	return err
}

// vrfMAC is the address of a VRF that we make.
func vrfMAC(name string) []byte { return attachment.DeriveMAC("vrf/" + name) }

// vrfLink looks a VRF up; nil where none has this very name.
func vrfLink(ns *kernel.Namespace, name string) (*kernel.Link, kernel.VRFKind, error) {
	link, ok, err := ns.Link(name)
	if err != nil || !ok || link.Name != name {
		return nil, kernel.VRFKind{}, err
	}
	kind, ok := link.Info.(kernel.VRFKind)
	if !ok {
		return nil, kind, nil
	}
	return &link, kind, nil
}

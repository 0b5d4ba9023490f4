package resource

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// RemoveUnusedVRFs takes away the VRFs of VPCs, with their routes, that nobody
// is in and nobody is about to join: an attachment whose record was lost leaves
// one. They are shared (rule 18), so the engine does it.
func RemoveUnusedVRFs(ctx context.Context, env Env, e *engine.Engine[Env]) (Unused, error) {
	var report Unused
	links, err := env.Host.LinksOfKind("vrf")
	errs := []error{err}
	for _, l := range links {
		vpc, marked := strings.CutPrefix(l.Alias, vpcMarkPrefix)
		if !marked || attachment.VRFOfVPC(vpc) != l.Name {
			continue
		}
		err := e.RemovePlan(ctx, env, engine.Scope{}, []Resource{&VRF{Name: l.Name, VPC: vpc}, &VPCZone{VRF: l.Name, VPC: vpc}})
		var why string
		if err == nil {
			why, err = occupant(env.Host, l)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("VPC %s: %w", vpc, err))
		case why != "":
			report.Kept = append(report.Kept, fmt.Sprintf("VRF %s: %s", l.Name, why))
		default:
			report.Removed = append(report.Removed, "VRF "+l.Name)
		}
	}
	return report, errors.Join(errs...)
}

// occupant says why a VRF is still there, or is "".
func occupant(ns *kernel.Namespace, vrf kernel.Link) (string, error) {
	_, there, err := ns.LinkByIndex(vrf.Index)
	if err != nil || !there {
		return "", err
	}
	members, err := ns.LinksOfMaster(vrf.Index)
	if len(members) > 0 {
		return members[0].Name + " is in it", err
	}
	return "an attachment of it is recorded", err
}

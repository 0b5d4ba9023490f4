package resource

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-net/fairlead/kernel"
)

// RemoveLostGateways takes away the VLAN gateways that we made whose bridge
// somebody else deleted, unless they are used (`gc --unused`). Those of a bridge
// that is there go with it.
func RemoveLostGateways(env Env, uppers Uppers) (Unused, error) {
	var report Unused
	links, err := env.Host.Links()
	if err != nil {
		return report, err
	}
	bridges := map[string]bool{}
	for _, l := range links {
		bridges[l.Name] = bridges[l.Name] || l.Kind == "bridge"
	}
	var errs []error
	for _, l := range links {
		mark, ok := parseBridgeMark(l.Alias)
		if !ok || l.Kind != "veth" || !strings.HasPrefix(l.Name, mark.Bridge+".") || bridges[mark.Bridge] {
			continue
		}
		why := gatewayUser(l, links)
		if owner, ok := uppers[l.Name]; ok {
			why = "the link of " + owner + " is upon it"
		}
		var err error
		if why == "" {
			why, err = foreignAddress(env, l)
		}
		if err == nil && why == "" {
			_, err = env.Host.DelLink(l.Index)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("VLAN gateway %s: %w", l.Name, err))
		case why != "":
			report.Kept = append(report.Kept, fmt.Sprintf("VLAN gateway %s: %s", l.Name, why))
		default:
			report.Removed = append(report.Removed, "VLAN gateway "+l.Name)
		}
	}
	return report, errors.Join(errs...)
}

// gatewayUser names what uses either end of a gateway's pair, or is "".
func gatewayUser(gateway kernel.Link, links []kernel.Link) string {
	if gateway.ParentNetnsID != nil {
		return "its other end is in another namespace"
	}
	own := map[int]bool{gateway.Index: true, gateway.Parent: true}
	for _, l := range links {
		switch {
		case own[l.Index] && l.Master != 0:
			return l.Name + " is a member of another link"
		case own[l.Index]:
		case own[l.Master]:
			return l.Name + " is a member of it"
		case l.ParentNetnsID == nil && own[l.Parent]:
			return l.Name + " is upon it"
		}
	}
	return ""
}

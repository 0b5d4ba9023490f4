package conformance

import (
	"slices"

	"github.com/fairlead-net/fairlead/test/host"
)

// subjects are the plugins under test on this kernel, in the order of the
// table. The virtual machine tests what needs its kernel, and nothing else.
var subjects = slices.DeleteFunc(
	[]subject{loopback(), bridge(), bridgeVLAN(), ptp(), macvlan(), ipvlan(), vlan(), dummy(), tap(), hostDevice(), vpc(), vpcTap(), tuning(), sbr(), vrf(), hostLocalSubject(), static()},
	func(s subject) bool { return s.vm != host.InVM() },
)

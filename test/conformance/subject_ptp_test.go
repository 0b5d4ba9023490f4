package conformance

import "github.com/fairlead-net/fairlead/test/host"

func ptp() subject {
	return subject{
		name:   "ptp",
		ifName: "eth0",
		oldest: "0.1.0",
		config: host.Config{
			"cniVersion": "1.1.0", "name": network, "type": "ptp", "ipMasq": true,
			"ipam": hostLocal("10.99.0.0/24"),
		},
		delegates:  true,
		interfaces: []side{onHost, inContainer},
		addressOf:  1,
		breakages: append(inside(),
			breakage{17, "masquerade rules gone", nil, flushFilters},
			breakage{17, "lease gone", nil, loseLease},
			breakage{18, "host end down", nil, func(a host.Attachment, r host.Result) {
				a.Host.MustRun("ip", "link", "set", name(r, 0), "down")
			}},
			breakage{18, "host route gone", nil, func(a host.Attachment, r host.Result) {
				a.Host.MustRun("ip", "route", "del", r.Address(0), "dev", name(r, 0))
			}},
		),
	}
}

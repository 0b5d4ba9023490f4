package conformance

import "github.com/fairlead-net/fairlead/test/host"

func loopback() subject {
	return subject{
		name:       "loopback",
		ifName:     "lo",
		oldest:     "0.1.0",
		config:     host.Config{"cniVersion": "1.1.0", "name": network, "type": "loopback"},
		plain:      true,
		passesOn:   true,
		interfaces: []side{inContainer},
		breakages: []breakage{
			{16, "address gone", nil, func(a host.Attachment, _ host.Result) {
				a.Host.MustRunIn(a.Netns, "ip", "address", "del", "127.0.0.1/8", "dev", "lo")
			}},
			{18, "link down", nil, func(a host.Attachment, _ host.Result) {
				a.Host.MustRunIn(a.Netns, "ip", "link", "set", "lo", "down")
			}},
		},
	}
}

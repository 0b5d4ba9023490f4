package conformance

import "github.com/fairlead-net/fairlead/test/host"

func hostLocalSubject() subject {
	return subject{
		name:   "host-local",
		ifName: "eth0",
		oldest: "0.1.0",
		config: host.Config{
			"cniVersion": "1.1.0", "name": network, "type": "host-local",
			"ipam": hostLocal("10.99.0.0/24"),
		},
		ipam:   true,
		leases: true,
		breakages: []breakage{
			{17, "lease gone", nil, loseLease},
			{17, "lease another's", nil, func(a host.Attachment, r host.Result) {
				a.Host.WriteFile("/var/lib/cni/networks/"+network+"/"+r.Address(0), "another\r\neth0")
			}},
		},
	}
}

func static() subject {
	return subject{
		name:   "static",
		ifName: "eth0",
		oldest: "0.1.0",
		config: host.Config{
			"cniVersion": "1.1.0", "name": network, "type": "static",
			"ipam": map[string]any{
				"type":      "static",
				"addresses": []any{map[string]any{"address": "10.99.0.2/24", "gateway": "10.99.0.1"}},
				"routes":    []any{map[string]any{"dst": "0.0.0.0/0"}},
				"dns":       map[string]any{"nameservers": []any{"192.0.2.53"}, "search": []any{"example.org"}},
			},
		},
		ipam:  true,
		plain: true,
	}
}

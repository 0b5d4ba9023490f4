package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

type setting struct{ name, value string }

// pinned are the kernel's own defaults of what a new namespace takes over from
// the machine's, which a host must not depend on. Forwarding comes first, since
// it changes others.
func pinned() []setting {
	list := []setting{
		{"ipv4/conf/all/forwarding", "0"}, {"ipv4/conf/default/forwarding", "0"},
		{"ipv4/conf/all/accept_source_route", "0"}, {"ipv4/conf/default/accept_source_route", "1"},
		{"ipv6/conf/all/forwarding", "0"}, {"ipv6/conf/default/forwarding", "0"},
	}
	four := []setting{
		{"accept_local", "0"}, {"accept_redirects", "1"}, {"arp_accept", "0"}, {"arp_announce", "0"},
		{"arp_filter", "0"}, {"arp_ignore", "0"}, {"arp_notify", "0"}, {"bootp_relay", "0"},
		{"disable_policy", "0"}, {"disable_xfrm", "0"}, {"force_igmp_version", "0"}, {"log_martians", "0"},
		{"promote_secondaries", "0"}, {"proxy_arp", "0"}, {"proxy_arp_pvlan", "0"}, {"route_localnet", "0"},
		{"rp_filter", "0"}, {"secure_redirects", "1"}, {"send_redirects", "1"}, {"shared_media", "1"},
		{"src_valid_mark", "0"},
		// Not in every kernel that the lab works on.
		{"arp_evict_nocarrier", "1"}, {"bc_forwarding", "0"}, {"drop_gratuitous_arp", "0"},
		{"drop_unicast_in_l2_multicast", "0"}, {"ignore_routes_with_linkdown", "0"},
	}
	six := []setting{
		{"accept_ra", "1"}, {"accept_redirects", "1"}, {"accept_source_route", "0"}, {"addr_gen_mode", "0"},
		{"autoconf", "1"}, {"dad_transmits", "1"}, {"disable_ipv6", "0"}, {"keep_addr_on_down", "0"},
		{"optimistic_dad", "0"}, {"proxy_ndp", "0"}, {"seg6_enabled", "0"}, {"use_tempaddr", "0"},
	}
	for _, of := range []string{"all", "default"} {
		for _, s := range four {
			list = append(list, setting{"ipv4/conf/" + of + "/" + s.name, s.value})
		}
		for _, s := range six {
			list = append(list, setting{"ipv6/conf/" + of + "/" + s.name, s.value})
		}
	}
	return list
}

// pinSysctls sets what is pinned in the calling thread's namespace. What has its
// value already is not written: writing costs more, and may have effects.
func pinSysctls() error {
	for _, s := range pinned() {
		path := filepath.Join("/proc/sys/net", s.name)
		now, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // a kernel without it, or without IPv6
		}
		if err == nil && string(bytes.TrimSpace(now)) != s.value {
			err = os.WriteFile(path, []byte(s.value), 0)
		}
		if err != nil {
			return fmt.Errorf("pin a setting: %w", err)
		}
	}
	return nil
}

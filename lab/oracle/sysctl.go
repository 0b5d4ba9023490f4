package oracle

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// settings are those of a link, of "all" and of "default": their file's name, and
// where the kernel has them in what it tells of a link.
type setting struct {
	name string
	at   int
}

func settings4() []setting {
	return []setting{
		{"forwarding", 0}, {"mc_forwarding", 1}, {"proxy_arp", 2}, {"accept_redirects", 3}, {"secure_redirects", 4},
		{"send_redirects", 5}, {"shared_media", 6}, {"rp_filter", 7}, {"accept_source_route", 8}, {"bootp_relay", 9},
		{"log_martians", 10}, {"tag", 11}, {"arp_filter", 12}, {"medium_id", 13}, {"disable_xfrm", 14},
		{"disable_policy", 15}, {"force_igmp_version", 16}, {"arp_announce", 17}, {"arp_ignore", 18},
		{"promote_secondaries", 19}, {"arp_accept", 20}, {"arp_notify", 21}, {"accept_local", 22},
		{"src_valid_mark", 23}, {"proxy_arp_pvlan", 24}, {"route_localnet", 25}, {"ignore_routes_with_linkdown", 28},
		{"drop_unicast_in_l2_multicast", 29}, {"drop_gratuitous_arp", 30}, {"bc_forwarding", 31}, {"arp_evict_nocarrier", 32},
	}
}

func settings6() []setting {
	return []setting{
		{"forwarding", 0}, {"hop_limit", 1}, {"accept_ra", 3}, {"accept_redirects", 4}, {"autoconf", 5},
		{"dad_transmits", 6}, {"use_tempaddr", 10}, {"max_addresses", 15}, {"accept_ra_defrtr", 17}, {"accept_ra_pinfo", 18},
		{"accept_ra_rtr_pref", 19}, {"proxy_ndp", 22}, {"optimistic_dad", 23}, {"accept_source_route", 24},
		{"mc_forwarding", 25}, {"disable_ipv6", 26}, {"accept_dad", 27}, {"force_tllao", 28}, {"ndisc_notify", 29},
		{"suppress_frag_ndisc", 32}, {"accept_ra_from_local", 33}, {"use_optimistic", 34}, {"accept_ra_mtu", 35},
		{"use_oif_addrs_only", 37}, {"ignore_routes_with_linkdown", 39}, {"drop_unicast_in_l2_multicast", 40},
		{"drop_unsolicited_na", 41}, {"keep_addr_on_down", 42}, {"seg6_enabled", 44}, {"enhanced_dad", 46},
		{"addr_gen_mode", 47}, {"disable_policy", 48}, {"ndisc_evict_nocarrier", 56}, {"accept_untracked_na", 57},
	}
}

// general are settings of a namespace that are no link's. That which says whether
// it forwards is conf/all/forwarding.
func general() []string {
	return []string{
		"ipv4/ip_nonlocal_bind", "ipv4/fib_multipath_hash_policy", "ipv4/tcp_l3mdev_accept", "ipv4/udp_l3mdev_accept",
		"ipv4/raw_l3mdev_accept", "ipv4/ip_unprivileged_port_start", "ipv4/ping_group_range", "ipv4/icmp_echo_ignore_all",
		"ipv6/ip_nonlocal_bind", "ipv6/fib_multipath_hash_policy", "ipv6/seg6_flowlabel", "vrf/strict_mode",
		"bridge/bridge-nf-call-iptables", "bridge/bridge-nf-call-ip6tables", "bridge/bridge-nf-call-arptables",
		"netfilter/nf_conntrack_tcp_be_liberal", "core/somaxconn",
	}
}

// sysctls tells the settings of the namespace, and those of each link in which it
// differs from what new links get.
func (ns *netns) sysctls(more []string) error {
	root, err := unix.Open("/proc/sys/net", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	defer unix.Close(root)
	tell := func(name, value string) {
		ns.facts = append(ns.facts, fact{Item: Item{Kind: "sysctl", Where: ns.name, Name: "net/" + name, Value: value}, native: true})
	}
	for _, name := range append(general(), more...) {
		value, there, err := readSetting(root, name)
		if err != nil {
			return err
		}
		if there {
			tell(name, value)
		}
	}
	for _, f := range []struct {
		dir      string
		settings []setting
		of       func(*link) ([]byte, error)
	}{{"ipv4/conf", settings4(), conf4}, {"ipv6/conf", settings6(), conf6}} {
		usual, err := readConf(root, f.dir, f.settings, tell)
		if err != nil {
			return err
		}
		for _, l := range ns.links {
			conf, err := f.of(l)
			if err != nil {
				return fmt.Errorf("settings of %s: %w", l.name, err)
			}
			ns.linkSettings(l, f.dir, f.settings, conf, usual)
		}
	}
	return nil
}

// readConf tells the settings of "all" and "default", and returns the latter.
func readConf(root int, dir string, settings []setting, tell func(name, value string)) (map[string]string, error) {
	usual := map[string]string{}
	for _, of := range []string{"all", "default"} {
		of = filepath.Join(dir, of)
		at, err := unix.Openat(root, of, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("settings in %s: %w", of, err)
		}
		err = readAll(at, settings, func(name, value string) {
			tell(filepath.Join(of, name), value)
			usual[name] = value
		})
		unix.Close(at)
		if err != nil {
			return nil, fmt.Errorf("in %s: %w", of, err)
		}
	}
	return usual, nil
}

func readAll(dir int, settings []setting, tell func(name, value string)) error {
	for _, s := range settings {
		value, there, err := readSetting(dir, s.name)
		if err != nil {
			return err
		}
		if there {
			tell(s.name, value)
		}
	}
	return nil
}

// readSetting reads one that not every kernel has.
func readSetting(root int, name string) (value string, there bool, err error) {
	value, err = readAt(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("setting %s: %w", name, err)
	}
	return value, true, nil
}

func (ns *netns) linkSettings(l *link, dir string, settings []setting, conf []byte, usual map[string]string) {
	for _, s := range settings {
		at := 4 * s.at
		want, known := usual[s.name]
		if !known || at+4 > len(conf) {
			continue
		}
		value := strconv.Itoa(int(int32(native32(conf, at))))
		if value == want || followsFromKind(l, s.name, value) {
			continue
		}
		ns.facts = append(ns.facts, fact{
			Item:   Item{Kind: "sysctl", Where: ns.name, Name: filepath.Join("net", dir, l.name, s.name), Value: value},
			native: l.name == "lo",
		})
	}
}

// followsFromKind is true for what the kernel sets for links of some kinds.
func followsFromKind(l *link, name, value string) bool {
	switch name {
	case "disable_xfrm", "disable_policy":
		return l.flags&unix.IFF_LOOPBACK != 0 && value == "1"
	case "use_tempaddr", "accept_dad":
		return value == "-1"
	case "addr_gen_mode":
		return l.flags&(unix.IFF_NOARP|unix.IFF_POINTOPOINT) != 0
	}
	return false
}

// conf4 and conf6 are the settings as the kernel tells them with a link.
func conf4(l *link) ([]byte, error) { return conf(l, unix.AF_INET, unix.IFLA_INET_CONF) }
func conf6(l *link) ([]byte, error) { return conf(l, unix.AF_INET6, unix.IFLA_INET6_CONF) }

func conf(l *link, family, kind uint16) ([]byte, error) {
	families, err := tableOf(l.attrs[unix.IFLA_AF_SPEC])
	if err != nil {
		return nil, err
	}
	t, err := tableOf(families[family])
	if err != nil {
		return nil, err
	}
	return t[kind], nil
}

package oracle

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// route is one of any table.
type route struct {
	rtmsg []byte
	attrs table
	dst   netip.Prefix
	dev   *link // nil without one, or with several
}

func (r route) family() byte { return r.rtmsg[0] }
func (r route) proto() byte  { return r.rtmsg[5] }
func (r route) scope() byte  { return r.rtmsg[6] }
func (r route) kind() byte   { return r.rtmsg[7] }

// routing tells addresses, routes, nexthops and rules.
func (ns *netns) routing() error {
	addresses, err := ns.listAddresses()
	if err != nil {
		return err
	}
	var routes []route
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		some, err := ns.listRoutes(family)
		if err != nil {
			return err
		}
		routes = append(routes, some...)
	}
	ns.tellAddresses(addresses, func(l *link, p netip.Prefix) bool {
		return slices.ContainsFunc(routes, func(r route) bool { return r.ofKernel() && r.dev == l && r.dst == p })
	})
	for _, r := range routes {
		if r.ofKernel() && followsFrom(r, addresses) {
			continue
		}
		if err := ns.tellRoute(r); err != nil {
			return fmt.Errorf("routes: %w", err)
		}
	}
	if err := ns.nexthops(); err != nil {
		return err
	}
	return ns.rules()
}

func (ns *netns) listRoutes(family byte) ([]route, error) {
	body := make([]byte, unix.SizeofRtMsg)
	body[0] = family
	answer, err := ns.conn.dump(unix.RTM_GETROUTE, body)
	if err != nil {
		return nil, fmt.Errorf("routes: %w", err)
	}
	var all []route
	for _, m := range answer {
		head, t, err := headed(m.data, unix.SizeofRtMsg)
		if err != nil {
			return nil, fmt.Errorf("routes: %w", err)
		}
		if native32(head, 8)&unix.RTM_F_CLONED != 0 {
			continue
		}
		r := route{rtmsg: head, attrs: t}
		dst := t.ip(unix.RTA_DST)
		if !dst.IsValid() {
			dst = netip.IPv4Unspecified()
			if family == unix.AF_INET6 {
				dst = netip.IPv6Unspecified()
			}
		}
		r.dst = netip.PrefixFrom(dst, int(head[1]))
		if t.has(unix.RTA_OIF) {
			if r.dev = ns.byIdx[t.index(unix.RTA_OIF)]; r.dev == nil {
				return nil, errMoved
			}
		}
		all = append(all, r)
	}
	return all, nil
}

func (r route) ofKernel() bool { return r.proto() == unix.RTPROT_KERNEL }

// followsFrom is true for a route that the kernel makes for an address of the
// link, or for every link that is up.
func followsFrom(r route, addresses []ipAddress) bool {
	switch r.kind() {
	case unix.RTN_LOCAL, unix.RTN_BROADCAST, unix.RTN_ANYCAST, unix.RTN_MULTICAST:
		return true
	case unix.RTN_UNICAST:
	default:
		return false
	}
	if r.attrs.has(unix.RTA_GATEWAY) || r.attrs.has(unix.RTA_VIA) {
		return false
	}
	if s := r.dst.String(); s == linkLocalFromMAC || s == "ff00::/8" {
		return true
	}
	return slices.ContainsFunc(addresses, func(a ipAddress) bool {
		own := a.local.Addr().Is6() && r.dst == netip.PrefixFrom(a.local.Addr(), 128)
		return a.link == r.dev && (a.other.Masked() == r.dst || own)
	})
}

func (ns *netns) tellRoute(r route) error {
	tab := uint32(r.rtmsg[4])
	if r.attrs.has(unix.RTA_TABLE) {
		tab = r.attrs.u32(unix.RTA_TABLE)
	}
	name := []string{r.dst.String()}
	if r.dst.Bits() == 0 {
		name = []string{"default"}
		if r.family() == unix.AF_INET6 {
			name = []string{"default6"}
		}
	}
	if r.kind() != unix.RTN_UNICAST {
		name = slices.Insert(name, 0, routeType(r.kind()))
	}
	if src := r.attrs.ip(unix.RTA_SRC); src.IsValid() {
		name = append(name, fmt.Sprintf("from %s/%d", src, r.rtmsg[2]))
	}
	name = append(name, schema{unix.RTA_OIF: dev("dev"), unix.RTA_PRIORITY: num("metric")}.renderKnown(ns, r.attrs)...)
	if tos := r.rtmsg[3]; tos != 0 {
		name = append(name, fmt.Sprintf("tos=%#x", tos))
	}
	if tab != unix.RT_TABLE_MAIN {
		name = append(name, "table="+tableName(tab))
	}
	value, err := ns.routeValue(r)
	if err != nil {
		return err
	}
	ns.tell("route", strings.Join(name, " "), strings.Join(value, " "))
	return nil
}

func (ns *netns) routeValue(r route) ([]string, error) {
	value := schema{
		unix.RTA_GATEWAY: ip("via"), unix.RTA_VIA: {name: "via", show: plain(viaAddress)}, unix.RTA_PREFSRC: ip("src"),
		unix.RTA_IIF: dev("iif"), unix.RTA_MARK: num("mark"), unix.RTA_NEWDST: {name: "as", show: plain(hex.EncodeToString)},
		unix.RTA_PREF: num("pref"), unix.RTA_ENCAP_TYPE: {name: "encap", show: plain(encapName)},
		unix.RTA_ENCAP: {name: "encapdata", show: plain(hex.EncodeToString)}, unix.RTA_FLOW: num("flow"),
		unix.RTA_TTL_PROPAGATE: num("ttlpropagate"), 30: num("nexthop"), // RTA_NH_ID
	}.renderKnown(ns, r.attrs)
	value = append(value, "proto="+protoName(r.proto()))
	if r.scope() != unix.RT_SCOPE_UNIVERSE {
		value = append(value, "scope="+scopeName(r.scope()))
	}
	if native32(r.rtmsg, 8)&unix.RTNH_F_ONLINK != 0 {
		value = append(value, "onlink")
	}
	metrics, err := schema{2: num("mtu"), 8: num("advmss"), 10: num("hoplimit"), 12: num("features")}.render(ns, r.attrs[unix.RTA_METRICS])
	if err != nil {
		return nil, err
	}
	hops, err := ns.hops(r.attrs[unix.RTA_MULTIPATH])
	return slices.Concat(value, metrics, hops), err
}

// hops shows the several ways of a route.
func (ns *netns) hops(b []byte) ([]string, error) {
	var all []string
	for len(b) >= unix.SizeofRtNexthop {
		size := int(native16(b, 0))
		if size < unix.SizeofRtNexthop || size > len(b) {
			return nil, errors.New("a nexthop is cut short")
		}
		t, err := tableOf(b[unix.SizeofRtNexthop:size])
		if err != nil {
			return nil, err
		}
		parts := []string{"dev=" + ns.linkName(int32(native32(b, 4))), fmt.Sprintf("weight=%d", int(b[3])+1)}
		parts = append(parts, schema{
			unix.RTA_GATEWAY: ip("via"), unix.RTA_VIA: {name: "via", show: plain(viaAddress)},
			unix.RTA_ENCAP: {name: "encap", show: plain(hex.EncodeToString)},
		}.renderKnown(ns, t)...)
		all = append(all, "["+strings.Join(parts, " ")+"]")
		b = b[min(len(b), (size+3)&^3):]
	}
	slices.Sort(all)
	return all, nil
}

// viaAddress is a gateway of the other family: its number comes first.
func viaAddress(b []byte) string { return address(b[min(2, len(b)):]) }

func encapName(b []byte) string {
	if len(b) < 2 {
		return "?"
	}
	return named(int(native16(b, 0)), map[int]string{1: "mpls", 2: "ip", 3: "ila", 4: "ip6", 5: "seg6", 6: "bpf", 7: "seg6local", 8: "rpl", 9: "ioam6", 10: "xfrm"})
}

func routeType(k byte) string {
	return named(int(k), map[int]string{
		unix.RTN_LOCAL: "local", unix.RTN_BROADCAST: "broadcast", unix.RTN_ANYCAST: "anycast", unix.RTN_MULTICAST: "multicast",
		unix.RTN_BLACKHOLE: "blackhole", unix.RTN_UNREACHABLE: "unreachable", unix.RTN_PROHIBIT: "prohibit", unix.RTN_THROW: "throw", unix.RTN_NAT: "nat",
	})
}

func protoName(p byte) string {
	return named(int(p), map[int]string{
		unix.RTPROT_REDIRECT: "redirect", unix.RTPROT_KERNEL: "kernel", unix.RTPROT_BOOT: "boot", unix.RTPROT_STATIC: "static",
		unix.RTPROT_RA: "ra", unix.RTPROT_DHCP: "dhcp",
	})
}

func tableName(t uint32) string {
	return named(int(t), map[int]string{unix.RT_TABLE_MAIN: "main", unix.RT_TABLE_LOCAL: "local", unix.RT_TABLE_DEFAULT: "default"})
}

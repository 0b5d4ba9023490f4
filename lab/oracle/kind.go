package oracle

import (
	"encoding/hex"
	"strconv"
)

// kindParts is what the link's kind, and its master's, say of it.
func (l *link) kindParts(ns *netns) ([]string, error) {
	parts, err := kindSchema(l.kind).render(ns, l.data)
	if err != nil {
		return nil, err
	}
	port, err := portSchema(l.masterKind).render(ns, l.port)
	if err != nil {
		return nil, err
	}
	return append(parts, port...), nil
}

// kindSchema says what IFLA_INFO_DATA means for a kind.
func kindSchema(kind string) schema {
	switch kind {
	case "bridge":
		return bridgeSchema()
	case "vlan":
		return schema{1: num("id"), 2: {name: "flags", show: plain(firstWord), usual: "1"}, 5: {name: "protocol", show: plain(bigHex), usual: "0x8100"}}
	case "macvlan", "macvtap":
		return schema{1: {name: "mode", show: plain(macvlanMode)}, 2: num("flags"), 7: num("bcqueuelen").usually("1000")}.ignoring(8)
	case "ipvlan", "ipvtap":
		return schema{1: {name: "mode", show: plain(ipvlanMode)}, 2: num("flags")}
	case "vrf":
		return schema{1: num("table")}
	case "tun":
		return schema{1: num("owner"), 2: num("group"), 3: {name: "type", show: plain(tunType)}, 4: num("pi"), 5: num("vnethdr"), 6: num("persist"), 7: num("multiqueue"), 8: num("queues"), 9: num("disabledqueues")}
	case "vxlan":
		return schema{1: num("id"), 2: ip("group"), 3: dev("dev"), 4: ip("local"), 5: num("ttl"), 6: num("tos"), 7: num("learning"), 8: num("ageing"), 9: num("limit"), 10: {name: "ports", show: plain(hex.EncodeToString)}, 15: big("port"), 16: ip("group"), 17: ip("local")}
	case "geneve":
		return schema{1: num("id"), 2: ip("remote"), 3: num("ttl"), 4: num("tos"), 5: big("port"), 7: ip("remote")}
	case "ipip", "sit", "ip6tnl":
		return schema{1: dev("dev"), 2: ip("local"), 3: ip("remote"), 4: num("ttl"), 5: num("tos"), 10: num("pmtudisc")}
	case "gre", "gretap", "ip6gre", "ip6gretap", "erspan":
		return schema{1: dev("dev"), 6: ip("local"), 7: ip("remote"), 8: num("ttl"), 9: num("tos"), 10: num("pmtudisc")}
	case "vti", "vti6":
		return schema{1: dev("dev"), 4: ip("local"), 5: ip("remote")}
	case "xfrm":
		return schema{1: dev("dev"), 2: num("id")}
	}
	return schema{}
}

func bridgeSchema() schema {
	return schema{
		5: num("stp"), 6: num("priority").usually("32768"), 7: num("vlanfiltering"),
		8: {name: "vlanprotocol", show: plain(bigHex), usual: "0x8100"}, 9: num("groupfwdmask"),
		1: num("forwarddelay").usually("1500"), 2: num("hellotime").usually("200"), 3: num("maxage").usually("2000"),
		4: num("ageing").usually("30000"), 20: {name: "groupaddress", show: plain(mac), usual: "01:80:c2:00:00:00"},
		22: num("mcastrouter").usually("1"), 23: num("mcastsnooping").usually("1"), 24: num("mcastqueryuseifaddr"),
		25: num("mcastquerier"), 36: num("nfiptables"), 37: num("nfip6tables"), 38: num("nfarptables"),
		39: num("defaultpvid").usually("1"), 41: num("vlanstats"), 43: num("igmpversion").usually("2"),
		44: num("mldversion").usually("1"), 42: num("mcaststats"), 45: num("vlanstatsperport"), 49: num("maxlearned"),
		// How multicast is asked for, in hundredths of a second.
		26: num("mcasthashelasticity").usually("16"), 27: num("mcasthashmax").usually("4096"),
		28: num("mcastlastmembercount").usually("2"), 29: num("mcaststartupcount").usually("2"),
		30: num("mcastlastmember").usually("100"), 31: num("mcastmembership").usually("26000"),
		32: num("mcastquerierinterval").usually("25500"), 33: num("mcastquery").usually("12500"),
		34: num("mcastresponse").usually("1000"),
		// 10 to 15: the spanning tree's state; 16 to 19: timers; 35: a time that
		// the kernel rounds; 46 to 48: options that it lists, who asks, how many
		// are learned.
	}.ignoring(10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 35, 46, 47, 48)
}

// portSchema says what IFLA_INFO_SLAVE_DATA means for a master's kind.
func portSchema(kind string) schema {
	switch kind {
	case "bridge":
		return schema{
			2: num("portpriority").usually("32"), 3: num("cost").usually("2"), 4: num("hairpin"), 5: num("guard"),
			6: num("rootblock"), 7: num("fastleave"), 8: num("learning").usually("1"), 9: num("flood").usually("1"),
			10: num("proxyarp"), 11: num("learningsync"), 12: num("proxyarpwifi"), 25: num("portmcastrouter").usually("1"),
			27: num("mcastflood").usually("1"), 28: num("mcasttounicast"), 29: num("vlantunnel"),
			30: num("bcastflood").usually("1"), 31: num("portgroupfwdmask"), 32: num("neighsuppress"),
			33: num("isolated"), 34: dev("backup"), 37: num("ehthosts").usually("512"), 39: num("locked"), 40: num("mab"),
			42: num("mcastmaxgroups"), 43: num("neighvlansuppress"),
			// The spanning tree's state, timers and counts.
		}.ignoring(1, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 35, 36, 38, 41)
	case "vrf":
		return schema{1: num("vrftable")}
	}
	return schema{}
}

func firstWord(b []byte) string { return number(b[:min(4, len(b))]) }

func bigHex(b []byte) string { return "0x" + hex.EncodeToString(b) }

func macvlanMode(b []byte) string {
	return named(int(u32(b)), map[int]string{1: "private", 2: "vepa", 4: "bridge", 8: "passthru", 16: "source"})
}

func ipvlanMode(b []byte) string {
	if len(b) < 2 {
		return "?"
	}
	return []string{"l2", "l3", "l3s"}[min(2, int(native16(b, 0)))]
}

func tunType(b []byte) string {
	if len(b) < 1 {
		return "?"
	}
	return named(int(b[0]), map[int]string{1: "tun", 2: "tap"})
}

// named is a number's name, or the number.
func named(n int, names map[int]string) string {
	if s, ok := names[n]; ok {
		return s
	}
	return strconv.Itoa(n)
}

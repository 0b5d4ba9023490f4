package resource

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// TestCase31ForwardingOfALink: what is so for all is not so for a new link.
func TestCase31ForwardingOfALink(t *testing.T) {
	t.Parallel()
	for family, ipv6 := range map[string]bool{"ipv4": false, "ipv6": true} {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t)
			made(t, env, Forwarding(ipv6)...)
			noError(t, env.Host.SetSysctl("net/"+family+"/conf/default/forwarding", "0"))
			withVeth(t, env)
			link := testVeth().Host
			list := Forwarding(ipv6, link)
			wantState(t, env, list[0], engine.IsPresent)
			wantState(t, env, list[1], engine.IsDrifted)
			made(t, env, list...)
			wantState(t, env, journaled(t, list[1]), engine.IsPresent)
			name := "net/" + family + "/conf/" + link + "/forwarding"
			if v, _, err := env.Host.Sysctl(name); v != "1" || err != nil {
				t.Errorf("%s is %q, %v", name, v, err)
			}
			noError(t, env.Host.SetSysctl(name, "0"))
			if state := observe(t, env, list[1]); state.Is != engine.IsDrifted || !strings.Contains(state.Detail, name) {
				t.Errorf("switched off since: %+v", state)
			}
		})
	}
}

// node is a host with uplinks of several sorts, each with a default route that a
// router told of.
func node(t *testing.T, env Env, uplinks map[string]string) {
	t.Helper()
	for name, accept := range uplinks {
		noError(t, env.Host.AddLink(kernel.LinkSpec{Name: name, Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: name + "x"}}, Up: true}))
		noError(t, env.Host.SetSysctl(ipv6Parameter(name, "accept_ra"), accept))
		noError(t, env.Host.SetSysctl(ipv6Parameter(name, "disable_ipv6"), "0"))
		link, _, err := env.Host.Link(name)
		noError(t, err)
		noError(t, env.Host.AddRouteBeside(kernel.Route{
			Dst: netip.MustParsePrefix("::/0"), Gateway: netip.MustParseAddr("fe80::1"), OnLink: true, Link: link.Index, Protocol: unix.RTPROT_RA,
		}))
	}
}

// TestCase31ForwardingKeepsAdvertisedRoutes: links that heed routers go on doing
// so; of others nothing is changed.
func TestCase31ForwardingKeepsAdvertisedRoutes(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	node(t, env, map[string]string{"kernel": "1", "userland": "0", "both": "2"})
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "quiet", Kind: kernel.IFBKind{}}))
	noError(t, env.Host.AddLink(kernel.LinkSpec{Name: "autoconf", Kind: kernel.IFBKind{}, Up: true}))
	link, _, err := env.Host.Link("autoconf")
	noError(t, err)
	noError(t, env.Host.AddAddress(kernel.Address{Link: link.Index, Prefix: netip.MustParsePrefix("2001:db8::5/64"), ValidLft: 3600, NoDAD: true}))

	var said []string
	asked := env
	asked.Warn = func(text string) { said = append(said, text) }
	noError(t, Forwarding(true)[0].(Readier).Ready(context.Background(), asked))
	if text := strings.Join(said, "\n"); !strings.Contains(text, "kernel") || !strings.Contains(text, "autoconf") || strings.Contains(text, "userland") {
		t.Errorf("STATUS says %q", text)
	}
	want := map[string]string{"kernel": "2", "userland": "0", "both": "2", "quiet": "1", "autoconf": "2"}
	made(t, env, Forwarding(true, "lo")...)
	for name, accept := range want {
		if v, _, err := env.Host.Sysctl(ipv6Parameter(name, "accept_ra")); v != accept || err != nil {
			t.Errorf("accept_ra of %s is %q, %v, want %s", name, v, err, accept)
		}
	}
	// It forwards already: what was decided since is left alone.
	noError(t, env.Host.SetSysctl(ipv6Parameter("kernel", "accept_ra"), "1"))
	made(t, env, Forwarding(true, "lo")...)
	if v, _, err := env.Host.Sysctl(ipv6Parameter("kernel", "accept_ra")); v != "1" || err != nil {
		t.Errorf("accept_ra was set anew: %q, %v", v, err)
	}
}

// TestForwardingEveryCallFails: nothing is forwarded before routes are safe.
func TestForwardingEveryCallFails(t *testing.T) {
	t.Parallel()
	for n, fired := 1, true; fired; n++ {
		env := newEnv(t)
		node(t, env, map[string]string{"kernel": "1"})
		faulty, has := failing(env, n, false, unix.ENOBUFS)
		f := Forwarding(true)[0]
		err := f.Create(context.Background(), faulty)
		if fired = has(); fired && !errors.Is(err, unix.ENOBUFS) {
			t.Errorf("call %d failed, and Create says %v", n, err)
		}
		on := observe(t, env, f).Is == engine.IsPresent
		accept, _, err := env.Host.Sysctl(ipv6Parameter("kernel", "accept_ra"))
		noError(t, err)
		if on && accept != "2" {
			t.Errorf("after call %d had failed, the host forwards, and accept_ra is %s", n, accept)
		}
	}
}

// TestCase31RouterAdvertisedRouteStays: the kernel drops what a router told it
// when it becomes a router itself, and hears no more of it.
func TestCase31RouterAdvertisedRouteStays(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	for _, ns := range []*kernel.Namespace{env.Host, env.Container} {
		noError(t, ns.SetSysctl("net/ipv6/conf/default/accept_dad", "0"))
		noError(t, ns.SetSysctl("net/ipv6/conf/default/disable_ipv6", "0"))
	}
	noError(t, env.Host.AddLink(kernel.LinkSpec{
		Name: "uplink", Up: true, Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: "router", Netns: env.Container}},
	}))
	router, _, err := env.Container.Link("router")
	noError(t, err)
	yes := true
	noError(t, env.Container.SetLink(router.Index, kernel.LinkChange{Up: &yes}))
	advertise(t, env, router.Index)
	made(t, env, Forwarding(true, "lo")...)
	if !defaultByRA(t, env) {
		t.Error("forwarding took the default route away")
	}
	// It is learnt again, too.
	routes, err := env.Host.DefaultRoutes(unix.AF_INET6)
	noError(t, err)
	for _, r := range routes {
		_, err := env.Host.DelRoute(r)
		noError(t, err)
	}
	advertise(t, env, router.Index)
}

// advertise sends router advertisements until the host has a default route.
func advertise(t *testing.T, env Env, index int) {
	t.Helper()
	var fd int
	noError(t, env.Container.Do(func() (err error) {
		fd, err = unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMPV6)
		return err
	}))
	defer unix.Close(fd)
	noError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, 255))
	noError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, index))
	// RFC 4861, section 4.2: for half an hour.
	packet := make([]byte, 16)
	packet[0], packet[4], packet[6], packet[7] = 134, 64, 1800>>8, 1800&0xff
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for !defaultByRA(t, env) {
		if ctx.Err() != nil {
			t.Fatal("the host takes no default route from a router")
		}
		err := unix.Sendto(fd, packet, 0, &unix.SockaddrInet6{Addr: netip.MustParseAddr("ff02::1").As16(), ZoneId: uint32(index)})
		if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) { // no address yet
			t.Fatal(err)
		}
	}
}

func defaultByRA(t *testing.T, env Env) bool {
	t.Helper()
	routes, err := env.Host.DefaultRoutes(unix.AF_INET6)
	noError(t, err)
	return slices.ContainsFunc(routes, func(r kernel.Route) bool { return r.Protocol == unix.RTPROT_RA })
}

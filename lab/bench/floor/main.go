package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// command is one thing that floor can do; usage names its arguments, all of
// them needed.
type command struct {
	usage string
	run   func(args []string) error
}

func commands() map[string]command {
	return map[string]command{
		"bridge-add":      {"BRIDGE HOSTIF NETNS IFNAME ADDRESS/BITS GATEWAY", bridgeAdd},
		"bridge-del":      {"HOSTIF", linkDel},
		"bridge-masq-add": {"BRIDGE HOSTIF NETNS IFNAME ADDRESS/BITS GATEWAY TABLE SET", masqueradeToo(bridgeAdd, 4)},
		"bridge-masq-del": {"HOSTIF ADDRESS/BITS TABLE SET", masqueradeNoMore},
		"ptp-add":         {"HOSTIF NETNS IFNAME ADDRESS/BITS GATEWAY", ptpAdd},
		"ptp-del":         {"HOSTIF", linkDel},
		"ptp-masq-add":    {"HOSTIF NETNS IFNAME ADDRESS/BITS GATEWAY TABLE SET", masqueradeToo(ptpAdd, 3)},
		"ptp-masq-del":    {"HOSTIF ADDRESS/BITS TABLE SET", masqueradeNoMore},
		"child-add":       {"KIND MASTER NETNS IFNAME ADDRESS/BITS GATEWAY", childAdd},
		"child-del":       {"NETNS IFNAME", childDel},
		"loopback-add":    {"NETNS", func(args []string) error { return loopback(args[0], true) }},
		"loopback-del":    {"NETNS", func(args []string) error { return loopback(args[0], false) }},
		"lease-add":       {"FILE CONTAINERID IFNAME", leaseAdd},
		"lease-del":       {"FILE", leaseDel},
	}
}

func main() {
	// Namespaces are a thread's own: all of it happens on this one.
	runtime.LockOSThread()
	start := time.Now()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
	os.Stdout.WriteString(strconv.FormatInt(time.Since(start).Nanoseconds(), 10))
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("which command?")
	}
	c, ok := commands()[args[0]]
	if !ok {
		return fmt.Errorf("no command %q", args[0])
	}
	if len(args[1:]) != len(strings.Fields(c.usage)) {
		return fmt.Errorf("%s %s", args[0], c.usage)
	}
	return c.run(args[1:])
}

// masqueradeToo is the entry in the set of masqueraded addresses followed by
// add, which leaves the thread in the container's namespace. The address is add's argument number at; table and set come last.
func masqueradeToo(add func([]string) error, at int) func([]string) error {
	return func(args []string) error {
		p, err := netip.ParsePrefix(args[at])
		if err != nil {
			return err
		}
		if err := setElement(p.Addr(), args[len(args)-2], args[len(args)-1], true); err != nil {
			return err
		}
		return add(args[:len(args)-2])
	}
}

// masqueradeNoMore takes the link and the set's entry away.
func masqueradeNoMore(args []string) error {
	p, err := netip.ParsePrefix(args[1])
	if err != nil {
		return err
	}
	if err := setElement(p.Addr(), args[2], args[3], false); err != nil {
		return err
	}
	return linkDel(args[:1])
}

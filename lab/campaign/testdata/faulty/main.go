// Faulty is a plugin for tests of the lab. It makes a pair of links, one end of
// which is the container's, and keeps a record. In one manner it is sound; in each
// of the others it has one fault of a sort that plugins have.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"

	"github.com/fairlead-net/fairlead/kernel"
)

type config struct {
	CNIVersion string `json:"cniVersion"`
	// Manner is sound; or
	//
	//	leak: a link that can't be looked up is taken for none
	//	damage: then another one is taken away
	//	forget: nobody removes the temporary file
	//	lie: a link that can't be set up is no error
	//	moody: later calls are not as the first ones
	//	blind: a namespace that can't be opened is taken for gone, and its link too
	//	careless: a record that can't be read is taken for none
	//	by name, by alias: a link that has another one is none of ours
	//	eager: forwarding is turned on also when it is on
	//	hoarder: DEL makes a file
	//	lender: the lease is freed before the link is looked for
	//	steady: the container's end is never set up, and a file stays
	Manner string `json:"manner"`
	Calls  string `json:"calls"` // a file that counts them
	Valid  []struct {
		ContainerID string `json:"containerID"`
	} `json:"cni.dev/valid-attachments"`
}

const (
	link    = "faulty0"
	index   = 4711 // of the link: nobody else has it
	alias   = "faulty/net"
	state   = "/run/faulty"
	scratch = "/run/faulty.tmp"
	another = "eth0"
	forward = "/proc/sys/net/ipv4/ip_forward"
	address = "10.9.9.2"
	lease   = "/var/lib/" + address
)

// record is what is kept of the container.
type record struct{ Container, Netns string }

func main() {
	var c config
	err := json.NewDecoder(os.Stdin).Decode(&c)
	if err == nil {
		err = c.call(os.Getenv("CNI_COMMAND"))
	}
	if err != nil {
		answer := map[string]any{"cniVersion": c.CNIVersion, "code": 100, "msg": err.Error()}
		_ = json.NewEncoder(os.Stdout).Encode(answer)
		os.Exit(1)
	}
}

func (c config) call(verb string) error {
	host, err := kernel.Host()
	if err != nil {
		return err
	}
	switch verb {
	case "ADD":
		if err := c.add(host); err != nil {
			return err
		}
		_, err = fmt.Printf(`{"cniVersion": %q}`, c.CNIVersion)
		return err
	case "DEL":
		return c.del(host)
	case "CHECK":
		return check(host)
	case "GC":
		return c.gc(host)
	}
	return fmt.Errorf("no verb %q", verb)
}

func (c config) add(host *kernel.Namespace) error {
	if c.Manner == "moody" {
		if err := c.mood(); err != nil {
			return err
		}
	}
	if c.Manner == "sound" || c.Manner == "eager" {
		if err := c.turnOn(); err != nil {
			return err
		}
	}
	mine := record{os.Getenv("CNI_CONTAINERID"), os.Getenv("CNI_NETNS")}
	if r, there, err := read(); err != nil || there && r.Container != mine.Container {
		return errors.Join(err, errors.New("there is a container already"))
	}
	inner, absence, err := kernel.Open(mine.Netns)
	if err == nil && absence != "" {
		err = errors.New(string(absence))
	}
	if err != nil {
		return err
	}
	if err := c.write(mine); err != nil {
		return err
	}
	err = host.AddLink(kernel.LinkSpec{
		Name: link, Index: index,
		Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: os.Getenv("CNI_IFNAME"), Netns: inner}},
	})
	if err != nil && !kernel.Exists(err) {
		return err
	}
	up, mark := true, alias
	err = host.SetLink(index, kernel.LinkChange{Up: &up, Alias: &mark})
	if c.Manner == "lie" {
		return nil
	}
	if err != nil || c.Manner == "steady" {
		return err
	}
	return c.furnish(inner)
}

// furnish sets the container's end up, with its address.
func (c config) furnish(inner *kernel.Namespace) error {
	l, there, err := inner.Link(os.Getenv("CNI_IFNAME"))
	if err == nil && !there {
		err = errors.New("the container's end is not there")
	}
	if err != nil {
		return err
	}
	up := true
	if err := inner.SetLink(l.Index, kernel.LinkChange{Up: &up}); err != nil {
		return err
	}
	if c.Manner != "lender" && c.Manner != "sound" {
		return nil
	}
	prefix := netip.MustParsePrefix(address + "/24")
	if err := inner.AddAddress(kernel.Address{Link: l.Index, Prefix: prefix}); err != nil && !kernel.Exists(err) {
		return err
	}
	return os.WriteFile(lease, nil, 0o600)
}

func (c config) write(r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(scratch, b, 0o600); err != nil {
		return err
	}
	return os.Rename(scratch, state)
}

func read() (r record, there bool, err error) {
	b, err := os.ReadFile(state)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	return r, true, json.Unmarshal(b, &r)
}

// turnOn turns forwarding on.
func (c config) turnOn() error {
	b, err := os.ReadFile(forward)
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(b)) == "1" && c.Manner != "eager" {
		return nil
	}
	return os.WriteFile(forward, []byte("1"), 0)
}

// mood makes a directory, but only in the first calls.
func (c config) mood() error {
	b, err := os.ReadFile(c.Calls)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(b) < 4 {
		if err := os.MkdirAll("/run/.faulty", 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(c.Calls, append(b, 'x'), 0o600)
}

func (c config) del(host *kernel.Namespace) error {
	if c.Manner == "hoarder" {
		if err := os.WriteFile(scratch+".lock", nil, 0o600); err != nil {
			return err
		}
		defer func() { _ = os.Remove(scratch + ".lock") }()
	}
	_, there, err := read()
	switch {
	case err != nil && c.Manner == "careless", err == nil && !there && (c.Manner == "leak" || c.Manner == "damage"):
		return remove(scratch)
	case err != nil:
		return err
	}
	if c.Manner == "lender" {
		if err := remove(lease); err != nil {
			return err
		}
	}
	_, absence, err := kernel.Open(os.Getenv("CNI_NETNS"))
	switch {
	case c.Manner == "blind" && (err != nil || absence != ""):
	case err != nil:
		return err
	default:
		if err := c.unlink(host); err != nil {
			return err
		}
	}
	return c.clean()
}

// unlink removes the link.
func (c config) unlink(host *kernel.Namespace) error {
	find := func() (kernel.Link, bool, error) { return host.LinkByIndex(index) }
	if c.Manner == "by name" {
		find = func() (kernel.Link, bool, error) { return host.Link(link) }
	}
	l, there, err := find()
	switch {
	case err == nil:
	case c.Manner == "leak":
		there = false
	case c.Manner == "damage":
		if l, there, err = host.Link(another); err != nil {
			return err
		}
	default:
		return err
	}
	if c.Manner == "lender" && there && l.Name != link {
		return errors.New("the link has another name")
	}
	if !there || c.Manner == "by alias" && l.Alias != alias {
		return nil
	}
	_, err = host.DelLink(l.Index)
	return err
}

// clean removes what is kept in files.
func (c config) clean() error {
	all := []string{scratch, lease, state}
	switch c.Manner {
	case "moody":
		all = append(all, "/run/.faulty")
	case "forget":
		all = all[1:]
	case "steady":
		all = all[:2]
	}
	for _, path := range all {
		if err := remove(path); err != nil {
			return err
		}
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func check(host *kernel.Namespace) error {
	l, there, err := host.LinkByIndex(index)
	if err == nil && (!there || !l.Up) {
		err = errors.New(link + " is not there, or down")
	}
	if err != nil {
		return err
	}
	_, err = os.Stat(state)
	return err
}

// gc takes away what is left of a container that is not valid, and gone. A path
// without a namespace is not enough for that: while there is the link, there is
// its other end.
func (c config) gc(host *kernel.Namespace) error {
	r, there, err := read()
	if err != nil || !there {
		return err
	}
	for _, v := range c.Valid {
		if v.ContainerID == r.Container {
			return nil
		}
	}
	_, absence, err := kernel.Open(r.Netns)
	if err != nil || absence == "" {
		return err
	}
	if _, there, err = host.LinkByIndex(index); err != nil || there && c.Manner != "blind" {
		return err
	}
	if err := c.unlink(host); err != nil {
		return err
	}
	return c.clean()
}

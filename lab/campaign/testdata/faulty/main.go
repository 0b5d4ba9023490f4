// Faulty is a plugin for tests of the lab. It makes a link on the host and keeps
// a file. In one manner it is sound; in each of the others it has one fault of a
// sort that plugins have.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/fairlead-net/fairlead/kernel"
)

type config struct {
	CNIVersion string `json:"cniVersion"`
	// Manner is sound; or leak: a link that can't be looked up is taken for
	// none; damage: then another one is taken away; forget: nobody removes the
	// temporary file; lie: a link that can't be set up is no error; moody: later
	// calls are not as the first ones.
	Manner string `json:"manner"`
	Calls  string `json:"calls"` // a file that counts them
}

const (
	link    = "faulty0"
	peer    = "faulty1"
	state   = "/run/faulty"
	scratch = "/run/faulty.tmp"
	another = "eth0"
)

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
	}
	return fmt.Errorf("no verb %q", verb)
}

func (c config) add(host *kernel.Namespace) error {
	if c.Manner == "moody" {
		if err := c.mood(); err != nil {
			return err
		}
	}
	if err := os.WriteFile(scratch, []byte("made\n"), 0o600); err != nil {
		return err
	}
	if err := os.Rename(scratch, state); err != nil {
		return err
	}
	err := host.AddLink(kernel.LinkSpec{Name: link, Kind: kernel.VethKind{Peer: kernel.LinkSpec{Name: peer}}})
	if err != nil && !kernel.Exists(err) {
		return err
	}
	l, there, err := host.Link(link)
	if err == nil && !there {
		err = errors.New(link + " is not there")
	}
	if err != nil {
		return err
	}
	up := true
	err = host.SetLink(l.Index, kernel.LinkChange{Up: &up})
	if c.Manner == "lie" {
		return nil
	}
	return err
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
	if c.Manner == "leak" || c.Manner == "damage" {
		if _, err := os.Stat(state); err != nil {
			return remove(scratch)
		}
	}
	name := link
	l, there, err := host.Link(name)
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
	if there {
		if _, err := host.DelLink(l.Index); err != nil {
			return err
		}
	}
	if c.Manner == "moody" {
		if err := remove("/run/.faulty"); err != nil {
			return err
		}
	}
	if c.Manner != "forget" {
		if err := remove(scratch); err != nil {
			return err
		}
	}
	return remove(state)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func check(host *kernel.Namespace) error {
	l, there, err := host.Link(link)
	if err == nil && (!there || !l.Up) {
		err = errors.New(link + " is not there, or down")
	}
	if err != nil {
		return err
	}
	_, err = os.Stat(state)
	return err
}

package campaign

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/lab/inject"
)

// A target is what a call is about, if someone else could take it away: a link,
// or a file that is about to be removed.
type target struct {
	ns   *kernel.Namespace
	link kernel.Link
	path string
}

func (t target) there() bool { return t.ns != nil || t.path != "" }

// target finds what an event is about. Nothing is found for what is not there,
// and for what belongs to the machine and not to the network.
func (n *node) target(e inject.Event) target {
	if sortOf(e) == sortUnlink {
		if n.really(e, sortUnlink) != sortUnlink {
			return target{}
		}
		return target{path: e.Path}
	}
	ns := n.spaces[e.Netns]
	if e.Kind != inject.KindNetlink || e.Receive || e.Protocol != unix.NETLINK_ROUTE || ns == nil {
		return target{}
	}
	for _, m := range e.Netlink {
		index, name := linkOf(m)
		l, ok, err := kernel.Link{}, false, error(nil)
		switch {
		case index > 0:
			l, ok, err = ns.LinkByIndex(index)
		case name != "":
			l, ok, err = ns.Link(name)
		}
		if err == nil && ok && !l.Loopback && !n.furnished(ns, l) {
			return target{ns: ns, link: l}
		}
	}
	return target{}
}

// really is what an event does with the files that are there: nothing, if it
// makes a directory that exists, or removes what does not exist or is of
// another kind. An open that would create opens, if the file is there.
func (n *node) really(e inject.Event, s sort) sort {
	switch s {
	case sortCreate, sortUnlink, sortPlace:
	default:
		return s
	}
	var info fs.FileInfo
	var entries []fs.DirEntry
	var err error
	n.Do(func() {
		if info, err = os.Lstat(e.Path); err == nil && info.IsDir() {
			entries, err = os.ReadDir(e.Path)
		}
	})
	there := err == nil
	switch {
	case s == sortCreate && there && e.Flags&unix.O_EXCL == 0:
		return sortOpen
	case s == sortPlace && (e.Call == "mkdir" || e.Call == "mkdirat") && there:
		return sortFutile
	case s == sortUnlink && (!there || info.IsDir() != removesDir(e) || len(entries) > 0):
		return sortFutile
	}
	return s
}

func removesDir(e inject.Event) bool {
	return e.Call == "rmdir" || e.Flags&unix.AT_REMOVEDIR != 0
}

// furnished tells whether a link was there before the network: on the host, or
// moved from there.
func (n *node) furnished(ns *kernel.Namespace, l kernel.Link) bool {
	if _, ok := n.born[l.Index]; ok && ns.Path() == n.NetnsPath() {
		return true
	}
	for _, was := range n.born {
		if was.Kind == l.Kind && len(was.MAC) > 0 && bytes.Equal(was.MAC, l.MAC) {
			return true
		}
	}
	return false
}

// Where messages of rtnetlink have the interface they are about.
const (
	addrIndexAt  = 4 // struct ifaddrmsg
	neighIndexAt = 4 // struct ndmsg
)

// linkOf is the link that a message is about, by its index or name.
func linkOf(m inject.Message) (index int, name string) {
	at := func(offset int) int {
		if len(m.Body) < offset+4 {
			return 0
		}
		return int(int32(binary.NativeEndian.Uint32(m.Body[offset:])))
	}
	switch m.Type {
	case unix.RTM_NEWLINK, unix.RTM_SETLINK, unix.RTM_GETLINK, unix.RTM_DELLINK:
		attrs := m.Attributes(unix.SizeofIfInfomsg)
		return m.LinkIndex(), unix.ByteSliceToString(attrs[unix.IFLA_IFNAME])
	case unix.RTM_NEWADDR, unix.RTM_DELADDR, unix.RTM_GETADDR:
		return at(addrIndexAt), ""
	case unix.RTM_NEWNEIGH, unix.RTM_DELNEIGH, unix.RTM_GETNEIGH:
		return at(neighIndexAt), ""
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE, unix.RTM_GETROUTE:
		if oif := m.Attributes(unix.SizeofRtMsg)[unix.RTA_OIF]; len(oif) == 4 {
			return int(binary.NativeEndian.Uint32(oif)), ""
		}
	}
	return 0, ""
}

// takeAway takes a target away.
func (n *node) takeAway(t target) error {
	switch {
	case t.ns != nil:
		if _, err := t.ns.DelLink(t.link.Index); err != nil {
			return fmt.Errorf("take %s away: %w", t.link.Name, err)
		}
	case t.path != "":
		var err error
		n.Do(func() { err = os.Remove(t.path) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("take a file away: %w", err)
		}
	default:
		return errors.New("there is nothing to take away")
	}
	return nil
}

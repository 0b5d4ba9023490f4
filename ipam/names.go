package ipam

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"github.com/fairlead-net/fairlead/attachment"
)

const (
	lockName   = "lock"
	lastPrefix = "last_reserved_ip."
	lineBreak  = "\r\n"

	maxName      = 255  // NAME_MAX: a network's name is a folder's
	maxContainer = 1024 // keeps a lease within maxLease
	maxIfName    = 15   // IFNAMSIZ less the terminating zero

	// maxLease bounds what is read of a lease file, in bytes.
	maxLease = 4096
)

// checkNetwork refuses a name that is not a plain name of a folder: those that
// the CNI specification allows, which cannot begin with a dot.
func checkNetwork(name string) error {
	if !plainName(name) || len(name) > maxName {
		return fmt.Errorf("%q can't be used as a network's name", name)
	}
	return nil
}

// checkOwner refuses names that a lease file could not tell apart again.
func checkOwner(id attachment.ID) error {
	if !plainName(id.Container) || len(id.Container) > maxContainer {
		return fmt.Errorf("%q can't be used as a container's ID", id.Container)
	}
	if !validIfName(id.IfName) {
		return fmt.Errorf("%q can't be used as an interface's name", id.IfName)
	}
	return nil
}

// plainName: a letter or digit, then letters, digits, and "_.-".
func plainName(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '_' || c == '.' || c == '-'):
		default:
			return false
		}
	}
	return s != ""
}

func validIfName(s string) bool {
	if s == "" || s == "." || s == ".." || len(s) > maxIfName {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r == '/' || r == ':' || r == 0 || unicode.IsSpace(r)
	})
}

// leaseAddr reads the name of a lease file. ok is false for the other files of
// a network's folder.
func leaseAddr(name string) (addr netip.Addr, ok bool) {
	addr, err := parseAddr(name)
	return addr, err == nil
}

// A holder is what a lease file says.
type holder struct {
	container string
	// ifName is "" in leases of reference versions before 0.8.
	ifName string
	// blank: the file names nobody. Reserving writes into a file that is
	// there already in the reference, and a power cut leaves zeros.
	blank bool
}

// parseLease reads a lease file's content. ok is false for a content that
// names nobody whom we could know: it is somebody's all the same.
func parseLease(data []byte) (h holder, ok bool) {
	if len(bytes.Trim(data, "\x00 \t\r\n")) == 0 {
		return holder{blank: true}, true
	}
	if len(data) > maxLease {
		return holder{}, false
	}
	// The reference compares what is left after this trimming.
	container, ifName, two := strings.Cut(strings.TrimSpace(string(data)), lineBreak)
	if !plainName(container) || len(container) > maxContainer {
		return holder{}, false
	}
	if two && !validIfName(ifName) {
		return holder{}, false
	}
	return holder{container: container, ifName: ifName}, true
}

// leaseText is the content of a lease file.
func leaseText(id attachment.ID) []byte {
	return []byte(id.Container + lineBreak + id.IfName)
}

func (h holder) id(network string) attachment.ID {
	return attachment.ID{Network: network, Container: h.container, IfName: h.ifName}
}

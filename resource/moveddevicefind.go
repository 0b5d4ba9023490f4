package resource

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/kernel"
)

// hardware tells whether it is more than software: then it outlives its
// namespace, and it is known anywhere.
func (d *Device) hardware() bool { return d.Path != "" || d.Type == "" && d.PermMAC != "" }

// likeness is how far what is on record of a device agrees with a link.
type likeness int

const (
	another likeness = iota // it is another device, for sure
	doubted                 // some of it agrees, and some does not
	same                    // it is the device, for sure
)

// compare holds the record against a link that has one of the indices that the
// device had. Its place in the hardware is what must agree. A device of several
// interfaces has several burnt-in addresses, and a driver may give an interface
// another one (when a virtual function is reset); the index decides then, since
// the kernel does not use one again soon.
func (d *Device) compare(l kernel.Link, indices ...int) likeness {
	if !d.hardware() || l.Kind != d.Type || !d.mayBeAt(l) {
		return another
	}
	placed := d.Path != "" && l.ParentDev != ""
	known := d.PermMAC != "" && l.PermMAC != nil
	switch {
	case known && l.PermMAC.String() == d.PermMAC, placed && !known, placed && slices.Contains(indices, l.Index):
		return same
	case placed:
		return doubted
	}
	return another
}

// mayBeAt is false where the link is elsewhere in the hardware than the device.
func (d *Device) mayBeAt(l kernel.Link) bool {
	if d.Path == "" || l.ParentDev == "" {
		return true
	}
	path := sysfs("").device(l) // "" where that can't be read
	return l.ParentDev == filepath.Base(d.Path) && (path == "" || path == d.Path)
}

// inContainer gives the device in the container, with what is known of it; nil
// where it is not there. The index is proof that Create saw, since the kernel
// does not use one again soon, unless the hardware says otherwise. Without it
// hardware is known whatever its name is, other devices by the name together
// with the mark.
func (m *MovedDevice) inContainer(env Env) (*kernel.Link, *Device, error) {
	ns := env.Container
	if m.Was == nil {
		link, ok, err := ns.Link(m.Name)
		if err != nil || !ok || link.Name != m.Name {
			return nil, nil, err
		}
		home := homeOf(link)
		if home == "" {
			return nil, nil, nil
		}
		if claimed, err := env.claimed(m.Name); err != nil || claimed {
			return nil, nil, err
		}
		was := newDevice(link, "")
		// Whether it was up is not known: it stays down, as with the reference.
		was.Name, was.Alias, was.Up = home, "", false
		return &link, was, nil
	}
	if m.Index != 0 {
		link, ok, err := ns.LinkByIndex(m.Index)
		if err != nil {
			return nil, nil, err
		}
		if ok && link.Kind == m.Was.Type && m.Was.mayBeAt(link) {
			return &link, m.Was, nil
		}
	}
	link, err := m.among(ns, m.Name, m.Was.Name)
	return link, m.Was, err
}

// onHost gives the device on the host, if it is ours to care for; settled says
// that it is there, and at home or in another's care.
func (m *MovedDevice) onHost(ns *kernel.Namespace) (link *kernel.Link, was *Device, settled bool, err error) {
	if m.Was == nil {
		link, was, err = m.returned(ns)
		return link, was, false, err
	}
	link, err = m.among(ns, m.Was.Name, m.Name, m.spareName())
	if err != nil || link == nil {
		return nil, nil, false, err
	}
	fallback := "dev" + strconv.Itoa(link.Index) // the kernel's, where the container's name is taken
	if link.Alias == m.Was.Name || link.Name == m.Name && link.Name != m.Was.Name || link.Name == fallback {
		return link, m.Was, false, nil
	}
	return nil, nil, true, nil
}

// among looks under the names first, then, for hardware, at every link. One of
// which it can't be told whether it is the device is an error: errUnproven.
func (m *MovedDevice) among(ns *kernel.Namespace, names ...string) (*kernel.Link, error) {
	for _, name := range names {
		link, ok, err := ns.Link(name)
		if err != nil {
			return nil, err
		}
		if ok && (m.compare(link) == same || link.Name == name && m.marked(link)) {
			return &link, nil
		}
	}
	if !m.Was.hardware() {
		return nil, nil
	}
	all, err := ns.Links()
	if err != nil {
		return nil, err
	}
	var doubt error
	for _, link := range all {
		switch m.compare(link) {
		case same:
			return &link, nil
		case doubted:
			doubt = fmt.Errorf("interface %s (index %d) is of the same hardware as %s (%s), and has the permanent MAC address %s, not %s: %w",
				link.Name, link.Index, m.Was.Name, m.Was.Path, link.PermMAC, m.Was.PermMAC, errUnproven)
		case another:
		}
	}
	return nil, doubt
}

func (m *MovedDevice) compare(l kernel.Link) likeness { return m.Was.compare(l, m.Was.Index, m.Index) }

// marked tells whether the link, no hardware, may be the device: it has the
// mark, or all else of it where the mark was not set yet.
func (m *MovedDevice) marked(l kernel.Link) bool {
	if m.Was.hardware() || l.Kind != m.Was.Type {
		return false
	}
	return l.Alias == m.Was.Name ||
		l.Name == m.Was.Name && l.Alias == m.Was.Alias && l.MAC.String() == m.Was.MAC
}

// returned looks for hardware that came back by itself, without a journal: it
// has the container's name, its own in its alias, and is what the configuration
// names.
func (m *MovedDevice) returned(ns *kernel.Namespace) (*kernel.Link, *Device, error) {
	link, ok, err := ns.Link(m.Name)
	if err != nil || !ok || link.Name != m.Name {
		return nil, nil, err
	}
	was := newDevice(link, "")
	home := homeOf(link)
	if home == "" || !was.hardware() || m.Wanted == (DeviceSelector{}) {
		return nil, nil, nil
	}
	ours, err := m.names(ns, link, home)
	if err != nil || !ours {
		return nil, nil, err
	}
	was.Name, was.Alias, was.Up = home, "", false
	return &link, was, nil
}

// names tells whether the configuration names the device, which was called home.
func (m *MovedDevice) names(ns *kernel.Namespace, link kernel.Link, home string) (bool, error) {
	if m.Wanted.ID == "" && m.Wanted.Name != "" {
		return m.Wanted.Name == home, nil
	}
	found, _, err := m.Wanted.find(ns, "")
	if errors.Is(err, errNoLink) || kernel.Absent(kernel.ObjectFile, err) {
		return false, nil
	}
	return err == nil && found.Index == link.Index, err
}

// homeOf reads the name that a moved device had on the host from its alias; ""
// where that is no such mark.
func homeOf(l kernel.Link) string {
	if l.Loopback || !possibleName(l.Alias) {
		return ""
	}
	if _, marked := attachment.OwnerOfAlias(l.Alias); marked {
		return ""
	}
	return l.Alias
}

// possibleName tells whether the kernel would take the text for a link's name.
func possibleName(s string) bool {
	return s != "" && len(s) <= 15 && s != "." && s != ".." && !strings.ContainsAny(s, "/: \t\n\v\f\r")
}

// spareName is for a device whose name was given to another meanwhile.
func (m *MovedDevice) spareName() string { return "nic" + string(m.Owner[:12]) }

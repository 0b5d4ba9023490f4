package resource

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/kernel"
)

// hardware tells whether it is more than software: then it outlives its
// namespace, and it is known anywhere.
func (d *Device) hardware() bool { return d.Path != "" || d.Type == "" && d.PermMAC != "" }

// is tells whether the link is the device, hardware of the same place and with
// the same burnt-in address. A device of several interfaces has several.
func (d *Device) is(l kernel.Link) bool {
	if !d.hardware() || l.Kind != d.Type {
		return false
	}
	if d.PermMAC != "" && l.PermMAC != nil && l.PermMAC.String() != d.PermMAC {
		return false
	}
	switch {
	case d.Path != "" && l.ParentDev != "":
		return l.ParentDev == filepath.Base(d.Path) && sysfs("").device(l) == d.Path
	case d.PermMAC != "":
		return l.PermMAC.String() == d.PermMAC
	}
	return false
}

// inContainer gives the device in the container, with what is known of it; nil
// where it is not there. Hardware is known whatever its name is. Of other
// devices the index is proof that Create saw, since the kernel does not use one
// again soon; else the name together with the mark.
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
		if ok && (m.Was.is(link) || !m.Was.hardware() && link.Kind == m.Was.Type) {
			return &link, m.Was, nil
		}
	}
	link, err := m.among(ns, m.Name, m.Was.Name)
	return link, m.Was, err
}

// onHost gives the device on the host, if it is ours to care for.
func (m *MovedDevice) onHost(ns *kernel.Namespace) (*kernel.Link, *Device, error) {
	if m.Was == nil {
		return m.returned(ns)
	}
	link, err := m.among(ns, m.Was.Name, m.Name, m.spareName())
	if err != nil || link == nil {
		return nil, nil, err
	}
	fallback := "dev" + strconv.Itoa(link.Index) // the kernel's, where the container's name is taken
	if link.Alias == m.Was.Name || link.Name == m.Name && link.Name != m.Was.Name || link.Name == fallback {
		return link, m.Was, nil
	}
	return nil, nil, nil // at home, or in another's care
}

// among looks under the names first, then, for hardware, at every link.
func (m *MovedDevice) among(ns *kernel.Namespace, names ...string) (*kernel.Link, error) {
	for _, name := range names {
		link, ok, err := ns.Link(name)
		if err != nil {
			return nil, err
		}
		if ok && (m.Was.is(link) || link.Name == name && m.marked(link)) {
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
	for _, link := range all {
		if m.Was.is(link) {
			return &link, nil
		}
	}
	return nil, nil
}

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
	if errors.Is(err, errNoLink) || errors.Is(err, os.ErrNotExist) {
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

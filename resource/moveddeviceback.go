package resource

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
)

// Remove brings the device back, from the container or from where the kernel
// put it when the namespace died. A device that is in neither place is gone.
func (m *MovedDevice) Remove(ctx context.Context, env Env) error {
	if m.idle() {
		return nil
	}
	if env.Unknown != nil {
		return env.Unknown
	}
	var doubt error
	if env.Container != nil {
		link, was, err := m.inContainer(env)
		if err != nil && !errors.Is(err, errUnproven) {
			return err
		}
		if link != nil {
			return m.bringBack(env, *link, was)
		}
		doubt = err
	}
	link, was, settled, err := m.onHost(env.Host)
	switch {
	case link != nil:
		return m.settle(env, *link, was)
	case settled:
		return nil
	case err != nil && !errors.Is(err, errUnproven):
		return err
	}
	doubt = errors.Join(doubt, err)
	switch {
	case m.Was == nil:
		return doubt
	case env.Container != nil:
		return errors.Join(doubt, m.elsewhere(env.Container))
	case m.Was.Path != "":
		return m.await(ctx, env)
	}
	return doubt
}

// elsewhere is an error where the device was seen neither in the container,
// which lives, nor on the host, and is in a third namespace: someone moved it on,
// or its hardware has an interface still.
func (m *MovedDevice) elsewhere(ns *kernel.Namespace) error {
	found, err := findStray(ns, func(l kernel.Link) bool {
		return m.compare(l) == same || !m.Was.hardware() && l.Kind == m.Was.Type && l.Alias == m.Was.Name
	})
	if err == nil && found != nil {
		err = fmt.Errorf("%s was moved on, out of the container, and is called %s there: %w", m.Was.Name, found.Name, unix.EBUSY)
	}
	if err != nil || m.Was.Path == "" {
		return err
	}
	ok, err := there(filepath.Join(m.Was.Path, "net"))
	if err == nil && ok {
		err = fmt.Errorf("%s (%s) is neither in the container nor on the host, and its hardware has an interface somewhere: %w",
			m.Was.Name, m.Was.Path, unix.EBUSY)
	}
	return err
}

// bringBack renames the device in the container, where nobody minds, and moves
// it then (rule 11). The mark stays on it until settle has done the rest.
func (m *MovedDevice) bringBack(env Env, link kernel.Link, was *Device) error {
	ns, down := env.Container, false
	// A link that is up can't be renamed before Linux 6.2.
	if err := ns.SetLink(link.Index, kernel.LinkChange{Alias: &was.Name, Up: &down}); err != nil {
		return ignoreGone(err)
	}
	name, err := m.freeName(env, link, was)
	if err != nil {
		return err
	}
	change := kernel.LinkChange{Netns: env.Host}
	if name != link.Name {
		err := ns.SetLink(link.Index, kernel.LinkChange{Name: &name})
		if kernel.Exists(err) {
			// Another link of the container has the name. Then the kernel gives
			// it as the device moves.
			change.Name, err = &name, nil
		}
		if err != nil {
			return ignoreGone(err)
		}
	}
	if err := ns.SetLink(link.Index, change); err != nil {
		return ignoreGone(err)
	}
	home, ok, err := env.Host.Link(name)
	if err != nil || !ok {
		return err
	}
	return m.settle(env, home, was)
}

// ignoreGone: a device that goes while it is being brought back is gone.
func ignoreGone(err error) error {
	if kernel.Absent(kernel.ObjectLink, err) {
		return nil
	}
	return err
}

// freeName is the name that the device will have on the host, and makes way for
// it: its own, or, where that is another's by now, a spare one. Alternative
// names that are another's are given up.
func (m *MovedDevice) freeName(env Env, link kernel.Link, was *Device) (string, error) {
	for _, alt := range link.AltNames {
		_, taken, err := env.Host.Link(alt)
		if err != nil {
			return "", err
		}
		if taken || alt == was.Name {
			if _, err := env.Container.DelAltName(link.Index, alt); err != nil {
				return "", err
			}
		}
	}
	_, taken, err := env.Host.Link(was.Name)
	if err != nil {
		return "", err
	}
	if taken {
		return m.spareName(), nil
	}
	return was.Name, nil
}

// settle makes a device that is on the host what it was, its alias last.
func (m *MovedDevice) settle(env Env, link kernel.Link, was *Device) error {
	name, err := m.rename(env.Host, link, was)
	if err != nil {
		return ignoreGone(err)
	}
	if was.Up {
		if err := setUp(env.Host, link, true); err != nil {
			return ignoreGone(err)
		}
	}
	for _, alt := range was.AltNames {
		if slices.Contains(link.AltNames, alt) {
			continue
		}
		err := env.Host.AddAltName(link.Index, alt)
		if err != nil && !kernel.Exists(err) { // another's by now, or here already
			return ignoreGone(err)
		}
	}
	alias := was.Alias
	if name != was.Name {
		alias = first(alias, was.Name)
		env.warn("%s is back on the host as %s: another link is called %s by now", m.Name, name, was.Name)
	}
	return ignoreGone(env.Host.SetLink(link.Index, kernel.LinkChange{Alias: &alias}))
}

// rename gives a device that is on the host its name. It has another one only
// where the kernel put it there, or where its own was taken.
func (m *MovedDevice) rename(ns *kernel.Namespace, link kernel.Link, was *Device) (string, error) {
	if link.Name == was.Name {
		return link.Name, nil
	}
	down := false
	if err := ns.SetLink(link.Index, kernel.LinkChange{Alias: &was.Name, Up: &down}); err != nil {
		return "", err
	}
	if slices.Contains(link.AltNames, was.Name) {
		if _, err := ns.DelAltName(link.Index, was.Name); err != nil {
			return "", err
		}
	}
	for _, name := range []string{was.Name, m.spareName()} {
		if name == link.Name {
			return name, nil
		}
		err := ns.SetLink(link.Index, kernel.LinkChange{Name: &name})
		if err == nil || !kernel.Exists(err) {
			return name, err
		}
	}
	return link.Name, nil
}

// returnTime is how long the kernel may take to destroy a dead namespace and
// hand its devices back. It takes milliseconds, but does one after another.
const returnTime = 5 * time.Second

// await waits for hardware whose namespace has died, and settles it. There is
// nothing to wait for where the device is gone from the machine, or returned to
// a namespace that is not ours.
func (m *MovedDevice) await(ctx context.Context, env Env) error {
	ok, err := there(m.Was.Path)
	if err != nil || !ok {
		return err
	}
	initial, err := env.Host.IsInitial()
	if err != nil {
		return err
	}
	if !initial {
		env.warn("%s (%s) returned to the machine's first network namespace, which is not this one: it can't be brought here", m.Was.Name, m.Was.Path)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, returnTime)
	defer cancel()
	var link *kernel.Link
	var was *Device
	var settled bool
	var doubt error
	err = env.Host.WatchLinks(ctx, func() (bool, error) {
		if link, was, settled, doubt = m.onHost(env.Host); doubt != nil && !errors.Is(doubt, errUnproven) {
			return false, doubt
		}
		return link != nil || settled, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s (%s) is not back after %s: its namespace lives on without a path, or it is in another: %w",
			m.Was.Name, m.Was.Path, returnTime, unix.EBUSY)
		return errors.Join(err, doubt)
	}
	if err != nil || link == nil {
		return err
	}
	return m.settle(env, *link, was)
}

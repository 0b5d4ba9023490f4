package ipam

import (
	"errors"
	"net/netip"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

// A survey is what the full walk finds.
type survey struct {
	owners map[attachment.Owner]*entry
	blank  []string        // leases that name nobody
	alien  []string        // names of addresses that are no lease we can read the owner of
	unread []error         // leases that could not be read: whose they are is unknown
	purged []Held          // leases of an earlier boot that are gone now
	doomed map[string]bool // made when first asked for
}

// Held is the leases of one owner.
type Held struct {
	// ID has no interface name for a lease written by a reference version
	// before 0.8.
	ID        attachment.ID
	Addresses []netip.Addr
}

// String is for messages.
func (h Held) String() string {
	return "lease of " + join(h.Addresses) + " to " + h.ID.String()
}

// ensure makes se.seen, unless the index is known to tell the truth. When the
// session may change things, it then cleans up and makes the index anew.
func (se *session) ensure() error {
	if se.known || se.seen != nil {
		return nil
	}
	return se.walk()
}

// walk reads every lease. A lease that can't be read is noted, not fatal;
// a folder that can't be listed is.
func (se *session) walk() error {
	names, err := se.sys.names(se.dir)
	if err != nil {
		return failed("list", se.Dir(), err)
	}
	sv := &survey{owners: map[attachment.Owner]*entry{}}
	for _, name := range names {
		if _, ok := leaseAddr(name); ok {
			se.readLease(sv, name)
		}
	}
	old := se.oldEntries()
	se.shared = se.sharing(old)
	for owner, e := range sv.owners {
		se.dateRecords(e, old[owner])
	}
	se.seen = sv
	if se.mode == look {
		return nil
	}
	if slices.Contains(names, tempName) {
		se.dropTemp(se.dir)
	}
	se.clean(sv)
	se.rewrite(sv, old)
	return nil
}

func (se *session) readLease(sv *survey, name string) {
	h, written, err := se.holderOf(name)
	switch {
	case absent(err):
	case errors.Is(err, errAlien):
		sv.alien = append(sv.alien, name)
	case err != nil:
		sv.unread = append(sv.unread, err)
	case h.blank:
		sv.blank = append(sv.blank, name)
	default:
		owner := h.id(se.network).Owner()
		if sv.owners[owner] == nil {
			sv.owners[owner] = &entry{Container: h.container, IfName: h.ifName}
		}
		e := sv.owners[owner]
		e.Leases = append(e.Leases, record{Name: name, Written: written})
	}
}

// errAlien marks what has an address's name and is no lease of a known form.
var errAlien = errors.New("is no lease")

// holderOf reads a lease file; absent(err) if there is none.
func (se *session) holderOf(name string) (h holder, written string, err error) {
	data, st, err := readAll(se.sys, se.dir, name, maxLease)
	path := filepath.Join(se.Dir(), name)
	if errors.Is(err, errNotRegular) || errors.Is(err, unix.ELOOP) {
		return holder{}, "", failed("read", path, errors.Join(errAlien, err))
	}
	if err != nil {
		return holder{}, "", failed("read", path, err)
	}
	h, ok := parseLease(data)
	if !ok {
		return holder{}, "", failed("read", path, errAlien)
	}
	return h, stampOf(st.Mtim), nil
}

// oldEntries reads the whole index as it was. What is no entry is as good as not
// recorded. What could not be read may tell of a lease that lives elsewhere: such
// an index is neither believed nor written over.
func (se *session) oldEntries() map[attachment.Owner]entry {
	if se.index < 0 || se.frozen {
		return nil
	}
	names, err := se.sys.names(se.index)
	if err != nil {
		se.frozen = true
		return nil
	}
	old := make(map[attachment.Owner]entry, len(names))
	for _, name := range names {
		if name == stateName || name == tempName {
			continue
		}
		e, ok, err := se.readEntry(attachment.Owner(name))
		if err != nil && !errors.Is(err, errNoEntry) {
			se.frozen = true
		}
		if ok || err != nil {
			old[attachment.Owner(name)] = e // without leases if it is unreadable
		}
	}
	return old
}

// clean removes the leases of earlier boots and those that name nobody.
// One that can't be removed stays as it is, in the survey too.
func (se *session) clean(sv *survey) {
	sv.blank = slices.DeleteFunc(sv.blank, func(name string) bool {
		return se.removeLease(name) == nil
	})
	for _, e := range sv.owners {
		gone := Held{ID: e.id(se.network)}
		e.Leases = slices.DeleteFunc(e.Leases, func(r record) bool {
			if !se.earlier(r) || se.removeLease(r.Name) != nil {
				return false
			}
			addr, _ := leaseAddr(r.Name)
			gone.Addresses = append(gone.Addresses, addr)
			return true
		})
		if gone.Addresses != nil {
			sv.purged = append(sv.purged, gone)
		}
	}
}

// removeLease removes a lease file; one that is gone already is success.
func (se *session) removeLease(name string) error {
	err := se.sys.unlink(se.dir, name)
	if absent(err) {
		return nil
	}
	if err != nil {
		return failed("remove", filepath.Join(se.Dir(), name), err)
	}
	se.changed = true
	return nil
}

// rewrite makes the index tell what the survey found, and only then lets it be
// believed.
func (se *session) rewrite(sv *survey, old map[attachment.Owner]entry) {
	if !se.writesIndex() {
		return
	}
	for owner, e := range sv.owners {
		switch {
		case len(e.Leases) == 0:
			_ = se.dropEntry(owner) // it is said by se.broken
		case !sameLeases(old[owner].Leases, e.Leases):
			se.writeEntry(*e)
		}
	}
	for owner := range old {
		if sv.owners[owner] == nil {
			_ = se.dropEntry(owner) // it is said by se.broken
		}
	}
	if _, err := se.machine(); err != nil || len(sv.unread) > 0 || se.broken {
		return // the next walk may know more
	}
	se.known = se.setMark() == nil
}

// sameLeases compares as sets: a directory has no order.
func sameLeases(a, b []record) bool {
	if len(a) != len(b) {
		return false
	}
	for _, r := range a {
		if !slices.Contains(b, r) {
			return false
		}
	}
	return true
}

// entryOf gives what an owner has, by the index, or by the walk where that can't
// be believed.
func (se *session) entryOf(id attachment.ID) (entry, error) {
	owner := id.Owner()
	if err := se.ensure(); err != nil {
		return entry{}, err
	}
	if se.seen == nil {
		e, _, err := se.readEntry(owner)
		if err == nil {
			return e, nil
		}
		se.known = false
		if err := se.ensure(); err != nil {
			return entry{}, err
		}
	}
	if e := se.seen.owners[owner]; e != nil {
		return *e, nil
	}
	return entry{}, nil
}

// unread says what the walk could not read, if there was one.
func (se *session) unread() error {
	if se.seen == nil {
		return nil
	}
	return errors.Join(se.seen.unread...)
}

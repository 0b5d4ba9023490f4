package ipam

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

// The index: DIR/.fairlead/NETWORK/OWNER says which leases an owner has, and
// DIR/.fairlead/NETWORK/state whether that can be believed. Nothing in it is
// ever taken for a fact: each hit is verified against the lease file, and
// after any doubt it is made anew from them.
//
// How a change by someone else is noticed: whoever adds or takes away a lease
// changes the folder's modification time. After our own changes, when the
// index is complete, we set that time to a mark: a moment of long ago, chosen
// at random, that no clock will give again. So the mark is there exactly
// when nobody has changed the folder since, however coarse the clock that the
// file system's times are taken from, and a crash of ours leaves no mark.

const (
	stateName    = "state"
	tempName     = "fairlead.new"
	indexVersion = 1

	maxState = 1 << 10
	maxEntry = 1 << 20 // some thousand addresses
)

// state says when the index tells the truth.
type state struct {
	Version int `json:"version"`
	// Boot is that of the last walk: at the first use in a new one, leases
	// that were recorded in an earlier one go.
	Boot string `json:"boot"`
	// Machine is that of the last walk, noMachine where it was unknown. The
	// version before wrote none: its records tell of no machine either.
	Machine string `json:"machine,omitempty"`
	// Shared: more machines than one have been here.
	Shared bool `json:"shared,omitempty"`
	// Dev and Ino are the folder's that the index is of: it may have been
	// removed and made again.
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
	// Sec and Nsec are the mark, seconds since 1970 and nanoseconds.
	Sec  int64 `json:"sec"`
	Nsec int64 `json:"nsec"`
}

// noMachine is a machine that is not known, no digest.
const noMachine = "-"

func (s state) mark() unix.Timespec { return unix.Timespec{Sec: s.Sec, Nsec: s.Nsec} }

func parseState(data []byte) (state, error) {
	if len(data) > maxState {
		return state{}, errTooLong
	}
	// The version goes first: the rest of a newer one may have any form.
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &v); err != nil || v.Version > indexVersion {
		return state{Version: v.Version}, err
	}
	var s state
	err := json.Unmarshal(data, &s)
	return s, err
}

// A record is a lease of an owner.
type record struct {
	// Name is the lease file's.
	Name string `json:"name"`
	// Written is the file's modification time. With the owner's name it
	// makes sure that a lease of an earlier boot is the one that we saw then.
	Written string `json:"written"`
	Boot    string `json:"boot"`
	// Machine is the one whose boot it is, "" where that is not known.
	Machine string `json:"machine,omitempty"`
}

// An entry is what the index has of an owner.
type entry struct {
	Container string   `json:"container"`
	IfName    string   `json:"ifName"`
	Leases    []record `json:"leases"`
}

var (
	errTooLong = errors.New("is too long")
	errNoEntry = errors.New("is no entry of the index")
)

// parseEntry reads an entry; it must be the owner's whose name its file has.
func parseEntry(network string, owner attachment.Owner, data []byte) (entry, error) {
	var e entry
	if len(data) > maxEntry {
		return e, errTooLong
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, err
	}
	if e.id(network).Owner() != owner {
		return e, errNoEntry
	}
	for _, r := range e.Leases {
		if _, ok := leaseAddr(r.Name); !ok {
			return e, errNoEntry
		}
	}
	return e, nil
}

func (e entry) id(network string) attachment.ID {
	return attachment.ID{Network: network, Container: e.Container, IfName: e.IfName}
}

// openIndex opens the folder of the index and reads its state. Every failure
// means the same: there is no index, so walk.
func (se *session) openIndex(root int) {
	se.boot = se.bootID()
	dir, err := subfolder(se.sys, root, ours, se.mode != look)
	if err != nil {
		return
	}
	defer se.sys.close(dir)
	if se.index, err = subfolder(se.sys, dir, se.network, se.mode != look); err != nil {
		se.index = -1
		return
	}
	data, _, err := readAll(se.sys, se.index, stateName, maxState)
	if err != nil {
		se.frozen = !absent(err) && !errors.Is(err, errNotRegular) && !errors.Is(err, unix.ELOOP)
		return
	}
	st, err := parseState(data)
	if err != nil {
		return
	}
	se.state = st
	se.frozen = st.Version > indexVersion
	se.known = st.Version == indexVersion && st.Boot == se.boot && st.Machine != "" && se.marked()
}

func subfolder(sys files, at int, name string, make bool) (int, error) {
	fd, err := openWithin(sys, at, name)
	if absent(err) && make {
		if err = makeFolder(sys, at, name, 0o700); err == nil {
			fd, err = openWithin(sys, at, name)
		}
	}
	return fd, err
}

// marked tells whether the folder is the one of the state, unchanged.
func (se *session) marked() bool {
	st, err := se.sys.stat(se.dir)
	return err == nil && st.Dev == se.state.Dev && st.Ino == se.state.Ino && st.Mtim == se.state.mark()
}

// setMark chooses a mark, sets it, and writes the state that has it as the
// file system keeps it, which may be in whole seconds.
func (se *session) setMark() error {
	const day = 24 * time.Hour
	back := 100*day + time.Duration(rand.Int64N(int64(1000*day)))
	ts, err := unix.TimeToTimespec(time.Now().Add(-back))
	if err != nil {
		return err
	}
	if err := se.sys.setMTime(se.dir, ts); err != nil {
		return err
	}
	st, err := se.sys.stat(se.dir)
	if err != nil {
		return err
	}
	se.changed = false
	se.state = state{
		Version: indexVersion, Boot: se.boot, Machine: cmp.Or(se.here(), noMachine), Shared: se.shared,
		Dev: st.Dev, Ino: st.Ino,
		Sec: st.Mtim.Sec, Nsec: st.Mtim.Nsec,
	}
	data, err := json.Marshal(se.state)
	if err != nil {
		return err
	}
	_, err = writeAll(se.sys, se.index, stateName, 0, data)
	return err
}

// readEntry gives what the index has of an owner; ok is false if nothing.
func (se *session) readEntry(owner attachment.Owner) (e entry, ok bool, err error) {
	data, _, err := readAll(se.sys, se.index, string(owner), maxEntry)
	if absent(err) {
		return entry{}, false, nil
	}
	if errors.Is(err, errNotRegular) || errors.Is(err, unix.ELOOP) {
		err = fmt.Errorf("%w: %w", errNoEntry, err)
	}
	if err != nil {
		return entry{}, false, err
	}
	if e, err = parseEntry(se.network, owner, data); err != nil {
		return e, false, fmt.Errorf("%w: %w", errNoEntry, err)
	}
	return e, true, nil
}

// writeEntry keeps what an owner has. It need not be atomic: until the mark is
// set again, nobody believes it.
func (se *session) writeEntry(e entry) {
	if !se.writesIndex() {
		return
	}
	owner := string(e.id(se.network).Owner())
	data, err := json.Marshal(e)
	if err == nil {
		_, err = writeAll(se.sys, se.index, owner, 0, data)
	}
	if err != nil {
		se.broken = true
	}
}

// dropEntry forgets an owner. Left behind, an entry misleads nobody, since what
// it names is verified; but a file stays, so the next session walks.
func (se *session) dropEntry(owner attachment.Owner) error {
	if !se.writesIndex() {
		return nil
	}
	err := se.sys.unlink(se.index, string(owner))
	if err == nil || absent(err) {
		return nil
	}
	se.broken = true
	return failed("remove", filepath.Join(se.indexDir(), string(owner)), err)
}

func (se *session) writesIndex() bool { return se.mode != look && se.index >= 0 && !se.frozen }

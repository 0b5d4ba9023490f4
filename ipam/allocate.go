package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

// What an allocation can fail of, besides the file system.
var (
	// ErrExhausted: every address of a range set is leased.
	ErrExhausted = errors.New("no address is free")
	// ErrTaken: the address asked for by name is leased.
	ErrTaken = errors.New("the requested address is leased")
	// ErrHeld: the attachment has leases already.
	ErrHeld = errors.New("the attachment holds an address already")
	// ErrLeftBehind: an allocation failed and what it had taken could not be
	// given back.
	ErrLeftBehind = errors.New("a lease was left behind")
)

// An Allocation is an address that an attachment got.
type Allocation struct {
	// Address has the prefix length of its subnet.
	Address netip.Prefix `json:"address"`
	Gateway netip.Addr   `json:"gateway"`
}

// Allocate leases one address of each set, in the sets' order: those asked for
// by name, and else the next free ones in round robin. It leases all or none;
// the exception is an error that is ErrLeftBehind.
func (s *Store) Allocate(ctx context.Context, id attachment.ID, sets []RangeSet, requested []netip.Addr) ([]Allocation, error) {
	if err := checkOwner(id); err != nil {
		return nil, err
	}
	wanted, err := assign(sets, requested)
	if err != nil {
		return nil, err
	}
	se, _, err := s.begin(ctx, create)
	if err != nil {
		return nil, err
	}
	defer se.end()
	if err := se.ensure(); err != nil {
		return nil, err
	}
	if err := se.checkFree(id); err != nil {
		return nil, err
	}
	return se.takeAll(ctx, id, sets, wanted)
}

func (se *session) takeAll(ctx context.Context, id attachment.ID, sets []RangeSet, wanted []netip.Addr) ([]Allocation, error) {
	var got []Allocation
	var taken []record
	for n, set := range sets {
		a, r, err := se.take(ctx, id, n, set, wanted[n])
		if err != nil {
			return nil, se.giveBack(taken, fmt.Errorf("range set %d (%s): %w", n, set, err))
		}
		got = append(got, a)
		taken = append(taken, r)
	}
	e, err := se.entryOf(id) // of an earlier boot, where removal failed
	if err != nil {
		return nil, se.giveBack(taken, err)
	}
	e.Container, e.IfName = id.Container, id.IfName
	e.Leases = append(slices.Clone(e.Leases), taken...)
	se.writeEntry(e)
	return got, nil
}

// giveBack removes what a failing allocation took.
func (se *session) giveBack(taken []record, cause error) error {
	for _, r := range taken {
		if err := se.removeLease(r.Name); err != nil {
			se.broken = true
			cause = errors.Join(cause, ErrLeftBehind, err)
		}
	}
	return cause
}

// checkFree refuses an attachment that has leases, as the reference does; one
// of another interface of the container does not count, unless it comes from
// a reference version that did not write the interface's name.
func (se *session) checkFree(id attachment.ID) error {
	held, err := se.heldBy(id)
	if err != nil {
		return err
	}
	if len(held) > 0 {
		return fmt.Errorf("%s: %w: %s", id, ErrHeld, held[0])
	}
	return nil
}

// heldBy gives the leases of the attachment, verified against their files.
func (se *session) heldBy(id attachment.ID) ([]netip.Addr, error) {
	var held []netip.Addr
	for _, owner := range []attachment.ID{id, withoutIfName(id)} {
		e, err := se.entryOf(owner)
		if err != nil {
			return nil, err
		}
		for _, r := range e.Leases {
			if se.earlier(r) {
				continue // as good as gone
			}
			ok, err := se.names(r.Name, owner)
			if err != nil {
				return nil, err
			}
			if addr, valid := leaseAddr(r.Name); ok && valid {
				held = append(held, addr)
			}
		}
	}
	slices.SortFunc(held, netip.Addr.Compare)
	return held, nil
}

// withoutIfName is whom a lease of a reference version before 0.8 names.
func withoutIfName(id attachment.ID) attachment.ID {
	id.IfName = ""
	return id
}

// names tells whether a lease file names the owner.
func (se *session) names(name string, owner attachment.ID) (bool, error) {
	h, _, err := se.holderOf(name)
	if absent(err) || errors.Is(err, errAlien) {
		return false, nil
	}
	return err == nil && !h.blank && h.id(se.network) == owner, err
}

// take leases one address of the set.
func (se *session) take(ctx context.Context, id attachment.ID, n int, set RangeSet, want netip.Addr) (Allocation, record, error) {
	t, err := se.writeTemp(id)
	if err != nil {
		return Allocation{}, record{}, err
	}
	defer func() { se.dropTemp(t.dir) }()
	r, addr, err := se.place(ctx, t, n, set, want)
	if err != nil {
		return Allocation{}, record{}, err
	}
	rec := record{Name: addr.String(), Written: t.written, Boot: se.boot, Machine: se.here()}
	if err := se.writeLast(n, addr); err != nil {
		return Allocation{}, record{}, se.giveBack([]record{rec}, err)
	}
	return allocationOf(r, addr), rec, nil
}

func allocationOf(r Range, addr netip.Addr) Allocation {
	return Allocation{Address: netip.PrefixFrom(addr, r.Subnet.Bits()), Gateway: r.Gateway}
}

// place links the written lease to the first name that is free. The link is
// what reserves: it fails if the name is there, whoever made it.
func (se *session) place(ctx context.Context, t *temp, n int, set RangeSet, want netip.Addr) (Range, netip.Addr, error) {
	if want.IsValid() {
		r, _ := set.rangeOf(want)
		ok, err := se.link(t, want)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %s (to %s)", ErrTaken, want, se.whose(want))
		}
		return r, want, err
	}
	tries := 0
	for r, addr := range set.after(se.readLast(n)) {
		if tries++; tries%1024 == 0 && ctx.Err() != nil {
			return Range{}, netip.Addr{}, ctx.Err()
		}
		ok, err := se.link(t, addr)
		if ok || err != nil {
			return r, addr, err
		}
	}
	return Range{}, netip.Addr{}, ErrExhausted
}

// whose names the holder of an address, for a message.
func (se *session) whose(addr netip.Addr) string {
	h, _, err := se.holderOf(addr.String())
	if err != nil || h.blank {
		return "an unknown holder"
	}
	return h.container + "/" + h.ifName
}

// A temp is a lease that is written but has no address yet.
type temp struct {
	dir     int
	text    []byte
	written string
}

// writeTemp writes a lease under a name that is no address, in the index's
// folder, where the reference never looks.
func (se *session) writeTemp(id attachment.ID) (*temp, error) {
	t := &temp{dir: se.index, text: leaseText(id)}
	if t.dir < 0 {
		t.dir = se.dir
	}
	return t, se.fillTemp(t)
}

func (se *session) fillTemp(t *temp) error {
	st, err := writeAll(se.sys, t.dir, tempName, unix.O_EXCL, t.text)
	if errors.Is(err, unix.EEXIST) {
		// Of a process that was killed. It may be the other name of a lease:
		// never write into it.
		if err = se.sys.unlink(t.dir, tempName); err == nil {
			st, err = writeAll(se.sys, t.dir, tempName, unix.O_EXCL, t.text)
		}
	}
	if err != nil {
		se.dropTemp(t.dir)
		return failed("write", filepath.Join(se.Dir(), tempName), err)
	}
	t.written = stampOf(st.Mtim)
	return nil
}

// dropTemp removes the first name of a lease. Left behind, it is removed by
// the next allocation.
func (se *session) dropTemp(dir int) { _ = se.sys.unlink(dir, tempName) }

// link gives the lease its address; false if that is taken.
func (se *session) link(t *temp, addr netip.Addr) (bool, error) {
	err := se.sys.link(t.dir, tempName, se.dir, addr.String())
	if errors.Is(err, unix.EXDEV) && t.dir != se.dir {
		// The network's folder is a mount of its own.
		se.dropTemp(t.dir)
		t.dir = se.dir
		if err := se.fillTemp(t); err != nil {
			return false, err
		}
		err = se.sys.link(t.dir, tempName, se.dir, addr.String())
	}
	if errors.Is(err, unix.EEXIST) {
		return false, nil
	}
	if err != nil {
		return false, failed("link", filepath.Join(se.Dir(), addr.String()), err)
	}
	se.changed = true
	return true, nil
}

// readLast gives the address that was leased last of a set, the zero Addr if
// that is not known: then the round begins anew, as in the reference.
func (se *session) readLast(n int) netip.Addr {
	data, _, err := readAll(se.sys, se.dir, lastPrefix+strconv.Itoa(n), maxState)
	if err != nil {
		return netip.Addr{}
	}
	addr, err := parseAddr(string(data))
	if err != nil {
		return netip.Addr{}
	}
	return addr
}

func (se *session) writeLast(n int, addr netip.Addr) error {
	name := lastPrefix + strconv.Itoa(n)
	_, err := writeAll(se.sys, se.dir, name, 0, []byte(addr.String()))
	if err != nil {
		return failed("write", filepath.Join(se.Dir(), name), err)
	}
	se.changed = true // it may have been made
	return nil
}

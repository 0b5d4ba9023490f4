package ipam

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

// Where the running boot and this machine say who they are.
const (
	bootIDFile    = "/proc/sys/kernel/random/boot_id"
	machineIDFile = "/etc/machine-id"
	productIDFile = "/sys/class/dmi/id/product_uuid"
)

// bootID is the identity of the running boot, "" where the kernel gives none:
// then no lease is of an earlier one.
func (s *Store) bootID() string {
	id, _ := s.line(s.bootFile)
	return id
}

// machineID is the identity of this machine among those that may use the data
// directory, "" where it has none that is known: then no lease is of an earlier
// boot of it. It is that of machine-id(5). Machines made from one image may have
// that in common by mistake; the firmware's number, where there is one that we
// may read, tells them apart all the same. What is kept is a digest:
// machine-id(5) asks not to publish the ID itself, and the directory may be on
// another machine.
func (s *Store) machineID() (string, error) {
	id, err := s.line(s.machineFile)
	if err != nil && !absent(err) {
		return "", err
	}
	id = strings.ToLower(id)
	// An image that was never started has "uninitialized", or an empty file.
	if !validMachineID(id) {
		return "", nil
	}
	product, err := s.line(s.productFile)
	if err != nil && !absent(err) && !errors.Is(err, fs.ErrPermission) {
		return "", err
	}
	return attachment.Digest("machine/" + id + "/" + strings.ToLower(product)), nil
}

func validMachineID(id string) bool {
	raw, err := hex.DecodeString(id)
	return err == nil && len(raw) == 16 && strings.Trim(id, "0") != ""
}

// line is the one line of a file of the system.
func (s *Store) line(path string) (string, error) {
	fd, err := s.sys.open(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer s.sys.close(fd)
	data, _, err := readOpen(s.sys, fd, 64)
	return strings.TrimSpace(string(data)), err
}

// here is the machine of a lease made now: "" where it is unknown. An index that
// is believed is of this boot, and so of this machine.
func (se *session) here() string {
	if se.known {
		return known(se.state.Machine)
	}
	id, _ := se.machine()
	return id
}

// known is a machine of the index's state, "" where that has none.
func known(machine string) string {
	if machine == noMachine {
		return ""
	}
	return machine
}

// dateRecords says of which boot of which machine each lease is: as recorded, if
// it is the one that was recorded. Else it is adopted into this boot (rule 16),
// or, where another machine uses the directory too, nobody knows whose it is.
func (se *session) dateRecords(e *entry, old entry) {
	for i := range e.Leases {
		r := &e.Leases[i]
		if !se.shared {
			r.Boot, r.Machine = se.boot, se.here()
		}
		for _, o := range old.Leases {
			if o.Name != r.Name || o.Written != r.Written {
				continue
			}
			r.Boot, r.Machine = o.Boot, o.Machine
			if o.Machine == "" && o.Boot == se.boot {
				// The version before recorded no machine. A boot's ID is its
				// own, so it was this one's.
				r.Machine = se.here()
			}
		}
	}
}

// sharing tells whether a machine other than this one is known to use the
// directory, or to have used it.
func (se *session) sharing(old map[attachment.Owner]entry) bool {
	if se.state.Shared || se.another(se.state.Machine) {
		return true
	}
	for _, e := range old {
		for _, r := range e.Leases {
			if se.another(r.Machine) {
				return true
			}
		}
	}
	return false
}

func (se *session) another(machine string) bool {
	return known(machine) != "" && machine != se.here()
}

// earlier tells whether the lease is of a boot of this machine before this one:
// nothing of it can be alive. A lease of another machine, or of one that is not
// known, may be.
func (se *session) earlier(r record) bool {
	return r.Boot != "" && se.boot != "" && r.Boot != se.boot &&
		r.Machine != "" && r.Machine == se.here()
}

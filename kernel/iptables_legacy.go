package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the legacy interface offers to look without forking
// (linux/netfilter_ipv4/ip_tables.h, and the same numbers for IPv6).
const (
	xtGetInfo      = 64
	xtGetEntries   = 65
	xtNameSize     = 32
	xtInfoSize     = 84 // struct ipt_getinfo
	xtInfoSizeAt   = 80 // its member size
	xtEntriesStart = 40 // of entrytable in struct ipt_get_entries

	xtTries = 20
)

// IPTablesLegacyChain looks up a chain of a legacy table. It forks nothing, and
// makes no table by asking for it.
func (n *Namespace) IPTablesLegacyChain(f NftFamily, table, chain string) (bool, error) {
	var found bool
	err := n.call("iptables.chain", fmt.Sprintf("%s %s %s", f, table, chain), func() error {
		return n.do(func() error {
			there, err := legacyTable(f, table)
			if err != nil || !there {
				return err
			}
			entries, err := legacyEntries(f, table)
			if Absent(ObjectTable, err) {
				return nil
			}
			// A chain begins with an entry that has its name.
			found = bytes.Contains(entries, append([]byte(chain), 0))
			return err
		})
	})
	return found && err == nil, err
}

// IPTablesLegacyTable tells whether a table of the legacy kind is there.
func (n *Namespace) IPTablesLegacyTable(f NftFamily, table string) (bool, error) {
	var found bool
	err := n.call("iptables.table", f.String()+" "+table, func() error {
		return n.do(func() (err error) {
			found, err = legacyTable(f, table)
			return err
		})
	})
	return found && err == nil, err
}

// legacyTable reads the list of the tables in use, which the thread's namespace
// has. A kernel without the legacy kind has no such list.
func legacyTable(f NftFamily, table string) (bool, error) {
	path := "/proc/thread-self/net/ip_tables_names"
	if f == NftIPv6 {
		path = "/proc/thread-self/net/ip6_tables_names"
	}
	b, err := os.ReadFile(path)
	if Absent(ObjectFile, err) {
		return false, nil
	}
	return err == nil && slices.Contains(strings.Fields(string(b)), table), err
}

// legacyEntries reads a table's rules, as the kernel has them.
func legacyEntries(f NftFamily, table string) ([]byte, error) {
	if len(table) >= xtNameSize {
		return nil, fmt.Errorf("table name %q is too long", table)
	}
	family, level := unix.AF_INET, unix.SOL_IP
	if f == NftIPv6 {
		family, level = unix.AF_INET6, unix.SOL_IPV6
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for range xtTries {
		info := make([]byte, xtInfoSize)
		copy(info, table)
		if err := getsockopt(fd, level, xtGetInfo, info); err != nil {
			return nil, err
		}
		size := binary.NativeEndian.Uint32(info[xtInfoSizeAt:])
		b := make([]byte, xtEntriesStart+int(size))
		copy(b, table)
		binary.NativeEndian.PutUint32(b[xtNameSize:], size)
		err := getsockopt(fd, level, xtGetEntries, b)
		if err == nil {
			return b[xtEntriesStart:], nil
		}
		if !errors.Is(err, unix.EAGAIN) { // EAGAIN: its size changed meanwhile
			return nil, err
		}
	}
	return nil, unix.EAGAIN
}

func getsockopt(fd, level, option int, b []byte) error {
	size := uint32(len(b))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(option),
		uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

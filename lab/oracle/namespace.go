package oracle

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/host"
)

// netns is a network namespace that is looked at.
type netns struct {
	name   string
	inode  uint64
	device uint64   // of all namespaces
	fd     int      // -1 when there is no way in
	pins   []string // what holds it

	conn   *conn // of rtnetlink
	links  []*link
	byIdx  map[int32]*link
	byNsid map[int32]*netns // namespaces as this one numbers them
	facts  []fact
}

func (ns *netns) close() {
	if ns.conn != nil {
		ns.conn.close()
	}
	if ns.fd >= 0 {
		unix.Close(ns.fd)
	}
}

// linkName names a link of the namespace. One that was not there when the links
// were listed is told so: Take looks again.
func (ns *netns) linkName(index int32) string {
	if l := ns.byIdx[index]; l != nil {
		return l.name
	}
	if index == 0 {
		return ""
	}
	return unknownLink
}

// unknownLink can't be the name of one: too long.
const unknownLink = "(a link that came meanwhile)"

// namespaces finds the network namespaces of a host: its own, first, those that
// are mounted, and those that its processes are in or hold open. The caller
// closes them.
// What the machine had mounted before the host was made is not the host's.
func namespaces(h *host.Host, mounts []mount, processes []host.Process) ([]*netns, error) {
	own, err := open(h.NetnsPath())
	if err != nil {
		return nil, fmt.Errorf("the host's own namespace: %w", err)
	}
	own.name = hostName
	f := finder{all: []*netns{own}}
	f.mounted(h, mounts)
	for _, p := range processes {
		if err := f.heldBy(p); err != nil {
			f.close()
			return nil, err
		}
	}
	f.nameAll()
	return f.all, nil
}

type finder struct{ all []*netns }

func (f *finder) close() {
	for _, ns := range f.all {
		ns.close()
	}
}

// add notes that a namespace is held by pin. It can be entered by path, if that is
// not "".
func (f *finder) add(inode uint64, path, pin string, enter func(string) (*netns, error)) *netns {
	i := slices.IndexFunc(f.all, func(ns *netns) bool { return ns.inode == inode })
	if i < 0 {
		f.all = append(f.all, &netns{inode: inode, fd: -1})
		i = len(f.all) - 1
	}
	ns := f.all[i]
	ns.pins = append(ns.pins, pin)
	if ns.fd >= 0 || path == "" {
		return ns
	}
	found, err := enter(path)
	if err != nil {
		return ns
	}
	if found.inode != inode {
		found.close() // another one is mounted over it
		return ns
	}
	ns.fd = found.fd
	return ns
}

// mounted adds what is mounted; the first such mount gives the name.
func (f *finder) mounted(h *host.Host, mounts []mount) {
	born := h.Born()
	onHost := func(path string) (ns *netns, err error) {
		h.Do(func() { ns, err = open(path) })
		return ns, err
	}
	for _, m := range mounts {
		inode, ok := netnsInode(m.root)
		if _, old := born[m.id]; m.kind != "nsfs" || !ok || old {
			continue
		}
		ns := f.add(inode, m.at, "mount "+m.at, onHost)
		if ns.name == "" {
			ns.name = m.at
			if filepath.Dir(m.at) == netnsDir {
				ns.name = filepath.Base(m.at)
			}
		}
	}
}

const netnsDir = "/run/netns"

// heldBy adds what a process is in, by each of its threads, and what it holds
// open. A process that ends meanwhile holds nothing.
func (f *finder) heldBy(p host.Process) error {
	dir := filepath.Join("/proc", strconv.Itoa(p.PID))
	for _, w := range []struct{ pin, glob string }{
		{"process " + p.Program, "task/*/ns/net"}, {"descriptor of " + p.Program, "fd/*"},
	} {
		paths, err := filepath.Glob(filepath.Join(dir, w.glob))
		if err != nil {
			return err
		}
		for _, path := range paths {
			inode, ok, err := f.isNetns(path)
			if err != nil {
				return fmt.Errorf("what process %d (%s) holds: %w", p.PID, p.Program, err)
			}
			if ok && inode != f.all[0].inode {
				f.add(inode, path, w.pin, open)
			}
		}
	}
	return nil
}

// isNetns tells whether a file is a network namespace. What the link in /proc
// reads is no guide: that of a descriptor may be where it was once mounted.
func (f *finder) isNetns(path string) (inode uint64, ok bool, err error) {
	ended := func(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }
	var stat unix.Stat_t
	err = unix.Stat(path, &stat)
	if err == nil && stat.Dev != f.all[0].device || ended(err) {
		return 0, false, nil
	}
	var ns *netns
	if err == nil {
		ns, err = open(path)
	}
	if ended(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer ns.close()
	kind, err := unix.IoctlRetInt(ns.fd, unix.NS_GET_NSTYPE)
	return stat.Ino, kind == unix.CLONE_NEWNET, err
}

// nameAll names those that have no name by what holds them, and numbers those of
// one name.
func (f *finder) nameAll() {
	seen := map[string]int{}
	for _, ns := range f.all {
		slices.Sort(ns.pins)
		ns.pins = slices.Compact(ns.pins)
		if ns.name == "" {
			ns.name = "unnamed (" + ns.pins[0] + ")"
		}
		if seen[ns.name]++; seen[ns.name] > 1 {
			ns.name = fmt.Sprintf("%s #%d", ns.name, seen[ns.name])
		}
	}
}

// open opens a namespace by its path.
func open(path string) (*netns, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &netns{inode: stat.Ino, device: stat.Dev, fd: fd}, nil
}

// netnsInode reads net:[NUMBER].
func netnsInode(s string) (uint64, bool) {
	s, ok := strings.CutPrefix(s, "net:[")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(s, "]"), 10, 64)
	return n, err == nil
}

// number learns by which numbers the namespace knows the others.
func (ns *netns) number(all []*netns) error {
	ns.byNsid = map[int32]*netns{}
	if !slices.ContainsFunc(ns.links, func(l *link) bool { return l.nsid >= 0 }) {
		return nil
	}
	for _, other := range all {
		if other.fd < 0 {
			continue
		}
		body := append(make([]byte, 4), u32attr(unix.NETNSA_FD, uint32(other.fd))...)
		answer, err := ns.conn.ask(unix.RTM_GETNSID, 0, body)
		if err != nil {
			return fmt.Errorf("what %s calls %s: %w", ns.name, other.name, err)
		}
		for _, m := range answer {
			_, t, err := headed(m.data, 4)
			if err != nil {
				return err
			}
			if id := t.index(unix.NETNSA_NSID); id >= 0 {
				ns.byNsid[id] = other
			}
		}
	}
	return nil
}

// fact is what is told of the namespace itself.
func (ns *netns) fact() fact {
	i := Item{Kind: "namespace", Where: hostName, Name: ns.name, Value: strings.Join(ns.pins, ", ")}
	if ns.fd < 0 {
		i.Value += " (covered: no way in)"
	}
	return fact{Item: i}
}

// tell adds a fact of the namespace.
func (ns *netns) tell(kind, name, value string) {
	ns.facts = append(ns.facts, fact{Item: Item{Kind: kind, Where: ns.name, Name: name, Value: value}})
}

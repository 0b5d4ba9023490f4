package kernel

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Absence says why a namespace is not there. It is "" when it is.
type Absence string

// The ways in which a namespace can be gone (rule 7). Both are facts.
const (
	NoSuchPath    Absence = "no such path"
	NotANamespace Absence = "not a network namespace"
)

// Namespace is a network namespace, kept alive by an open descriptor. It is
// safe for concurrent use; calls upon one namespace are made one after another.
type Namespace struct {
	*handle
	faults Faults
}

// handle is what all views of a namespace share.
type handle struct {
	fd   int
	name string
	path string // "" when it has none
	id   identity

	mu     sync.Mutex // guards sock, and is held through an exchange
	sock   *socket    // opened by the first call
	closed atomic.Bool

	nft nftConn // for nftables, apart from the above
}

// identity of a namespace, as long as a descriptor of it is open.
type identity struct{ dev, ino uint64 }

// selfPath is the namespace of the calling thread.
const selfPath = "/proc/thread-self/ns/net"

// Host gives the network namespace of the calling thread, by the name "host".
func Host() (*Namespace, error) {
	n, absence, err := open(selfPath, "host")
	if err == nil && absence != "" {
		err = &Error{Op: "netns.open", Object: selfPath, err: fmt.Errorf("%s: is /proc mounted?", absence)}
	}
	if err != nil {
		return nil, err
	}
	n.path = ""
	return n, nil
}

// Open gives the network namespace at path. Exactly one of the three results
// is set: the namespace; the fact that there is none; or an error, when that
// could not be found out.
func Open(path string) (*Namespace, Absence, error) {
	return open(path, path)
}

func open(path, name string) (*Namespace, Absence, error) {
	fd, absence, err := openNamespace(path)
	if err != nil || absence != "" {
		return nil, absence, err
	}
	n, err := newNamespace(fd, name, path)
	return n, "", err
}

// newNamespace takes over fd.
func newNamespace(fd int, name, path string) (*Namespace, error) {
	id, err := identify(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, &Error{Op: "netns.open", Object: name, Errno: errnoOf(err), err: err}
	}
	return &Namespace{handle: &handle{fd: fd, name: name, path: path, id: id}}, nil
}

// openNamespace looks before it opens, since opening what is not a namespace
// may block (a FIFO) or do something (a device).
func openNamespace(path string) (int, Absence, error) {
	fail := func(err error) (int, Absence, error) {
		return -1, "", &Error{Op: "netns.open", Object: path, Errno: errnoOf(err), err: err}
	}
	probe, err := retryEINTR(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) })
	if Absent(ObjectNamespace, err) {
		return -1, NoSuchPath, nil
	}
	if err != nil {
		return fail(err)
	}
	defer unix.Close(probe)
	var fs unix.Statfs_t
	if err := unix.Fstatfs(probe, &fs); err != nil {
		return fail(err)
	}
	if fs.Type != unix.NSFS_MAGIC {
		return -1, NotANamespace, nil
	}
	fd, err := retryEINTR(func() (int, error) {
		return unix.Open(fmt.Sprintf("/proc/self/fd/%d", probe), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return fail(err)
	}
	kind, err := unix.IoctlRetInt(fd, unix.NS_GET_NSTYPE)
	if err != nil {
		_ = unix.Close(fd)
		return fail(err)
	}
	if kind != unix.CLONE_NEWNET {
		_ = unix.Close(fd)
		return -1, NotANamespace, nil
	}
	return fd, "", nil
}

func identify(fd int) (identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return identity{}, err
	}
	return identity{dev: st.Dev, ino: st.Ino}, nil
}

var errClosed = errors.New("the namespace was closed")

// descriptor is what names the namespace to the kernel. Once it is closed the
// number may be another file's.
func (n *Namespace) descriptor() (int, error) {
	if n.closed.Load() {
		return -1, errClosed
	}
	return n.fd, nil
}

// Name is for messages: "host", or the path that it was opened by.
func (n *Namespace) Name() string { return n.name }

// Path leads other processes and threads to the namespace, as long as this one
// is not closed.
func (n *Namespace) Path() string {
	if n.path != "" {
		return n.path
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.fd)
}

// Same says whether both are one namespace.
func (n *Namespace) Same(o *Namespace) (bool, error) {
	// Both are held open, so that neither inode number can have been re-used.
	return n.id == o.id, nil
}

// Cookie is the kernel's number for this namespace. Unlike an inode number it
// is not given to another one until the machine is started again.
func (n *Namespace) Cookie() (uint64, error) {
	var cookie uint64
	err := n.call("netns.cookie", "", func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		s, err := n.socket()
		if err != nil {
			return err
		}
		cookie, err = unix.GetsockoptUint64(s.fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
		return err
	})
	return cookie, err
}

const (
	// initialCookie is the first that kernels before 6.18 give out; later ones
	// number all sorts of namespaces together.
	initialCookie = 1
	// initialInode is PROC_NET_INIT_INO: reserved by Linux 6.17 and later, and
	// out of the range of what earlier ones give out.
	initialInode = 0xEFFFFFF9
)

// IsInitial says whether this is the namespace that the machine started with:
// the one that the kernel returns physical devices to.
func (n *Namespace) IsInitial() (bool, error) {
	cookie, err := n.Cookie()
	return err == nil && (cookie == initialCookie || n.id.ino == initialInode), err
}

// Close lets go of the namespace, in every view of it. No call upon it, or with
// it among the arguments, may be going on.
func (n *Namespace) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed.Swap(true) {
		return nil
	}
	n.drop()
	n.closeNft()
	return unix.Close(n.fd)
}

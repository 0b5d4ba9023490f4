package ipam

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// A Store is the leases of one network in one data directory. Its methods may
// be called by any number of processes at once.
type Store struct {
	dataDir string
	network string
	sys     files

	bootFile, machineFile, productFile string
}

// Open names a store; nothing is read or made yet.
func Open(dataDir, network string) (*Store, error) {
	if err := checkNetwork(network); err != nil {
		return nil, err
	}
	return &Store{
		dataDir: filepath.Clean(dataDir), network: network, sys: disk{},
		bootFile: bootIDFile, machineFile: machineIDFile, productFile: productIDFile,
	}, nil
}

// Dir is the folder that holds the leases.
func (s *Store) Dir() string { return filepath.Join(s.dataDir, s.network) }

// indexDir is the folder of what only we read.
func (s *Store) indexDir() string { return filepath.Join(s.dataDir, ours, s.network) }

// ours can be no network's name: those begin with a letter or digit.
const ours = ".fairlead"

// A mode says what a session is for.
type mode int

const (
	look   mode = iota // changes nothing on disk, not even our own files
	change             // changes what is there
	create             // makes the folders as well
)

// A session is the store under its lock.
type session struct {
	*Store
	mode  mode
	dir   int // the folder of the leases
	index int // the folder of the index, or -1
	lock  int
	boot  string
	// machine is asked where leases have to be dated or judged only.
	machine func() (string, error)

	state   state   // of the index, as it was read
	known   bool    // the index is known to tell what is in dir
	frozen  bool    // the index is a newer version's, or can't be read: leave it alone
	shared  bool    // another machine uses the directory too
	broken  bool    // the index may have become wrong: leave the mark off
	changed bool    // something in dir changed
	seen    *survey // what the full walk found, if there was one
}

// maxReopen bounds how often a folder may vanish while we wait for its lock.
const maxReopen = 16

// begin takes the lock: the reference's own, so that both suites exclude each
// other. ok is false where the network has no folder and none is to be made.
func (s *Store) begin(ctx context.Context, m mode) (se *session, ok bool, err error) {
	for range maxReopen {
		se, ok, err = s.tryBegin(ctx, m)
		if !errors.Is(err, errVanished) {
			return se, ok, err
		}
	}
	return nil, false, err
}

var errVanished = errors.New("vanished while its lock was waited for")

func (s *Store) tryBegin(ctx context.Context, m mode) (*session, bool, error) {
	se := &session{Store: s, mode: m, dir: -1, index: -1, lock: -1, machine: sync.OnceValues(s.machineID)}
	root, ok, err := s.openRoot(m)
	if !ok || err != nil {
		return nil, false, err
	}
	defer s.sys.close(root)
	if ok, err = se.openDir(root); ok && err == nil {
		err = se.takeLock(ctx)
	}
	if !ok || err != nil {
		se.close()
		return nil, false, err
	}
	se.openIndex(root)
	if se.writesIndex() {
		se.dropTemp(se.index) // a killed process's: we have the lock
	}
	return se, true, nil
}

// openRoot opens the data directory.
func (s *Store) openRoot(m mode) (int, bool, error) {
	var fd int
	var err error
	if m == create {
		fd, err = makeAll(s.sys, s.dataDir)
	} else {
		fd, err = openFolder(s.sys, s.dataDir)
	}
	if m == change && errors.Is(err, errDangling) || m != create && absent(err) {
		return -1, false, nil
	}
	if err != nil {
		return -1, false, failed("open", s.dataDir, err)
	}
	return fd, true, nil
}

// openDir opens the network's folder. A link in its place is an administrator's
// who wants the leases elsewhere; one that leads nowhere has none behind it.
func (se *session) openDir(root int) (bool, error) {
	fd, err := openWithin(se.sys, root, se.network)
	if absent(err) && se.mode == create {
		if err = makeFolder(se.sys, root, se.network, 0o755); err == nil {
			fd, err = openWithin(se.sys, root, se.network)
		}
	}
	if errors.Is(err, errNotFolder) {
		fd, err = openFolder(se.sys, se.Dir())
	}
	if se.mode == change && errors.Is(err, errDangling) || se.mode != create && absent(err) && !errors.Is(err, unix.ENOTDIR) {
		return false, nil
	}
	if errors.Is(err, unix.ENOTDIR) {
		err = errNotFolder
	}
	if err != nil {
		return false, failed("open", se.Dir(), err)
	}
	se.dir = fd
	return true, nil
}

// takeLock waits for the lock until ctx is done, or for lockWait; then it is
// engine.ErrBusy.
func (se *session) takeLock(ctx context.Context) error {
	path := filepath.Join(se.Dir(), lockName)
	// The mode is the reference's.
	flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK
	how := unix.LOCK_SH
	if se.mode != look {
		flags |= unix.O_CREAT
		how = unix.LOCK_EX
	}
	fd, err := se.sys.open(se.dir, lockName, flags, 0o750)
	if absent(err) && se.mode == look {
		return nil // nobody has ever written here
	}
	if err != nil {
		return failed("open", path, err)
	}
	if err := waitFlock(ctx, se.sys, fd, how); err != nil {
		return failed("lock", path, err)
	}
	se.lock = fd
	return se.stillThere(path)
}

// stillThere makes sure that what was locked is what others will lock.
func (se *session) stillThere(path string) error {
	for _, fd := range []int{se.dir, se.lock} {
		st, err := se.sys.stat(fd)
		if err != nil {
			return failed("stat", path, err)
		}
		if st.Nlink == 0 {
			return failed("lock", path, errVanished)
		}
	}
	return nil
}

// lockWait bounds the wait for a lock, as that for the engine's locks is.
const lockWait = 30 * time.Second

// waitFlock owns fd until it succeeds.
func waitFlock(ctx context.Context, sys files, fd, how int) error {
	err := sys.flock(fd, how|unix.LOCK_NB)
	if err == nil || !errors.Is(err, unix.EWOULDBLOCK) {
		if err != nil {
			sys.close(fd)
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	got := make(chan error, 1)
	go func() { got <- sys.flock(fd, how) }()
	select {
	case err := <-got:
		if err != nil {
			sys.close(fd)
		}
		return err
	case <-ctx.Done():
		// Nothing can call the waiter back: when it gets the lock it lets go.
		go func() {
			if err := <-got; err == nil {
				_ = sys.flock(fd, unix.LOCK_UN)
			}
			_ = sys.close(fd)
		}()
		return errors.Join(engine.ErrBusy, ctx.Err())
	}
}

// end marks the index as telling the truth, where it does, and lets go.
func (se *session) end() {
	if se.changed && se.known && !se.broken {
		// Failing leaves the directory unmarked: the next one walks.
		_ = se.sys.setMTime(se.dir, se.state.mark())
	}
	se.close()
}

func (se *session) close() {
	for _, fd := range []int{se.index, se.lock, se.dir} {
		if fd >= 0 {
			_ = se.sys.close(fd)
		}
	}
}

// absent: the kernel says that there is no such file.
func absent(err error) bool { return kernel.Absent(kernel.ObjectFile, err) }

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

// Journal is the record of what attachments own: a directory an attachment,
// an entry a plugin call (rule 1). It belongs on a tmpfs: it is of no use after
// a reboot, and is never synced.
type Journal struct {
	root string
	// Boot is the kernel's boot_id, which entries record.
	Boot string
	// Now is for the header's Created, which is shown to people.
	Now func() time.Time
}

// OpenJournal uses the state directory root, which FindStateDir gave.
func OpenJournal(root, boot string) *Journal {
	return &Journal{root: root, Boot: boot, Now: time.Now}
}

// Root is the state directory.
func (j *Journal) Root() string { return j.root }

func (j *Journal) attachmentsDir() string { return filepath.Join(j.root, "attachments") }

func (j *Journal) dirOf(id attachment.ID) string { return j.dirOfOwner(id.Owner()) }

func (j *Journal) dirOfOwner(owner attachment.Owner) string {
	return filepath.Join(j.attachmentsDir(), string(owner))
}

// Verdict is what is to become of an entry that stands where an ADD wants to
// make its own.
type Verdict int

// The three verdicts.
const (
	InForce   Verdict = iota // the ADD is refused
	Leftover                 // what it records is to be removed first
	LeftAlone                // it can't be removed; the ADD makes its own beside it
)

// errAgain says that what was looked at changed meanwhile.
var errAgain = errors.New("changed meanwhile")

// Begin makes the entry of an ADD, exclusively, and returns it locked.
// Where one of the same plugin and hash is there, judge (which is asked only
// about what can be read) may say that it is a Leftover: then nothing is made,
// and that one is returned, locked; the caller removes what it records and
// begins again. One that is InForce is ErrDone; one that is held by another
// process, ErrBusy.
func (j *Journal) Begin(ctx context.Context, h Header, judge func(*Entry) Verdict) (entry, leftover *Entry, err error) {
	if err := checkEntryName(h.Plugin, h.Hash); err != nil {
		return nil, nil, err
	}
	h.Format, h.Boot, h.Created = Format, j.Boot, j.Now().UTC().Truncate(time.Second)
	for {
		dir, err := j.lockDir(ctx, h.ID)
		if err != nil {
			return nil, nil, err
		}
		entry, leftover, err = j.beginIn(ctx, dir.f, h, judge)
		if err != nil {
			// A directory that we made for nothing; one in use is not empty.
			err = errors.Join(err, rmdirEmpty(dir.f.Name()))
		}
		dir.Unlock()
		if !errors.Is(err, errAgain) {
			return entry, leftover, err
		}
	}
}

func (j *Journal) beginIn(ctx context.Context, dir *os.File, h Header, judge func(*Entry) Verdict) (entry, leftover *Entry, err error) {
	names, err := entryNames(dir.Name())
	if err != nil {
		return nil, nil, err
	}
	last := 0
	for _, name := range names {
		seq, plugin, hash, _ := parseEntryName(name)
		last = max(last, seq)
		if plugin != h.Plugin || hash != h.Hash {
			continue
		}
		leftover, err := j.leftover(dir.Name(), name, judge)
		if leftover != nil || err != nil {
			return nil, leftover, err
		}
	}
	entry, err = create(ctx, dir, entryName(last+1, h.Plugin, h.Hash), h)
	return entry, nil, err
}

// leftover looks at an entry that stands where a new one should: nil, nil says
// that it can be passed over (it can't be read: rule 19).
func (j *Journal) leftover(dir, name string, judge func(*Entry) Verdict) (*Entry, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // an ADD does not wait for another of its own: that one is at work
	e, err := openLocked(ctx, dir, name)
	if err != nil || e == nil {
		return nil, err
	}
	switch err := e.decode(); {
	case errors.Is(err, errEmpty):
		return nil, errors.Join(errAgain, e.remove())
	case errors.Is(err, ErrUnreadable), errors.Is(err, ErrNewer):
		e.Close()
		return nil, nil
	case err != nil:
		e.Close()
		return nil, err
	}
	switch judge(e) {
	case Leftover:
		return e, nil
	case LeftAlone:
		e.Close()
		return nil, nil
	default:
		e.Close()
		return nil, fmt.Errorf("%s by %s: %w", e.Header.ID, e.Header.Plugin, ErrDone)
	}
}

// Take finds and locks the entry that a DEL is to undo: that of equal plugin
// and hash, else the newest of that plugin; nil where there is none. An entry
// that can't be read is an error that wraps ErrUnreadable or ErrNewer.
func (j *Journal) Take(ctx context.Context, id attachment.ID, plugin, hash string) (*Entry, error) {
	dir := j.dirOf(id)
	for {
		name, err := pick(dir, plugin, hash)
		if err != nil {
			return nil, err
		}
		if name == "" {
			// A crash between making it and the entry leaves it empty.
			return nil, rmdirEmpty(dir)
		}
		e, err := openLocked(ctx, dir, name)
		if err != nil {
			return nil, err
		}
		if e == nil {
			continue // removed while we waited for it
		}
		err = e.decode()
		if errors.Is(err, errEmpty) {
			if err := e.remove(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			e.Close()
			return nil, err
		}
		return e, nil
	}
}

func pick(dir, plugin, hash string) (string, error) {
	names, err := entryNames(dir)
	if err != nil {
		return "", err
	}
	newest := ""
	for _, name := range slices.Backward(names) {
		_, p, h, _ := parseEntryName(name)
		if p != plugin {
			continue
		}
		if h == hash {
			return name, nil
		}
		if newest == "" {
			newest = name
		}
	}
	return newest, nil
}

// read is All, with the errors apart from each other, less one attachment's
// folder.
func (j *Journal) read(but string) (all []*Entry, errs []error) {
	owners, err := os.ReadDir(j.attachmentsDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("list journal: %w", err)}
	}
	for _, owner := range owners {
		dir := filepath.Join(j.attachmentsDir(), owner.Name())
		if dir == but {
			continue
		}
		entries, unread := readAll(dir)
		all, errs = append(all, entries...), append(errs, unread...)
	}
	return all, errs
}

// Forget removes all entries of an attachment and nothing else: the operator's
// way out where they can't be read. It returns their names.
func (j *Journal) Forget(ctx context.Context, owner attachment.Owner) ([]string, error) {
	dir := j.dirOfOwner(owner)
	names, err := entryNames(dir)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, name := range names {
		e, err := openLocked(ctx, dir, name)
		if err != nil {
			return gone, err
		}
		if e == nil {
			continue
		}
		if err := e.remove(); err != nil {
			return gone, err
		}
		gone = append(gone, name)
	}
	return gone, nil
}

// lockDir makes the attachment's directory and takes its lock, which guards the
// making of entries. It is held for a look and a create, never for a call.
// The directory may go all the same while it is empty: so entries are made
// relative to it, which then fails.
func (j *Journal) lockDir(ctx context.Context, id attachment.ID) (*Lock, error) {
	dir := j.dirOf(id)
	for {
		if err := mkdirIn(j.attachmentsDir(), dir); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open journal: %w", err)
		}
		lock, err := flock(ctx, f, unix.LOCK_EX)
		if err != nil {
			return nil, err
		}
		same, err := stillAt(f, dir)
		if same && err == nil {
			return lock, nil
		}
		lock.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// mkdirIn makes a directory, and its parent if that is not there yet: the
// parents are made once, and stay.
func mkdirIn(parent, dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrNotExist) {
		err = os.Mkdir(parent, 0o700)
		if err == nil || errors.Is(err, os.ErrExist) {
			err = os.Mkdir(dir, 0o700)
		}
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make journal directory: %w", err)
	}
	return nil
}

// stillAt tells whether path is the file that f has open: whoever waited for a
// lock may have got that of a file that is gone by now.
func stillAt(f *os.File, path string) (bool, error) {
	var open, now unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &open); err != nil {
		return false, fmt.Errorf("look at %s: %w", path, err)
	}
	err := unix.Lstat(path, &now)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", path, err)
	}
	return open.Dev == now.Dev && open.Ino == now.Ino, nil
}

// entryNames lists the entries in order; a missing directory has none.
func entryNames(dir string) ([]string, error) {
	files, err := os.ReadDir(dir) // sorted, and the sequence leads the name
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list journal entries: %w", err)
	}
	var names []string
	for _, f := range files {
		if _, _, _, ok := parseEntryName(f.Name()); ok {
			names = append(names, f.Name())
		}
	}
	return names, nil
}

// create makes the entry and its first line. Until it has the lock, another may
// take the file for a crashed call's, and remove it: errAgain.
func create(ctx context.Context, dir *os.File, name string, h Header) (*Entry, error) {
	f, err := createIn(dir, name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errAgain
	}
	if err != nil {
		return nil, fmt.Errorf("make journal entry: %w", err)
	}
	lock, err := flock(ctx, f, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	e := &Entry{Header: h, name: name, dir: dir.Name(), file: f, lock: lock}
	same, err := stillAt(f, f.Name())
	if err == nil && !same {
		err = errAgain
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	if err := e.append(line{Header: &h}); err != nil {
		return nil, errors.Join(err, e.remove())
	}
	return e, nil
}

func createIn(dir *os.File, name string) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_APPEND | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd := -1
	err := retryEINTR(func() (err error) {
		fd, err = unix.Openat(int(dir.Fd()), name, flags, 0o600)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "openat", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openEntry opens without a lock; nil where it is gone.
func openEntry(dir, name string) (*Entry, error) {
	return openEntryAs(dir, name, os.O_RDWR|os.O_APPEND)
}

func openEntryAs(dir, name string, how int) (*Entry, error) {
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, how|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open journal entry: %w", err)
	}
	return &Entry{name: name, dir: dir, file: f}, nil
}

func openLocked(ctx context.Context, dir, name string) (*Entry, error) {
	e, err := openEntry(dir, name)
	if e == nil || err != nil {
		return nil, err
	}
	e.lock, err = flock(ctx, e.file, unix.LOCK_EX)
	if errors.Is(err, errStranded) {
		if err := renew(ctx, e.file.Name()); err != nil {
			return nil, err
		}
		return openLocked(ctx, dir, name)
	}
	if err != nil {
		return nil, err
	}
	same, err := stillAt(e.file, filepath.Join(dir, name))
	if err != nil || !same {
		e.Close()
		return nil, err
	}
	return e, nil
}

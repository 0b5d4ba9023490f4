package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

// Users of shared and holders of restored things are files: one directory a
// thing, one file an entry. To ask whether another uses a thing costs what its
// own users cost, not what the journal holds.

// user names an entry in such a directory.
type user struct{ owner, entry string }

func userOf(e *Entry) user {
	return user{string(e.Header.ID.Owner()), e.name}
}

func (u user) file() string { return u.owner + "." + u.entry }

// thing names what is shared, across attachments.
func thing(ref Ref, scope Scope, inScope bool) string {
	if inScope {
		return scoped(ref, scope.ID)
	}
	return string(ref)
}

func scoped(ref Ref, scope string) string { return string(ref) + " in " + scope }

func (j *Journal) usersDir(thing string) string {
	return filepath.Join(j.root, "shared", attachment.Digest(thing))
}

// Lock takes a named lock, shared or exclusive.
func (j *Journal) Lock(ctx context.Context, name string, exclusive bool) (*Lock, error) {
	path := j.lockPath(name)
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
		if errors.Is(err, os.ErrNotExist) {
			f, err = j.makeLock(ctx, path)
		}
		if err != nil {
			return nil, fmt.Errorf("open lock of %s: %w", name, err)
		}
		lock, err := flock(ctx, f, how)
		if errors.Is(err, errStranded) {
			if err := renew(ctx, path); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), j.dropFree(name))
		}
		same, err := stillAt(f, path)
		if same && err == nil {
			return lock, nil
		}
		lock.Unlock()
		if err != nil {
			return nil, errors.Join(err, j.dropFree(name)) // nobody else takes the file away
		}
	}
}

func (j *Journal) lockPath(name string) string {
	return filepath.Join(j.root, "locks", attachment.Digest(name))
}

// makeLock makes the file of a lock, which nobody does while another has the
// state directory's own lock.
func (j *Journal) makeLock(ctx context.Context, path string) (*os.File, error) {
	making, err := j.lockRoot(ctx, unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer making.Unlock()
	const flags = os.O_RDONLY | os.O_CREATE | unix.O_NOFOLLOW
	f, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err := mkdirIn(j.root, filepath.Dir(path)); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(path, flags, 0o600)
	}
	return f, err
}

func (j *Journal) lockRoot(ctx context.Context, how int) (*Lock, error) {
	f, err := os.Open(j.root)
	if err != nil {
		return nil, fmt.Errorf("open state directory: %w", err)
	}
	return flock(ctx, f, how)
}

// lockAnyway takes a named lock exclusively, also where there is no room for its
// file: then the state directory's own lock stands for it, and keeps others from
// making the file. Until it is let go of, no other lock may be taken.
func (j *Journal) lockAnyway(ctx context.Context, name string) (*Lock, error) {
	for {
		lock, err := j.Lock(ctx, name, true)
		if !noRoom(err) {
			return lock, err
		}
		root, err := j.lockRoot(ctx, unix.LOCK_EX)
		if err != nil {
			return nil, err
		}
		_, err = os.Lstat(j.lockPath(name))
		if errors.Is(err, os.ErrNotExist) {
			root.standsIn = true
			return root, nil
		}
		root.Unlock() // room was found meanwhile
		if err != nil {
			return nil, fmt.Errorf("look at lock of %s: %w", name, err)
		}
	}
}

// noRoom tells whether nothing can be made, while all that is there can be used.
func noRoom(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// dropFree removes the file of a lock that nobody holds, if nobody uses what it
// guards.
func (j *Journal) dropFree(name string) error {
	path := j.lockPath(name)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open lock of %s: %w", name, err)
	}
	err = flockNow(f, unix.LOCK_EX)
	if err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil // who has it lets go of it
		}
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	lock := &Lock{f: f}
	defer lock.Unlock()
	same, err := stillAt(f, path)
	if err != nil || !same {
		return err
	}
	return j.tidy(name)
}

// dropLock removes the file of a lock that is held exclusively: whoever waits
// for it notices, and makes another.
func (j *Journal) dropLock(name string) error {
	err := os.Remove(j.lockPath(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove lock of %s: %w", name, err)
	}
	return nil
}

// register makes the entry a user of the thing, with what it needs to keep.
func (j *Journal) register(thing string, u user, content any) error {
	dir := j.usersDir(thing)
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode user of %s: %w", thing, err)
	}
	path := filepath.Join(dir, u.file())
	err = replaceFile(path, data)
	if errors.Is(err, os.ErrNotExist) {
		if err := mkdirIn(filepath.Dir(dir), dir); err != nil {
			return err
		}
		err = replaceFile(path, data)
	}
	return err
}

// replaceFile writes beside and renames over: readers see the old or the new.
// A name that begins with a dot is no user, so a crash leaves no false one.
func replaceFile(path string, data []byte) error {
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
		if err == nil {
			err = os.Rename(tmp, path)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(tmp))
		}
	}
	if noRoom(err) {
		err = rewriteFile(path, data, err)
	}
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// rewriteFile writes over a file, if it has the room already; else the error is
// cause. Those who read it do so under the same lock.
func rewriteFile(path string, data []byte, cause error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return cause
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || int64(len(data)) > st.Blocks*512 {
		return cause
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(data)))
}

// unregister ends the use.
func (j *Journal) unregister(thing string, u user) error {
	dir := j.usersDir(thing)
	err := os.Remove(filepath.Join(dir, u.file()))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("end use of %s: %w", thing, err)
	}
	return nil
}

// tidy removes the lock and the directory of a thing that has no users, with
// what a crash may have left there. Users whose entry is gone are none. The
// lock is held exclusively.
func (j *Journal) tidy(thing string) error {
	used := false
	err := j.eachUser(thing, func(u user) (bool, error) {
		if used = j.hasEntry(u); used {
			return false, nil
		}
		return true, j.unregister(thing, u)
	})
	if err != nil || used {
		return err
	}
	if err := os.RemoveAll(j.usersDir(thing)); err != nil {
		return fmt.Errorf("remove users of %s: %w", thing, err)
	}
	return j.dropLock(thing)
}

// usersAtOnce is how many names of users are read at a time: most questions
// are answered by the first, and a thing may have thousands.
const usersAtOnce = 32

// eachUser calls f for each user of the thing, until f says that it has enough.
func (j *Journal) eachUser(thing string, f func(user) (more bool, err error)) error {
	dir, err := os.Open(j.usersDir(thing))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list users of %s: %w", thing, err)
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(usersAtOnce)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list users of %s: %w", thing, err)
		}
		for _, name := range names {
			owner, entry, _ := strings.Cut(name, ".")
			if owner == "" { // a file that was never finished
				continue
			}
			if more, err := f(user{owner, entry}); err != nil || !more {
				return err
			}
		}
	}
}

// hasEntry tells whether the entry of a user is still there, or may be.
func (j *Journal) hasEntry(u user) bool {
	_, err := os.Lstat(filepath.Join(j.attachmentsDir(), u.owner, u.entry))
	return !errors.Is(err, os.ErrNotExist)
}

// header reads the entry of a user: ok is false where it is gone.
func (j *Journal) header(u user) (h Header, ok bool, err error) {
	e, err := openEntry(filepath.Join(j.attachmentsDir(), u.owner), u.entry)
	if e == nil || err != nil {
		return Header{}, false, err
	}
	defer e.Close()
	if err := e.decode(); err != nil {
		if errors.Is(err, errEmpty) {
			return Header{}, false, nil
		}
		return Header{}, false, err
	}
	return e.Header, true, nil
}

// readUser gives what register kept; ok is false where there is none. What makes
// no sense is ErrUnreadable.
func (j *Journal) readUser(thing string, u user, content any) (ok bool, err error) {
	f, err := os.OpenFile(filepath.Join(j.usersDir(thing), u.file()), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read user of %s: %w", thing, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, entryMax))
	if err = errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("read user of %s: %w", thing, err)
	}
	if err := json.Unmarshal(data, content); err != nil {
		return false, fmt.Errorf("user of %s: %w: %w", thing, ErrUnreadable, err)
	}
	return true, nil
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fairlead-net/fairlead/attachment"
)

// Entries reads all entries of an attachment, in the order of their making,
// without a lock. Those that can't be read are left out, and said by the error,
// which comes with the others.
func (j *Journal) Entries(id attachment.ID) ([]*Entry, error) {
	entries, errs := readAll(j.dirOf(id))
	return entries, errors.Join(errs...)
}

// All reads every entry in the journal, as Entries does.
func (j *Journal) All() ([]*Entry, error) {
	all, errs := j.read("")
	return all, errors.Join(errs...)
}

// Others reads every entry but those of an attachment, as Entries does.
func (j *Journal) Others(id attachment.ID) ([]*Entry, error) {
	all, errs := j.read(j.dirOf(id))
	return all, errors.Join(errs...)
}

func readAll(dir string) (entries []*Entry, errs []error) {
	names, err := entryNames(dir)
	if err != nil {
		return nil, []error{err}
	}
	for _, name := range names {
		e, err := openEntryAs(dir, name, os.O_RDONLY)
		if err != nil {
			errs = append(errs, err)
		}
		if e == nil || err != nil {
			continue
		}
		err = e.decode()
		e.Close()
		switch {
		case err == nil:
			entries = append(entries, e)
		case !errors.Is(err, errEmpty):
			errs = append(errs, err)
		}
	}
	return entries, errs
}

// dropEmpty removes the entries whose writer died before their first line was
// whole, and the directories of those that died before they made one: nothing
// had been done for them. Entries that are held are being made.
func (j *Journal) dropEmpty() error {
	owners, err := os.ReadDir(j.attachmentsDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list journal: %w", err)
	}
	var errs []error
	for _, owner := range owners {
		dir := filepath.Join(j.attachmentsDir(), owner.Name())
		names, err := entryNames(dir)
		errs = append(errs, err)
		for _, name := range names {
			errs = append(errs, dropIfEmpty(dir, name))
		}
		// One that has entries stays, and one that was taken away under an ADD
		// is made again by it.
		errs = append(errs, rmdirEmpty(dir))
	}
	return errors.Join(errs...)
}

func dropIfEmpty(dir, name string) error {
	e, err := openEntry(dir, name)
	if e == nil || err != nil {
		return err
	}
	err = e.decode()
	e.Close()
	if !errors.Is(err, errEmpty) {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e, err = openLocked(ctx, dir, name)
	if errors.Is(err, ErrBusy) || e == nil {
		return nil
	}
	if err != nil {
		return err
	}
	if err := e.decode(); !errors.Is(err, errEmpty) {
		e.Close()
		return nil
	}
	return e.remove()
}

// Relock takes the lock of an entry that was read without, and reads it again:
// nil where it went meanwhile, ErrBusy where another holds it.
func (j *Journal) Relock(e *Entry) (*Entry, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	locked, err := openLocked(ctx, e.dir, e.name)
	if err != nil || locked == nil {
		return nil, err
	}
	if err := locked.decode(); err != nil {
		locked.Close()
		return nil, err
	}
	return locked, nil
}

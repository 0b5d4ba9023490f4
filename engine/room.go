package engine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// roomFiles is what one call's record takes at least: the attachment's directory
// and the entry in it.
const roomFiles = 2

// Room is an error where nothing more can be recorded: no byte, or no file, is to
// be had. It is found out by writing, into files without a name, which are gone
// at the end however that comes.
func (j *Journal) Room() error {
	if err := j.fit(roomFiles); err != nil {
		return fmt.Errorf("write to state directory: %w", err)
	}
	return nil
}

// fit writes to that many files at once.
func (j *Journal) fit(files int) error {
	if files == 0 {
		return nil
	}
	f, err := unnamed(j.root)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write([]byte{'\n'}); err != nil {
		return err
	}
	return j.fit(files - 1)
}

// unnamed makes a file without a name, or, where the file system has none, one
// whose name is taken away at once.
func unnamed(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_WRONLY|unix.O_TMPFILE, 0o600)
	if err == nil || !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return f, err
	}
	if f, err = os.CreateTemp(dir, ".room-*"); err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

package main

import (
	"errors"
	"io/fs"
	"os"
)

// leaseAdd writes one lease file in the layout that host-local's users know.
func leaseAdd(args []string) error {
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(args[1] + "\r\n" + args[2]); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// leaseDel removes one. None is fine.
func leaseDel(args []string) error {
	if err := os.Remove(args[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

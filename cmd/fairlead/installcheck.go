package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

func pluginNames() []string {
	var names []string
	for _, p := range allPlugins() {
		names = append(names, p.Name)
	}
	return names
}

// othersOfOurs are the names in the directory that are Fairlead's, but of another
// version: this one has no such plugin. A missing directory has none.
func othersOfOurs(dir string) ([]string, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list the directory of plugins: %w", err)
	}
	var names []string
	for _, f := range files {
		if f.Name() == "fairlead" || slices.Contains(pluginNames(), f.Name()) {
			continue
		}
		path := filepath.Join(dir, f.Name())
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // a link that leads nowhere tells nobody whose it is
		}
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", path, err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		ours, err := isOurs(path)
		if err != nil {
			return nil, err
		}
		if ours {
			names = append(names, f.Name())
		}
	}
	return names, nil
}

// checkInstall tells which names in the directory are not this very binary.
func checkInstall(out io.Writer, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	wrong := 0
	names := append(pluginNames(), "fairlead")
	for _, name := range names {
		path := filepath.Join(dir, name)
		fault, err := faultOf(self, path)
		if err != nil {
			return err
		}
		if fault != "" {
			wrong++
			fmt.Fprintf(out, "%s: %s\n", path, fault)
		}
	}
	more, err := othersOfOurs(dir)
	if err != nil {
		return err
	}
	for _, name := range more {
		fmt.Fprintf(out, "%s: of another version of Fairlead; this one has no such plugin\n", filepath.Join(dir, name))
	}
	if wrong += len(more); wrong > 0 {
		return fmt.Errorf("%d names in %s are not as this version's install makes them", wrong, dir)
	}
	fmt.Fprintf(out, "%s: all %d names are fairlead %s\n", dir, len(names), version)
	return nil
}

// faultOf is what is wrong with one name; "" if nothing is.
func faultOf(self, path string) (string, error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return "missing", nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "a link that leads nowhere", nil
	case err != nil:
		return "", fmt.Errorf("look at %s: %w", path, err)
	case !info.Mode().IsRegular():
		return "no file", nil
	}
	ours, err := isOurs(path)
	if err != nil {
		return "", err
	}
	same, err := equalFiles(self, path)
	switch {
	case err != nil:
		return "", fmt.Errorf("compare with this binary: %w", err)
	case !ours:
		return "not Fairlead's: another wrote it", nil
	case !same:
		return "another build of Fairlead", nil
	case info.Mode().Perm()&0o111 == 0:
		return "nobody may execute it", nil
	}
	return "", nil
}

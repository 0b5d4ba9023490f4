package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
)

const (
	defaultBinDir = "/opt/cni/bin"
	// replacedDir keeps, within the directory of plugins, what was there before.
	replacedDir = ".fairlead-replaced"
)

func installCommand() *cobra.Command {
	var to string
	var drop, link, check bool
	cmd := &cobra.Command{
		Use:   "install [--to DIR] [--check]",
		Short: "Put the plugins into a directory, keeping what they replace",
		Long: `Install writes this binary into the directory under its own name and under every
plugin's. Each name is replaced in one step: a runtime finds the old plugin or
the new one, never none. Another suite's plugin is kept under .fairlead-replaced;
'fairlead uninstall' puts it back.

Each plugin is a file of its own, so that an installer of another suite that
writes into one of them (cp -f) spoils that one alone. With --link they are
links to one file, which takes a fifteenth of the room.

With --check nothing is written: it is told which names are missing, another's,
or of another build of Fairlead, and the exit status is 1 if there are any.`,
		Args: usage.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case check && (drop || link):
				return usage.Errorf("--check writes nothing, so there is nothing to link or to keep")
			case check:
				return checkInstall(cmd.OutOrStdout(), to)
			}
			return install(cmd.OutOrStdout(), to, !drop, link)
		},
	}
	cmd.Flags().StringVar(&to, "to", defaultBinDir, "directory of CNI plugins; made if absent")
	cmd.Flags().BoolVar(&drop, "no-keep", false, "do not keep what is replaced")
	cmd.Flags().BoolVar(&link, "link", false, "make links to one file instead of copies")
	cmd.Flags().BoolVar(&check, "check", false, "tell whether what is in the directory is this binary still")
	return cmd
}

func uninstallCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "uninstall [--from DIR]",
		Short: "Take the plugins out of a directory, and put back what they replaced",
		Args:  usage.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return uninstall(cmd.OutOrStdout(), from)
		},
	}
	cmd.Flags().StringVar(&from, "from", defaultBinDir, "directory of CNI plugins")
	return cmd
}

func install(out io.Writer, dir string, keep, link bool) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of plugins: %w", err)
	}
	for _, p := range allPlugins() {
		if err := mayReplace(dir, p.Name, keep); err != nil {
			return err
		}
	}
	binary := filepath.Join(dir, "fairlead")
	if err := copyFile(self, binary); err != nil {
		return err
	}
	for _, p := range allPlugins() {
		if err := installName(out, dir, p.Name, keep, link); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "installed %d plugins into %s\n", len(allPlugins()), dir)
	more, err := othersOfOurs(dir)
	for _, name := range more {
		fmt.Fprintf(out, "%s: of another version of Fairlead, and not in this one: left as it is\n", filepath.Join(dir, name))
	}
	return err
}

// copyFile writes beside and renames over; a running plugin keeps the old file.
func copyFile(from, to string) error {
	if same, err := sameContent(from, to); err != nil || same {
		return err
	}
	src, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("read this binary: %w", err)
	}
	defer src.Close()
	dst, err := renameio.NewPendingFile(to, renameio.WithPermissions(0o755), renameio.WithTempDir(filepath.Dir(to)))
	if err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	defer func() { _ = dst.Cleanup() }() // after the replacement there is nothing to clean
	if _, err := io.Copy(dst, src); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	if err := dst.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	return nil
}

// sameContent tells whether there is a file at b itself, no link, with the content
// of a.
func sameContent(a, b string) (bool, error) {
	info, err := os.Lstat(b)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", b, err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm() != 0o755 {
		return false, nil
	}
	return equalFiles(a, b)
}

func equalFiles(a, b string) (bool, error) {
	one, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	two, err := os.ReadFile(b)
	return err == nil && bytes.Equal(one, two), err
}

// installName replaces one plugin by a copy of the binary, or by a link to it, in
// one rename.
func installName(out io.Writer, dir, name string, keep, link bool) error {
	path := filepath.Join(dir, name)
	if keep {
		kept, err := keepReplaced(dir, name)
		if err != nil {
			return err
		}
		if kept {
			fmt.Fprintf(out, "%s: replaced; the former one is kept in %s\n", path, filepath.Join(dir, replacedDir))
		}
	}
	if !link {
		return copyFile(filepath.Join(dir, "fairlead"), path)
	}
	if err := renameio.Symlink("fairlead", path); err != nil {
		return fmt.Errorf("install %s: %w", path, err)
	}
	return nil
}

// keepReplaced links another suite's plugin into the directory of what was
// replaced. Our own is not kept, and what is kept already is not overwritten.
func keepReplaced(dir, name string) (bool, error) {
	path, kept := filepath.Join(dir, name), filepath.Join(dir, replacedDir, name)
	theirs, err := strangers(path)
	if err != nil || !theirs {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return false, fmt.Errorf("keep %s: %w", path, err)
	}
	err = os.Link(path, kept)
	if errors.Is(err, os.ErrExist) {
		return false, alreadyKept(path, kept)
	}
	if err != nil {
		return false, fmt.Errorf("keep %s: %w", path, err)
	}
	return true, nil
}

// mayReplace is asked of every name before the first is touched.
func mayReplace(dir, name string, keep bool) error {
	path, kept := filepath.Join(dir, name), filepath.Join(dir, replacedDir, name)
	theirs, err := strangers(path)
	if err != nil || !theirs || !keep {
		return err
	}
	if _, err := os.Lstat(kept); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look at %s: %w", kept, err)
	}
	return alreadyKept(path, kept)
}

// alreadyKept is an error unless what is kept is the very file: of an install
// that died half way.
func alreadyKept(path, kept string) error {
	now, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	then, err := os.Lstat(kept)
	if err != nil {
		return fmt.Errorf("look at %s: %w", kept, err)
	}
	if os.SameFile(now, then) {
		return nil
	}
	return fmt.Errorf("%s is another one; move it away, or use --no-keep", kept)
}

// strangers tells whether there is another suite's file.
func strangers(path string) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", path, err)
	}
	if info.IsDir() {
		return false, fmt.Errorf("%s is a directory", path)
	}
	ours, err := isOurs(path)
	return !ours, err
}

// isOurs tells whether the file, or what a link leads to, is a fairlead binary,
// of whatever version. A link that leads nowhere is nobody's.
func isOurs(path string) (bool, error) {
	info, err := buildinfo.ReadFile(path)
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("look at %s: %w", path, err)
	}
	return err == nil && info.Path == "github.com/fairlead-net/fairlead/cmd/fairlead", nil
}

func uninstall(out io.Writer, dir string) error {
	more, err := othersOfOurs(dir) // while the links lead somewhere
	if err != nil {
		return err
	}
	removed := 0
	names := slices.Concat(pluginNames(), more, []string{"fairlead"})
	for _, name := range names {
		gone, err := uninstallName(out, dir, name)
		if err != nil {
			return err
		}
		if gone {
			removed++
		}
	}
	// What is left in it is the operator's.
	_ = os.Remove(filepath.Join(dir, replacedDir))
	if removed == 0 {
		return fmt.Errorf("nothing in %s is Fairlead's", dir)
	}
	fmt.Fprintf(out, "took %d names out of %s\n", removed, dir)
	return nil
}

// uninstallName takes one name away, and tells whether anything of ours went, or
// anything came back.
func uninstallName(out io.Writer, dir, name string) (bool, error) {
	path := filepath.Join(dir, name)
	_, err := os.Lstat(path)
	there := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("look at %s: %w", path, err)
	}
	if there {
		ours, err := isOurs(path)
		if err != nil {
			return false, err
		}
		if !ours {
			fmt.Fprintf(out, "%s: not ours, left alone\n", path)
			return false, nil
		}
	}
	err = os.Rename(filepath.Join(dir, replacedDir, name), path)
	if err == nil {
		fmt.Fprintf(out, "%s: the former one is back\n", path)
		return true, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("put back %s: %w", path, err)
	}
	if !there {
		return false, nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("remove %s: %w", path, err)
	}
	return true, nil
}

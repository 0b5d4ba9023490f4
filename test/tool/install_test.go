package tool

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase33AnothersInstallerSpoilsOnePlugin: it copies its own over a name, as
// many do, and not by a rename. The others stay, the tool too, which tells.
func TestCase33AnothersInstallerSpoilsOnePlugin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, exec.Command(binary(t), "install", "--to", dir))
	tool := filepath.Join(dir, "fairlead")
	must(t, exec.Command(tool, "install", "--to", dir, "--check"))
	theirs := filepath.Join(t.TempDir(), "bridge")
	if err := os.WriteFile(theirs, []byte("#!/bin/sh\n# another suite's\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, exec.Command("cp", "-f", theirs, filepath.Join(dir, "bridge")))
	for _, name := range []string{"fairlead", "macvlan", "host-local"} {
		if strings.Contains(content(t, filepath.Join(dir, name)), "another suite's\n") {
			t.Errorf("%s is spoiled too", name)
		}
	}
	code, out := status(t, exec.Command(tool, "install", "--to", dir, "--check"))
	if code != 1 || !strings.Contains(out, "bridge: not Fairlead's") || !strings.Contains(out, "1 names") {
		t.Errorf("status %d: %s", code, out)
	}
	must(t, exec.Command(tool, "install", "--to", dir)) // keeps theirs
	must(t, exec.Command(tool, "install", "--to", dir, "--check"))
	if !strings.Contains(content(t, filepath.Join(dir, ".fairlead-replaced/bridge")), "another suite's") {
		t.Error("what was mended over is not kept")
	}
}

// TestInstallCheckTells every name that is not as install makes it.
func TestInstallCheckTells(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(dir string) error
		says  string
	}{
		"missing": {func(dir string) error { return os.Remove(filepath.Join(dir, "vrf")) }, "vrf: missing"},
		"dangling": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "vrf")), os.Symlink("nowhere", filepath.Join(dir, "vrf")))
		}, "vrf: a link that leads nowhere"},
		"other build": {func(dir string) error {
			f, err := os.OpenFile(filepath.Join(dir, "vrf"), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more")
			return errors.Join(err, f.Close())
		}, "vrf: another build of Fairlead"},
		"not executable": {func(dir string) error { return os.Chmod(filepath.Join(dir, "vrf"), 0o644) }, "vrf: nobody may execute it"},
		"other version":  {func(dir string) error { return os.Symlink("fairlead", filepath.Join(dir, "portmap")) }, "portmap: of another version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, exec.Command(binary(t), "install", "--to", dir))
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			if code, out := status(t, exec.Command(binary(t), "install", "--to", dir, "--check")); code != 1 || !strings.Contains(out, c.says) {
				t.Errorf("status %d: %s", code, out)
			}
			must(t, exec.Command(binary(t), "uninstall", "--from", dir))
		})
	}
	if code, out := status(t, exec.Command(binary(t), "install", "--to", filepath.Join(t.TempDir(), "none"), "--check")); code != 1 || strings.Count(out, "missing") != len(host.Plugins)+1 {
		t.Errorf("of no directory: status %d: %s", code, out)
	}
}

// TestInstallLinks to one file where asked, and copies anew over them.
func TestInstallLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		flag string
		link bool
	}{{"--link", true}, {"--link=false", false}} {
		must(t, exec.Command(binary(t), "install", "--to", dir, c.flag))
		info, err := os.Lstat(filepath.Join(dir, "bridge"))
		if err != nil || info.Mode().IsRegular() == c.link {
			t.Errorf("%s: %v, %v", c.flag, info.Mode(), err)
		}
		must(t, exec.Command(binary(t), "install", "--to", dir, "--check"))
	}
}

// TestCase33UninstallOfNothing is no success.
func TestCase33UninstallOfNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, from := range []string{dir, filepath.Join(dir, "none")} {
		if code, out := status(t, exec.Command(binary(t), "uninstall", "--from", from)); code != 1 || !strings.Contains(out, "nothing in") {
			t.Errorf("status %d: %s", code, out)
		}
	}
}

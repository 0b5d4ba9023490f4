package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Plugins are the names that Fairlead's binary answers to.
var Plugins = []string{"loopback", "bridge", "ptp", "macvlan", "ipvlan", "vlan", "dummy", "tap", "host-device", "vpc", "vrf", "sbr", "tuning", "host-local", "static"}

const (
	module        = "github.com/fairlead-net/fairlead"
	referencePath = "github.com/containernetworking/plugins/plugins/..."
	// ReferenceVersion is that of the reference plugins.
	ReferenceVersion = "v1.10.0"
)

// Build builds Fairlead once a test run and returns a directory that holds the
// binary, as fairlead and under each plugin's name. FAIRLEAD_TEST_PLUGINS
// names a directory that is ready instead.
func Build(t testing.TB) string {
	t.Helper()
	return ready(t, "FAIRLEAD_TEST_PLUGINS", buildFairlead)
}

// Reference gets the reference plugins, by the go command, and returns their
// directory. FAIRLEAD_TEST_REFERENCE names one that is ready instead.
func Reference(t testing.TB) string {
	t.Helper()
	return ready(t, "FAIRLEAD_TEST_REFERENCE", buildReference)
}

// Recorder builds the recording delegate (testdata/recorder) and returns a
// directory with it in, as recorder. FAIRLEAD_TEST_RECORDER names one that is
// ready instead.
func Recorder(t testing.TB) string {
	t.Helper()
	return ready(t, "FAIRLEAD_TEST_RECORDER", buildRecorder)
}

func ready(t testing.TB, variable string, build func() (string, error)) string {
	t.Helper()
	if dir := os.Getenv(variable); dir != "" {
		return dir
	}
	if InVM() {
		t.Fatalf("host: %s is not set: 'make vmtest' builds outside the virtual machine", variable)
	}
	dir, err := build()
	if err != nil {
		t.Fatalf("host: %v", err)
	}
	return dir
}

// Each is built once a process; the results are kept in the cache, by
// content, for other processes.
var (
	buildFairlead = sync.OnceValues(func() (string, error) {
		return build(module+"/cmd/fairlead", "fairlead", Plugins)
	})
	buildRecorder = sync.OnceValues(func() (string, error) {
		return build(module+"/test/host/testdata/recorder", "recorder", nil)
	})
	buildReference = sync.OnceValues(reference)
)

func cache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache directory: %w", err)
	}
	dir = filepath.Join(dir, "fairlead", "test")
	return dir, os.MkdirAll(dir, 0o755)
}

// build builds a program of this module into a directory that is named by the
// content, so that a finished directory never changes.
func build(pkg, name string, links []string) (string, error) {
	root, err := cache()
	if err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(root, ".build-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	program := filepath.Join(tmp, name)
	if err := goTool(nil, "build", "-trimpath", "-ldflags=-s -w", "-o", program, pkg); err != nil {
		return "", err
	}
	sum, err := digest(program)
	if err != nil {
		return "", err
	}
	for _, l := range links {
		if err := os.Symlink(name, filepath.Join(tmp, l)); err != nil {
			return "", err
		}
		sum += l
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	id := sha256.Sum256([]byte(sum))
	dir := filepath.Join(root, name+"-"+hex.EncodeToString(id[:8]))
	err = os.Rename(tmp, dir)
	if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY) {
		err = nil // another process was first
	}
	return dir, err
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func reference() (string, error) {
	root, err := cache()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "reference-"+ReferenceVersion)
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	tmp, err := os.MkdirTemp(root, ".reference-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := goTool([]string{"GOBIN=" + tmp}, "install", referencePath+"@"+ReferenceVersion); err != nil {
		return "", err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	return dir, os.Rename(tmp, dir)
}

func goTool(env []string, args ...string) error {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	c.Env = append(c.Env, env...)
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/fairlead-net/fairlead/lab/host"
)

// Libcni is libcni on this host: its children run there, and its cache is its
// own. pluginDir may be a list of directories, as CNI_PATH.
func (h *Host) Libcni(pluginDir string) *libcni.CNIConfig {
	return h.LibcniWith(pluginDir, h.Exec())
}

// LibcniWith is Libcni with an Exec that the caller looks into afterwards.
func (h *Host) LibcniWith(pluginDir string, e *Exec) *libcni.CNIConfig {
	h.t.Helper()
	return libcni.NewCNIConfigWithCacheDir(filepath.SplitList(pluginDir), h.t.TempDir(), e)
}

// Exec returns an invoke.Exec that runs plugins on this host.
func (h *Host) Exec() *Exec { return &Exec{h: h} }

// An Exec runs plugins on a host for libcni, and remembers every call.
type Exec struct {
	h *Host
	version.PluginDecoder

	mu    sync.Mutex
	calls []Call
}

var _ invoke.Exec = (*Exec)(nil)

// A Call is one plugin call that libcni made.
type Call struct {
	Plugin, Verb string
	Stdin        string
	Outcome
}

// Calls returns what was called so far.
func (e *Exec) Calls() []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Call(nil), e.calls...)
}

// Stderr returns what all calls so far wrote there.
func (e *Exec) Stderr() string {
	var b strings.Builder
	for _, c := range e.Calls() {
		b.WriteString(c.Stderr)
	}
	return b.String()
}

// FindInPath looks a plugin up as the host sees the file system.
func (e *Exec) FindInPath(plugin string, paths []string) (path string, err error) {
	e.h.Do(func() { path, err = invoke.FindInPath(plugin, paths) })
	return path, err
}

// ExecPlugin runs one plugin on the host's thread.
func (e *Exec) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	c := e.h.Command(path)
	// libcni hands on the tester's environment too.
	c.Env = host.Environment()
	call := Call{Plugin: filepath.Base(path), Stdin: string(stdin)}
	for _, v := range environ {
		if strings.HasPrefix(v, "CNI_") {
			c.Env = append(c.Env, v)
		}
		if verb, ok := strings.CutPrefix(v, "CNI_COMMAND="); ok {
			call.Verb = verb
		}
	}
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), &out, &errs
	if err := c.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Process.Kill() })
	err := c.Wait()
	stop()
	call.Outcome = Outcome{Stdout: out.String(), Stderr: errs.String(), Exit: c.ProcessState.ExitCode()}
	e.mu.Lock()
	e.calls = append(e.calls, call)
	e.mu.Unlock()
	if err != nil {
		return nil, pluginError(call, err)
	}
	return out.Bytes(), nil
}

// pluginError is the error object that a failed plugin printed.
func pluginError(c Call, err error) error {
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return err
	}
	var e types.Error
	if json.Unmarshal([]byte(c.Stdout), &e) != nil || (e.Code == 0 && e.Msg == "") {
		return fmt.Errorf("%s %s failed (%w) without an error object: %q; stderr %q", c.Plugin, c.Verb, err, c.Stdout, c.Stderr)
	}
	return &e
}

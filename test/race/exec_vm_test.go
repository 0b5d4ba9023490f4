//go:build vmtest

package race

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/lab/inject"
	"github.com/fairlead-net/fairlead/test/host"
)

// runner runs plugins on a host for libcni; with a trap, under the filter.
type runner struct {
	*host.Exec
	version.PluginDecoder
	h    *host.Host
	trap *trap // nil: none
}

// ExecPlugin runs one plugin.
func (r *runner) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	if r.trap == nil || !r.trap.mayHit(filepath.Base(path)) {
		return r.Exec.ExecPlugin(ctx, path, stdin, environ)
	}
	c := r.h.Command(path)
	for _, v := range environ {
		if strings.HasPrefix(v, "CNI_") {
			c.Env = append(c.Env, v)
		}
	}
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), &out, &errs
	s, err := inject.Prepare(c.Cmd, inject.Sends(), r.trap.hook)
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		s.Abandon()
		return nil, err
	}
	if err := s.Attach(); err != nil {
		return nil, errors.Join(err, c.Wait(), errors.New(errs.String()))
	}
	err = c.Wait()
	if lost := s.Wait(); lost != nil {
		r.trap.fail(lost)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return out.Bytes(), err
	}
	var e types.Error
	if json.Unmarshal(out.Bytes(), &e) != nil || e.Msg == "" {
		return nil, fmt.Errorf("%s: %w, no error object: %q %q", filepath.Base(path), err, out.String(), errs.String())
	}
	return nil, &e
}

// FindInPath is that of the host.
func (r *runner) FindInPath(plugin string, paths []string) (string, error) {
	return r.Exec.FindInPath(plugin, paths)
}

// Decode is that of libcni.
func (r *runner) Decode(b []byte) (version.PluginInfo, error) { return r.PluginDecoder.Decode(b) }

// A trap waits for a request about a link of the container, and takes links
// away just before it is sent. It springs once.
type trap struct {
	ns     *kernel.Namespace
	cookie uint64
	vrf    int // index
	member int
	race   race

	sprung bool
	errs   []error
}

// mayHit spares the plugins that need no watching.
func (tr *trap) mayHit(plugin string) bool {
	wanted := "vrf"
	if tr.race.before == memberDelete {
		wanted = "macvlan"
	}
	return !tr.sprung && plugin == wanted
}

func (tr *trap) fail(err error) { tr.errs = append(tr.errs, err) }

func (tr *trap) hook(c *inject.Call) inject.Verdict {
	if !tr.sprung {
		if hit, err := tr.hit(c); err != nil {
			tr.fail(err)
		} else if hit {
			tr.sprung = true
			tr.strike()
		}
	}
	return inject.Verdict{}
}

// hit tells whether the request that is about to be sent is the awaited one.
func (tr *trap) hit(c *inject.Call) (bool, error) {
	sent, err := c.Sent()
	if err != nil {
		return false, err
	}
	for _, m := range inject.Messages(sent) {
		if !tr.awaited(m) {
			continue
		}
		s, err := c.Socket(int(c.Args[0]))
		if err != nil {
			return false, err
		}
		return s.Domain == unix.AF_NETLINK && s.Protocol == unix.NETLINK_ROUTE && s.Cookie == tr.cookie, nil
	}
	return false, nil
}

func (tr *trap) awaited(m inject.Message) bool {
	_, master := m.Attributes(unix.SizeofIfInfomsg)[unix.IFLA_MASTER]
	switch tr.race.before {
	case release:
		return (m.Type == unix.RTM_SETLINK || m.Type == unix.RTM_NEWLINK) && master && m.LinkIndex() == tr.member
	case vrfDelete:
		return m.Type == unix.RTM_DELLINK && m.LinkIndex() == tr.vrf
	case memberDelete:
		return m.Type == unix.RTM_DELLINK && m.LinkIndex() == tr.member
	}
	return false
}

func (tr *trap) strike() {
	for _, victim := range []struct {
		struck bool
		index  int
	}{{tr.race.member, tr.member}, {tr.race.vrf, tr.vrf}} {
		if !victim.struck {
			continue
		}
		if ok, err := tr.ns.DelLink(victim.index); err != nil || !ok {
			tr.fail(fmt.Errorf("take link %d away: %t, %w", victim.index, ok, err))
		}
	}
}

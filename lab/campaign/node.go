package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/lab/host"
	"github.com/fairlead-net/fairlead/lab/inject"
)

// Every run has the same containers, so that names derived from them are the
// same.
const (
	subjectID = "lab-subject" // whose calls are broken
	keptID    = "lab-kept"    // that GC must keep
	ifName    = "eth0"
)

// A node is a host with the network's plugins, as a runtime sees it.
type node struct {
	*host.Host
	list    *libcni.NetworkConfigList
	cni     *libcni.CNIConfig
	runner  *runner
	cache   string // of libcni
	spaces  map[uint64]*kernel.Namespace
	born    map[int]kernel.Link // links of the host that are no network's, by index
	subject *libcni.RuntimeConf
	norm    *normaliser
	apart   func() error   // not nil: plugins run in a mount namespace of their own, changed by this
	undo    []func() error // of what was made of the scene
}

// ipBatch, as a command, is ip with many lines.
const ipBatch = "ip -batch"

// newNode makes a furnished host with the namespace of the subject.
func newNode(s *setup) (*node, error) {
	h, err := host.New()
	if err != nil {
		return nil, err
	}
	n := &node{Host: h, list: s.list, spaces: map[uint64]*kernel.Namespace{}, norm: s.norm}
	if err := n.furnish(s); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *node) furnish(s *setup) error {
	var err error
	if n.cache, err = os.MkdirTemp("", "fairlead-lab-*"); err != nil {
		return fmt.Errorf("libcni's cache: %w", err)
	}
	n.runner = &runner{node: n}
	n.cni = libcni.NewCNIConfigWithCacheDir(filepath.SplitList(s.plugins), n.cache, n.runner)
	if err := n.know(n.NetnsPath()); err != nil {
		return err
	}
	for _, argv := range s.furniture {
		if err := n.command(argv); err != nil {
			return err
		}
	}
	if err := n.remember(); err != nil {
		return err
	}
	n.subject, err = n.container(subjectID)
	return err
}

// remember notes the links that the host has.
func (n *node) remember() error {
	n.born = map[int]kernel.Link{}
	for _, ns := range n.spaces {
		links, err := ns.Links()
		if err != nil {
			return fmt.Errorf("links of the host: %w", err)
		}
		for _, l := range links {
			n.born[l.Index] = l
		}
	}
	return nil
}

// command runs one command of the furniture. Those of ip may be many, in one
// batch, a line each.
func (n *node) command(argv []string) error {
	c := n.Command(argv[0], argv[1:]...)
	if len(argv) > 1 && argv[0] == ipBatch {
		c = n.Command("ip", "-batch", "-")
		c.Stdin = strings.NewReader(argv[1])
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	if out, err := n.Output(c); err != nil {
		return fmt.Errorf("prepare the host: %s: %w: %s%s", strings.Join(argv, " "), err, out, errs.String())
	}
	return nil
}

// container makes a container's namespace.
func (n *node) container(id string) (*libcni.RuntimeConf, error) {
	path, err := n.AddNetns(id)
	if err != nil {
		return nil, err
	}
	return &libcni.RuntimeConf{ContainerID: id, NetNS: path, IfName: ifName}, n.know(path)
}

// know opens a namespace, to be able to tell it by its cookie.
func (n *node) know(path string) error {
	var ns *kernel.Namespace
	var absence kernel.Absence
	var err error
	n.Do(func() { ns, absence, err = kernel.Open(path) })
	if err == nil && absence != "" {
		err = errors.New(string(absence))
	}
	if err != nil {
		return fmt.Errorf("open namespace %s: %w", path, err)
	}
	cookie, err := ns.Cookie()
	if err != nil {
		return errors.Join(fmt.Errorf("namespace %s: %w", path, err), ns.Close())
	}
	n.spaces[cookie] = ns
	return nil
}

// where names a namespace for points: the host's is not named.
func (n *node) where(cookie uint64) string {
	ns, ok := n.spaces[cookie]
	switch {
	case !ok:
		return "[elsewhere]"
	case ns.Path() == n.NetnsPath():
		return ""
	}
	return "[" + filepath.Base(ns.Path()) + "]"
}

// forget lets go of a namespace, which must be removed.
func (n *node) forget(path string) error {
	for cookie, ns := range n.spaces {
		if ns.Path() == path {
			delete(n.spaces, cookie)
			return ns.Close()
		}
	}
	return nil
}

func (n *node) close() error {
	var errs []error
	for _, ns := range n.spaces {
		errs = append(errs, ns.Close())
	}
	errs = append(errs, n.Close())
	if n.cache != "" {
		errs = append(errs, os.RemoveAll(n.cache))
	}
	return errors.Join(errs...)
}

// add, del, check and gc are what a runtime calls.
func (n *node) add(ctx context.Context, rt *libcni.RuntimeConf) error {
	_, err := n.cni.AddNetworkList(ctx, n.list, rt)
	return err
}

func (n *node) del(ctx context.Context, rt *libcni.RuntimeConf) error {
	return n.cni.DelNetworkList(ctx, n.list, rt)
}

func (n *node) check(ctx context.Context, rt *libcni.RuntimeConf) error {
	return n.cni.CheckNetworkList(ctx, n.list, rt)
}

func (n *node) gc(ctx context.Context, valid ...string) error {
	args := &libcni.GCArgs{ValidAttachments: []types.GCAttachment{}}
	for _, id := range valid {
		args.ValidAttachments = append(args.ValidAttachments, types.GCAttachment{ContainerID: id, IfName: ifName})
	}
	return n.cni.GCNetworkList(ctx, n.list, args)
}

// A runner starts plugins on the node for libcni: under the filter while
// somebody hears them.
type runner struct {
	version.PluginDecoder
	node   *node
	hook   inject.Hook // nil: nobody hears
	plugin string      // that was called last
	lost   []error     // of sessions: calls that were not heard
	said   string      // on stderr, by the calls since it was emptied
}

var _ invoke.Exec = (*runner)(nil)

// FindInPath looks a plugin up as the host sees the file system.
func (r *runner) FindInPath(plugin string, paths []string) (path string, err error) {
	r.node.Do(func() { path, err = invoke.FindInPath(plugin, paths) })
	return path, err
}

// ExecPlugin runs one plugin.
func (r *runner) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	c := r.node.Command(path)
	for _, v := range environ {
		if strings.HasPrefix(v, "CNI_") { // and not the environment of the lab
			c.Env = append(c.Env, v)
		}
	}
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), &out, &errs
	err := r.run(ctx, c)
	r.said += errs.String()
	if err == nil {
		return out.Bytes(), nil
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return nil, err
	}
	var e types.Error
	if json.Unmarshal(out.Bytes(), &e) != nil || e.Code == 0 && e.Msg == "" {
		return nil, fmt.Errorf("%s: %w, no error object: %q %q", filepath.Base(path), err, out.String(), errs.String())
	}
	return nil, &e
}

// run runs a command, and waits for it and, if it is heard, for whatever it
// started.
func (r *runner) run(ctx context.Context, c *exec.Cmd) error {
	r.plugin = filepath.Base(c.Path)
	start := r.node.Start
	if apart := r.node.apart; apart != nil {
		start = func(c *exec.Cmd) error { return r.node.StartApart(c, apart) }
	}
	if r.hook == nil {
		if err := start(c); err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { _ = c.Process.Kill() })
		defer stop()
		return c.Wait()
	}
	calls := slices.Concat(inject.All(), inject.Reads(), inject.Looks())
	s, err := inject.Prepare(c, calls, r.hook)
	if err != nil {
		return err
	}
	if err := start(c); err != nil {
		s.Abandon()
		return err
	}
	stop := context.AfterFunc(ctx, s.Kill)
	defer stop()
	if err := s.Attach(); err != nil {
		return errors.Join(err, c.Wait())
	}
	err = c.Wait()
	if e := s.Wait(); e != nil {
		r.lost = append(r.lost, e)
	}
	return err
}

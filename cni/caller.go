package cni

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/pkg/invoke"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/attachment"
)

// caller calls delegates: in this process where CNI_PATH leads to this very
// binary, else by execution. The answers are the same.
type caller struct {
	runner *Runner
	path   []string // CNI_PATH; may be empty at DEL
	// now is the call at hand.
	now *Request
	// from is the call that has delegates.
	from *call
	// today has the delegations of the call at hand, where it is the same
	// configuration as at ADD: CHECK and DEL get its prevResult.
	today   []Delegation
	todayID attachment.ID
}

// config is what a delegate gets at CHECK and DEL: today's configuration where
// it is the one of ADD, else that of ADD.
func (c *caller) config(d *delegate) []byte {
	for _, t := range c.today {
		if t.Type == d.Type && c.todayID == d.ID {
			return t.Config
		}
	}
	return d.Config
}

// find resolves a plugin's name: CNI_PATH, then where it was at ADD, then
// beside this binary. At ADD the first is all there is (spec 30).
func (c *caller) find(typ, remembered string) (string, error) {
	if typ == "" || strings.ContainsRune(typ, os.PathSeparator) {
		return "", Errorf(CodeConfig, "%q is no plugin's name", typ)
	}
	path, err := invoke.FindInPath(typ, c.path)
	if err == nil {
		return path, nil
	}
	if remembered != "" {
		if info, statErr := os.Stat(remembered); statErr == nil && info.Mode().IsRegular() {
			return remembered, nil
		}
	}
	if len(c.path) == 0 {
		if self, selfErr := os.Executable(); selfErr == nil {
			if path, findErr := invoke.FindInPath(typ, []string{filepath.Dir(self)}); findErr == nil {
				return path, nil
			}
		}
		if _, ours := c.runner.Plugins(typ); ours {
			return "", nil // ourselves, wherever we are
		}
	}
	return "", fmt.Errorf("find delegate: %w", err)
}

// ours gives the plugin where path is this very binary under one of our names.
func (c *caller) ours(typ, path string) (Plugin, bool) {
	plugin, ok := c.runner.Plugins(typ)
	if !ok || path == "" {
		return plugin, ok
	}
	return plugin, thisProgram(path)
}

// add calls ADD and gives the result.
func (c *caller) add(ctx context.Context, typ, path string, req *Request) (*current.Result, error) {
	if plugin, ok := c.ours(typ, path); ok {
		return c.runner.inProcess(ctx, plugin, req, c.from)
	}
	out, err := c.exec(ctx, path, req)
	if err != nil {
		return nil, err
	}
	var conf struct {
		CNIVersion string `json:"cniVersion"`
	}
	if err := decode(req.Stdin, &conf); err != nil {
		return nil, err
	}
	if conf.CNIVersion == "" {
		conf.CNIVersion = implicitVersion
	}
	result, err := parseResult(out, conf.CNIVersion)
	if err != nil {
		return nil, Errorf(CodeDecode, "result of %s: %w", typ, err)
	}
	return result, nil
}

// call calls a verb that has no result.
func (c *caller) call(ctx context.Context, typ, path string, req *Request) error {
	if plugin, ok := c.ours(typ, path); ok {
		_, err := c.runner.inProcess(ctx, plugin, req, c.from)
		return err
	}
	_, err := c.exec(ctx, path, req)
	return err
}

func delegateEnv(base []string, req *Request, found string) []string {
	path := req.Path
	if len(path) == 0 {
		path = []string{filepath.Dir(found)} // the reference suite demands one
	}
	env := make([]string, 0, len(base)+6)
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "CNI_COMMAND", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH":
		default:
			env = append(env, kv)
		}
	}
	return append(env,
		"CNI_COMMAND="+string(req.Verb),
		"CNI_CONTAINERID="+req.ContainerID,
		"CNI_NETNS="+req.Netns,
		"CNI_IFNAME="+req.IfName,
		"CNI_ARGS="+req.Args,
		"CNI_PATH="+strings.Join(path, string(filepath.ListSeparator)),
	)
}

func (r *Runner) stderr() io.Writer {
	if r.Stderr == nil {
		return io.Discard
	}
	return r.Stderr
}

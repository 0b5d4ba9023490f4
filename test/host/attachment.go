package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
)

// A Config is one plugin's network configuration.
type Config map[string]any

// With returns a copy in which some keys have other values: key, value, key,
// value and so on. A nil value takes the key out.
func (c Config) With(pairs ...any) Config {
	c = maps.Clone(c)
	for i := 0; i < len(pairs); i += 2 {
		key := pairs[i].(string)
		if pairs[i+1] == nil {
			delete(c, key)
		} else {
			c[key] = pairs[i+1]
		}
	}
	return c
}

// String is the configuration as JSON.
func (c Config) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("a test's configuration: %v", err))
	}
	return string(b)
}

// Type is the plugin that the configuration is for.
func (c Config) Type() string { s, _ := c["type"].(string); return s }

// An Attachment is a container's attachment to a network, made and removed by
// execution of the plugin that Config names, found along Path.
type Attachment struct {
	Host      *Host
	Path      string // CNI_PATH; the plugin is found along it
	Config    Config
	Before    []Config // plugins that come before in the list
	Container string
	Netns     string
	IfName    string
	Extra     Env // more of the environment, or other values than the above
}

// Attach makes a container with a namespace of its own, and says how it would
// be attached by the configuration. No plugin is called yet.
func (h *Host) Attach(path string, c Config, ifName string) Attachment {
	h.t.Helper()
	name := h.fresh("c")
	return Attachment{Host: h, Path: path, Config: c, Container: name, Netns: h.Netns(name), IfName: ifName}
}

// Env is the environment of the attachment's calls.
func (a Attachment) Env() Env {
	env := Env{"CNI_CONTAINERID": a.Container, "CNI_NETNS": a.Netns, "CNI_IFNAME": a.IfName, "CNI_PATH": a.Path}
	for k, v := range a.Extra {
		env[k] = v
	}
	return env
}

// Runtime is the attachment as libcni takes it.
func (a Attachment) Runtime() *libcni.RuntimeConf {
	return &libcni.RuntimeConf{ContainerID: a.Container, NetNS: a.Netns, IfName: a.IfName}
}

// Call calls the plugin, or those of the list.
func (a Attachment) Call(verb string) Outcome {
	a.Host.t.Helper()
	if len(a.Before) > 0 {
		return a.callList(verb)
	}
	return a.Host.RunPlugin(a.dir(), a.Config.Type(), verb, a.Env(), a.Config.String())
}

// Prepare prepares a call, for callers who start it themselves.
func (a Attachment) Prepare(verb string) *Cmd {
	a.Host.t.Helper()
	return a.Host.Plugin(a.dir(), a.Config.Type(), verb, a.Env(), a.Config.String())
}

func (a Attachment) dir() string {
	a.Host.t.Helper()
	for _, dir := range filepath.SplitList(a.Path) {
		if _, err := os.Stat(filepath.Join(dir, a.Config.Type())); err == nil {
			return dir
		}
	}
	a.Host.t.Fatalf("host: no plugin %q in %q", a.Config.Type(), a.Path)
	return ""
}

// Check calls the plugin to CHECK, with the result of an ADD.
func (a Attachment) Check(prevResult Result) Outcome {
	a.Host.t.Helper()
	return a.WithConfig("prevResult", prevResult).Call("CHECK")
}

// GC calls the plugin to keep what the given attachments own, and nothing else.
func (a Attachment) GC(valid ...Attachment) Outcome {
	a.Host.t.Helper()
	list := []any{}
	for _, v := range valid {
		list = append(list, map[string]any{"containerID": v.Container, "ifname": v.IfName})
	}
	return a.WithConfig("cni.dev/valid-attachments", list).Bare().Call("GC")
}

// Status asks the plugin whether it is ready.
func (a Attachment) Status() Outcome {
	a.Host.t.Helper()
	return a.Bare().Call("STATUS")
}

// Bare leaves out what says which container is meant, for calls that concern
// none.
func (a Attachment) Bare() Attachment {
	return a.WithEnv("CNI_CONTAINERID", Unset, "CNI_NETNS", Unset, "CNI_IFNAME", Unset)
}

// MustAdd adds the attachment, or ends the test.
func (a Attachment) MustAdd(t testing.TB) Result {
	t.Helper()
	o := a.Call("ADD")
	if !o.OK() {
		t.Fatalf("ADD of %s failed: %s%s", a.Container, o.Stdout, o.Stderr)
	}
	return o.Result(t)
}

// MustDel removes the attachment, or fails the test.
func (a Attachment) MustDel(t testing.TB) {
	t.Helper()
	if o := a.Call("DEL"); !o.OK() || o.Stdout != "" {
		t.Errorf("DEL of %s with CNI_NETNS %q: exit %d, %s%s", a.Container, a.Env()["CNI_NETNS"], o.Exit, o.Stdout, o.Stderr)
	}
}

// WithEnv returns the attachment with other values in its environment.
func (a Attachment) WithEnv(pairs ...string) Attachment {
	extra := Env{}
	maps.Copy(extra, a.Extra)
	for i := 0; i < len(pairs); i += 2 {
		extra[pairs[i]] = pairs[i+1]
	}
	a.Extra = extra
	return a
}

// WithConfig returns the attachment with other values in its configuration.
func (a Attachment) WithConfig(pairs ...any) Attachment {
	a.Config = a.Config.With(pairs...)
	return a
}

// A Result is what an ADD printed, as it stands there.
type Result map[string]any

// Result reads the result that the call printed.
func (o Outcome) Result(t testing.TB) Result {
	t.Helper()
	var r Result
	if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil {
		t.Fatalf("no result: %v in %q", err, o.Stdout)
	}
	return r
}

// Clone returns a deep copy, to be changed.
func (r Result) Clone() Result {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	var c Result
	if err := json.Unmarshal(b, &c); err != nil {
		panic(err)
	}
	return c
}

// Interfaces lists the result's interfaces; changes in them are changes in
// the result.
func (r Result) Interfaces() []map[string]any { return objects(r["interfaces"]) }

// IPs likewise lists the addresses.
func (r Result) IPs() []map[string]any { return objects(r["ips"]) }

// Routes likewise lists the routes.
func (r Result) Routes() []map[string]any { return objects(r["routes"]) }

func objects(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// Error reads the error object that the call printed: of a call that failed,
// and nothing else may be on standard output.
func (o Outcome) Error(t testing.TB) *types.Error {
	t.Helper()
	if o.OK() {
		t.Errorf("the call succeeded and should not: %s", o.Stdout)
		return &types.Error{}
	}
	var e types.Error
	if err := json.Unmarshal([]byte(o.Stdout), &e); err != nil {
		t.Errorf("exit %d and no error object: %v in %q; stderr %q", o.Exit, err, o.Stdout, o.Stderr)
		return &types.Error{}
	}
	if e.Msg == "" {
		t.Errorf("no message in the error object %s", o.Stdout)
	}
	return &e
}

// Address returns the n-th address of the result, without the prefix length.
func (r Result) Address(n int) string {
	ips := r.IPs()
	if n >= len(ips) {
		return ""
	}
	s, _ := ips[n]["address"].(string)
	return withoutLength(s)
}

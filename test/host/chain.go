package host

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/containernetworking/cni/libcni"
)

// list is the attachment's plugins in order, with what a runtime tells all of
// them.
func (a Attachment) list() []Config {
	var all []Config
	for _, c := range a.Before {
		for _, key := range []string{"name", "cniVersion", "cni.dev/valid-attachments"} {
			c = c.With(key, a.Config[key])
		}
		all = append(all, c)
	}
	return append(all, a.Config)
}

// List makes the attachment's plugins a list for libcni.
func (a Attachment) List(t testing.TB) *libcni.NetworkConfigList {
	t.Helper()
	plugins := []any{}
	for _, c := range a.list() {
		plugins = append(plugins, c)
	}
	list, err := libcni.ConfListFromBytes([]byte(Config{
		"cniVersion": a.Config["cniVersion"], "name": a.Config["name"], "plugins": plugins,
	}.String()))
	if err != nil {
		t.Fatalf("host: %s: %v", a.Config, err)
	}
	return list
}

// Itself is the attachment without the plugins before.
func (a Attachment) Itself() Attachment {
	a.Before = nil
	return a
}

// Base is the attachment by the plugins before alone.
func (a Attachment) Base() Attachment {
	all := a.list()
	a.Config, a.Before = all[len(all)-2], all[:len(all)-2]
	return a
}

// callList calls each plugin as a runtime does: DEL in reverse; the others in
// order, ADD with the result of the one before. It ends with the first that
// fails, but for GC.
func (a Attachment) callList(verb string) Outcome {
	a.Host.t.Helper()
	all := a.list()
	if verb == "DEL" {
		slices.Reverse(all)
	}
	prev := a.Config["prevResult"]
	var failed *Outcome
	var last Outcome
	for _, c := range all {
		one := a.Itself()
		one.Config = c.With("prevResult", prev)
		last = one.Call(verb)
		switch {
		case !last.OK() && verb == "GC":
			failed = &last
		case !last.OK():
			return last
		case verb == "ADD":
			var r Result
			if json.Unmarshal([]byte(last.Stdout), &r) == nil {
				prev = r
			}
		}
	}
	if failed != nil {
		return *failed
	}
	return last
}

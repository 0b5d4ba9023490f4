package conformance

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

func contains(t testing.TB, message, part string) {
	t.Helper()
	if !strings.Contains(message, part) {
		t.Errorf("%q does not say %q", message, part)
	}
}

func spec30(tr *trial) {
	before := tr.before()
	a, records := tr.recorded()
	a.Path = strings.Join([]string{tr.TempDir(), tr.dir, "/does/not/exist", host.Recorder(tr)}, string(filepath.ListSeparator))
	a.MustAdd(tr)
	got := host.Records(tr, records, "ADD")
	if len(got) != 1 || got[0].Program != filepath.Join(host.Recorder(tr), "recorder") {
		tr.Errorf("the delegate's calls: %+v", got)
	}
	a.MustDel(tr)
	a.Path = tr.dir
	mustFail(tr, "ADD with a delegate that is not in CNI_PATH", a.Call("ADD"))
	tr.h.DeleteNetns(a.Netns)
	tr.clean(before)
}

func spec31(tr *trial) {
	a, records := tr.recorded()
	a = a.WithEnv("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAME=pod", "TRACEPARENT", "00-11-22-01", "OF_A_RUNTIME", "kept").
		WithConfig("args", map[string]any{"cni": map[string]any{"x": "y"}},
			"runtimeConfig", map[string]any{"mac": "02:00:00:00:00:31"},
			"capabilities", map[string]any{"mac": true})
	r := a.MustAdd(tr)
	silent(tr, "CHECK", a.Check(r))
	a.MustDel(tr)
	for _, got := range host.Records(tr, records) {
		env := a.Env()
		env["CNI_COMMAND"] = got.Verb
		for name, want := range env {
			if v, ok := got.Get(name); !ok || v != want {
				tr.Errorf("%s: the delegate got %s=%q (%v), want %q", got.Verb, name, v, ok, want)
			}
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(a.Config.String()), &want); err != nil {
			tr.Fatal(err)
		}
		prev := got.Stdin["prevResult"]
		if (prev != nil) != (got.Verb == "CHECK") {
			tr.Errorf("%s: the delegate got prevResult %v", got.Verb, prev)
		}
		delete(got.Stdin, "prevResult")
		if !reflect.DeepEqual(got.Stdin, want) {
			tr.Errorf("%s: the delegate got the configuration\n%v, want\n%v", got.Verb, got.Stdin, want)
		}
	}
}

func spec32(tr *trial) {
	a, _ := tr.recorded("stderr", "heard from the delegate\n")
	for _, verb := range []string{"ADD", "DEL"} {
		o := a.Call(verb)
		mustSucceed(tr, verb, o)
		contains(tr, o.Stderr, "heard from the delegate")
	}
}

func spec33(tr *trial) {
	a, records := tr.recorded()
	r := a.MustAdd(tr)
	silent(tr, "CHECK", a.Check(r))
	silent(tr, "GC", a.GC(a))
	silent(tr, "DEL", a.Call("DEL"))
	for _, verb := range []string{"CHECK", "DEL", "GC"} {
		if len(host.Records(tr, records, verb)) == 0 {
			tr.Errorf("the delegate got no %s", verb)
		}
	}
	for _, verb := range []string{"CHECK", "DEL", "GC"} {
		tr.Run(verb+" fails", func(t *testing.T) {
			tr := tr.again(t)
			a, _ := tr.recorded(refuses(verb)...)
			r := a.MustAdd(t)
			o := map[string]func() host.Outcome{
				"CHECK": func() host.Outcome { return a.Check(r) },
				"DEL":   func() host.Outcome { return a.Call("DEL") },
				"GC":    func() host.Outcome { return a.GC(a) },
			}[verb]()
			contains(t, mustFail(t, verb, o), "the recorder refuses "+verb)
		})
	}
}

func spec34(tr *trial) {
	a, records := tr.recorded(refuses("ADD")...)
	before := tr.before()
	contains(tr, mustFail(tr, "ADD whose delegate fails", a.Call("ADD"), 113), "the recorder refuses ADD")
	if n := len(host.Records(tr, records, "DEL")); n != 1 {
		tr.Errorf("the delegate got %d DELs, want 1", n)
	}
	tr.clean(before)
}

func spec35(tr *trial) {
	for _, v := range since(versions, "0.3.0") {
		r := tr.attach("cniVersion", v).WithEnv().MustAdd(tr)
		if r["interfaces"] != nil {
			tr.Errorf("%s: interfaces %v", v, r["interfaces"])
		}
		for _, ip := range r.IPs() {
			if _, ok := ip["interface"]; ok {
				tr.Errorf("%s: an address of interface %v", v, ip["interface"])
			}
		}
	}
}

package conformance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types/create"

	"github.com/fairlead-net/fairlead/test/host"
)

func spec36(tr *trial) {
	dns := map[string]any{"nameservers": []any{"192.0.2.1"}, "domain": "example.net",
		"search": []any{"example.net"}, "options": []any{"ndots:2"}}
	for _, v := range since(versions, tr.oldest) {
		tr.Run(v, func(t *testing.T) {
			t.Parallel()
			tr := tr.again(t)
			a := tr.attach("cniVersion", v, "dns", dns)
			o := a.Call("ADD")
			if !o.OK() {
				t.Fatalf("ADD: %s%s", o.Stdout, o.Stderr)
			}
			if _, err := create.Create(v, []byte(o.Stdout)); err != nil {
				t.Errorf("the result is none of version %s: %v: %s", v, err, o.Stdout)
			}
			r := o.Result(t)
			if r["cniVersion"] != v {
				t.Errorf("cniVersion %v, want %s", r["cniVersion"], v)
			}
			if slices.Contains([]string{"0.1.0", "0.2.0"}, v) {
				tr.oldResult(t, r)
				return
			}
			tr.resultInterfaces(t, a, v, r)
			tr.resultAddresses(t, v, r)
			if tr.delegates {
				same(t, "dns", r["dns"], dns)
				same(t, "routes", routeTo(r), []string{"0.0.0.0/0"})
			}
		})
	}
	tr.Run("no cniVersion is 0.1.0", func(t *testing.T) {
		tr := tr.again(t)
		a := tr.attach("cniVersion", nil)
		o := a.Call("ADD")
		if !o.OK() {
			t.Fatalf("ADD: %s%s", o.Stdout, o.Stderr)
		}
		tr.oldResult(t, o.Result(t))
	})
}

// oldResult looks at a result before 0.3.0: one address a family.
func (tr *trial) oldResult(t *testing.T, r host.Result) {
	t.Helper()
	ip4, _ := r["ip4"].(map[string]any)
	if tr.name == "loopback" {
		same(t, "ip4.ip", ip4["ip"], "127.0.0.1/8")
		return
	}
	same(t, "ip4.ip", ip4["ip"], "10.99.0.2/24")
	same(t, "ip4.gateway", ip4["gateway"], "10.99.0.1")
	if routes, _ := ip4["routes"].([]any); len(routes) != 1 {
		t.Errorf("ip4.routes: %v", routes)
	}
}

func (tr *trial) resultInterfaces(t *testing.T, a host.Attachment, version string, r host.Result) {
	t.Helper()
	list := r.Interfaces()
	if len(list) != len(tr.interfaces) {
		t.Errorf("%d interfaces, want %d: %v", len(list), len(tr.interfaces), list)
		return
	}
	for i, where := range tr.interfaces {
		sandbox, _ := list[i]["sandbox"].(string)
		if want := map[side]string{onHost: "", inContainer: a.Netns}[where]; sandbox != want {
			t.Errorf("interface %d is in sandbox %q, want %q", i, sandbox, want)
		}
		tr.resultLink(t, a, list[i])
	}
	if len(list) == 0 {
		return
	}
	if tr.inside() {
		same(t, "the container's interface", list[tr.addressOf]["name"], tr.ifName)
	}
}

// resultLink holds one interface against the link that it speaks of.
func (tr *trial) resultLink(t *testing.T, a host.Attachment, i map[string]any) {
	t.Helper()
	p := tr.h.Snapshot()
	if i["sandbox"] != nil {
		p = tr.h.SnapshotIn(a.Netns)
	}
	name, _ := i["name"].(string)
	mac, _ := i["mac"].(string)
	at := slices.IndexFunc(p, func(f host.Fact) bool { return f.Sort == "link" && f.Name == name })
	if at < 0 {
		t.Errorf("there is no link %q", name)
		return
	}
	if mac == "" || !strings.Contains(p[at].Detail, "address="+mac) {
		t.Errorf("link %s has not the MAC address %q: %s", name, mac, p[at].Detail)
	}
}

func (tr *trial) resultAddresses(t *testing.T, v string, r host.Result) {
	t.Helper()
	ips := r.IPs()
	if tr.name == "loopback" {
		if len(ips) == 0 || ips[0]["address"] != "127.0.0.1/8" {
			t.Errorf("addresses %v", ips)
		}
		return
	}
	if len(ips) != 1 {
		t.Fatalf("addresses %v, want one", ips)
	}
	same(t, "the address", ips[0]["address"], "10.99.0.2/24")
	same(t, "the gateway", ips[0]["gateway"], "10.99.0.1")
	if tr.interfaces != nil {
		same(t, "the address's interface", ips[0]["interface"], float64(tr.addressOf))
	}
	if strings.HasPrefix(v, "0.") {
		same(t, "the address's version", ips[0]["version"], "4")
	}
}

func routeTo(r host.Result) []string {
	var to []string
	for _, route := range r.Routes() {
		dst, _ := route["dst"].(string)
		to = append(to, dst)
	}
	return to
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		t.Errorf("%s: %s, want %s", what, g, w)
	}
}

func spec37(tr *trial) {
	for _, v := range since(versions, tr.oldest) {
		o := tr.h.RunPlugin(tr.dir, tr.config.Type(), "VERSION", host.Env{"CNI_PATH": host.Unset}, `{"cniVersion":"`+v+`"}`)
		if !o.OK() {
			tr.Errorf("VERSION of %s: %s%s", v, o.Stdout, o.Stderr)
			continue
		}
		r := o.Result(tr)
		same(tr, "cniVersion", r["cniVersion"], v)
		supported, _ := r["supportedVersions"].([]any)
		for _, want := range since(versions, tr.oldest) {
			if !slices.Contains(supported, any(want)) {
				tr.Errorf("supportedVersions %v lack %s", supported, want)
			}
		}
	}
}

func spec38(tr *trial) {
	a := tr.attach().Itself()
	before := tr.before()
	for _, verb := range []string{"ADD", "DEL", "CHECK", "GC", "STATUS"} {
		mustFail(tr, verb+" with JSON that is cut short", tr.raw(a, verb, `{"cniVersion":"1.1.0","na`), 6)
		mustFail(tr, verb+" without a configuration", tr.raw(a, verb, ""), 6)
		mustFail(tr, verb+" of version 9.9.9", a.WithConfig("cniVersion", "9.9.9").Call(verb), 1)
	}
	for verb, names := range map[string][]string{
		"ADD":   {"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"},
		"CHECK": {"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"},
		"DEL":   {"CNI_CONTAINERID", "CNI_IFNAME"},
	} {
		message := mustFail(tr, verb+" without anything", a.WithEnv(unset(names...)...).Call(verb), 4)
		for _, n := range names {
			contains(tr, message, n)
			contains(tr, mustFail(tr, verb+" without "+n, a.WithEnv(n, host.Unset).Call(verb), 4), n)
		}
	}
	contains(tr, mustFail(tr, "an unknown verb", a.Call("MEND"), 4), "CNI_COMMAND")
	for _, v := range since(versions, tr.oldest) {
		o := a.WithConfig("cniVersion", v, "name", "a/b").Call("ADD")
		mustFail(tr, "ADD of "+v, o, 7)
		same(tr, "the error's cniVersion", o.Result(tr)["cniVersion"], v)
	}
	tr.clean(before)
}

// raw calls the plugin with any standard input.
func (tr *trial) raw(a host.Attachment, verb, stdin string) host.Outcome {
	tr.Helper()
	return tr.h.RunPlugin(tr.dir, tr.config.Type(), verb, a.Env(), stdin)
}

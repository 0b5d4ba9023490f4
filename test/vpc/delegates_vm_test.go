//go:build vmtest

package vpc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-net/fairlead/test/host"
)

// counting is another's host-device: the reference suite's, in front of which
// every call is written down, and which counts what it has: a DEL of what it
// does not have fails.
type counting struct{ dir string }

const countingScript = `#!/bin/bash
dir=%[1]s
conf=$(cat)
printf %%s "$conf" | (exec -a host-device %[2]s/recorder) >/dev/null 2>&1
fail() { printf '{"cniVersion": "1.0.0", "code": 120, "msg": "%%s"}' "$1"; exit 1; }
[ -e "$dir/refuse-$CNI_COMMAND" ] && fail "host-device refuses $CNI_COMMAND"
count=$(cat "$dir/count")
[ "$CNI_COMMAND" = DEL ] && [ "$count" = 0 ] && fail "host-device has no device"
printf %%s "$conf" | %[3]s/host-device || exit 1
[ "$CNI_COMMAND" = ADD ] && echo $((count + 1)) > "$dir/count"
[ "$CNI_COMMAND" = DEL ] && echo $((count - 1)) > "$dir/count"
exit 0
`

func newCounting(t *testing.T) counting {
	t.Helper()
	c := counting{t.TempDir()}
	bin := filepath.Join(c.dir, "bin")
	write := func(path, content string, mode os.FileMode) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(c.dir, "count"), "0\n", 0o644)
	write(filepath.Join(bin, "host-device"), fmt.Sprintf(countingScript, c.dir, host.Recorder(t), host.Reference(t)), 0o755)
	return c
}

func (c counting) has(t *testing.T, want string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, "count"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(b)); got != want {
		t.Errorf("host-device has %s devices, want %s", got, want)
	}
}

func (c counting) refuse(t *testing.T, verb string, yes bool) {
	t.Helper()
	path := filepath.Join(c.dir, "refuse-"+verb)
	err := os.Remove(path)
	if yes {
		err = os.WriteFile(path, nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// path has the counting host-device first, then the recorder, then Fairlead.
func (c counting) path(t *testing.T) string {
	t.Helper()
	return strings.Join([]string{filepath.Join(c.dir, "bin"), host.Recorder(t), host.Build(t)}, string(filepath.ListSeparator))
}

// recorded is an attachment whose two delegates write down what they hear.
func recorded(t *testing.T, h *host.Host, c counting, mode string, instructions ...any) (a host.Attachment, records string) {
	t.Helper()
	records = t.TempDir()
	do := host.Config{"dir": records, "result": map[string]any{
		"ips": []any{map[string]any{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}},
	}}.With(instructions...)
	a = h.Attach(c.path(t), conf("blue", "web", "mode", mode, "ipam", map[string]any{"type": "recorder"}, "recorder", do), "eth0")
	return a, records
}

// heard lists the calls, as "VERB PROGRAM".
func heard(t *testing.T, records string) []string {
	t.Helper()
	var list []string
	for _, r := range host.Records(t, records) {
		list = append(list, r.Verb+" "+filepath.Base(r.Program))
	}
	return list
}

// TestCase04DelegatesHearEveryVerb: both do, in pairs, with what rule 24 says;
// with a tap there is only one.
func TestCase04DelegatesHearEveryVerb(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]string{
		"veth": {
			"STATUS recorder", "STATUS host-device", "ADD recorder", "ADD host-device", "CHECK recorder", "CHECK host-device",
			"GC host-device", "GC recorder", "DEL host-device", "DEL recorder",
		},
		"tap": {"STATUS recorder", "ADD recorder", "CHECK recorder", "GC recorder", "DEL recorder"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h, c := host.New(t), newCounting(t)
			a, records := recorded(t, h, c, mode)
			a = a.WithEnv("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAME=pod")
			before := h.Snapshot()
			if o := a.Status(); !o.OK() {
				t.Errorf("STATUS: %s%s", o.Stdout, o.Stderr)
			}
			r := a.MustAdd(t)
			healthy(t, a, r)
			if o := a.GC(a); !o.OK() {
				t.Errorf("GC: %s%s", o.Stdout, o.Stderr)
			}
			healthyBut(t, a, r)
			a.MustDel(t)
			h.Same(t, before, stays)
			c.has(t, "0")
			if diff := cmp.Diff(want, heard(t, records)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, rec := range host.Records(t, records) {
				compare(t, a, rec)
			}
		})
	}
}

// healthyBut looks without asking the delegates.
func healthyBut(t *testing.T, a host.Attachment, r host.Result) {
	t.Helper()
	links := a.Host.MustRun("ip", "-br", "link")
	if name, _ := r.Interfaces()[0]["name"].(string); !strings.Contains(links, name) {
		t.Errorf("%s is gone:\n%s", name, links)
	}
}

// compare holds a call against rule 24.
func compare(t *testing.T, a host.Attachment, rec host.Record) {
	t.Helper()
	env := a.Env()
	if rec.Verb == "STATUS" || rec.Verb == "GC" {
		env["CNI_CONTAINERID"], env["CNI_NETNS"], env["CNI_IFNAME"] = "", "", ""
	}
	for _, name := range []string{"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH"} {
		if got, _ := rec.Get(name); got != env[name] {
			t.Errorf("%s of %s: %s is %q, want %q", rec.Verb, rec.Program, name, got, env[name])
		}
	}
	_, ipam := rec.Stdin["ipam"]
	device, _ := rec.Stdin["device"].(string)
	if mover := filepath.Base(rec.Program) == "host-device"; ipam == mover || (device != "") != mover {
		t.Errorf("%s of %s: ipam %v, device %q", rec.Verb, rec.Program, ipam, device)
	}
	if rec.Stdin["vpc"] != "blue" || rec.Stdin["name"] != "net-blue" {
		t.Errorf("%s of %s: %v", rec.Verb, rec.Program, rec.Stdin)
	}
}

// TestCase04ReferenceCountEndsAtZero whatever happens between ADD and DEL, and
// however often DEL comes.
func TestCase04ReferenceCountEndsAtZero(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(host.Attachment) host.Attachment{
		"nothing":     func(a host.Attachment) host.Attachment { return a },
		"no journal":  func(a host.Attachment) host.Attachment { a.Host.RemoveAll("/run/fairlead"); return a },
		"no CNI_PATH": func(a host.Attachment) host.Attachment { return a.WithEnv("CNI_PATH", host.Unset) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, c := host.New(t), newCounting(t)
			before := h.Snapshot()
			a, records := recorded(t, h, c, "veth")
			a.MustAdd(t)
			c.has(t, "1")
			b := between(a)
			b.MustDel(t)
			c.has(t, "0")
			if name != "no CNI_PATH" { // and no journal by now: whom to ask is not known
				b.MustDel(t)
			}
			c.has(t, "0")
			h.DeleteNetns(a.Netns)
			h.Same(t, before, stays)
			if n := len(host.Records(t, records, "ADD")); n != 2 {
				t.Errorf("%d ADDs", n)
			}
		})
	}
}

// TestDelegateADDFails: it hears DEL, nothing is left, and the answer is its.
func TestDelegateADDFails(t *testing.T) {
	t.Parallel()
	h, c := host.New(t), newCounting(t)
	a, records := recorded(t, h, c, "veth")
	before := h.Snapshot()
	c.refuse(t, "ADD", true)
	o := a.Call("ADD")
	if o.OK() || !strings.Contains(o.Error(t).Error(), "host-device refuses ADD") {
		t.Errorf("%s", o.Stdout)
	}
	h.Same(t, before, stays)
	calls := heard(t, records)
	if !slices.Contains(calls, "DEL host-device") || !slices.Contains(calls, "DEL recorder") {
		t.Errorf("%q", calls)
	}
	c.has(t, "0")
	c.refuse(t, "ADD", false)
	a.MustAdd(t)
	a.MustDel(t)
	h.Same(t, before, stays)
}

// TestDelegateDELFails: all else is done, then it is told; the retry succeeds,
// since the device is gone.
func TestDelegateDELFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*testing.T, counting){
		"refused": func(t *testing.T, c counting) { c.refuse(t, "DEL", true) },
		"binary missing": func(t *testing.T, c counting) {
			if err := os.Remove(filepath.Join(c.dir, "bin", "host-device")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, journal := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, journal %v", name, journal), func(t *testing.T) {
				t.Parallel()
				h, c := host.New(t), newCounting(t)
				a, records := recorded(t, h, c, "veth")
				if name == "binary missing" {
					// Ours has the name, too.
					dir := t.TempDir()
					if err := os.Link(filepath.Join(host.Build(t), "fairlead"), filepath.Join(dir, "vpc")); err != nil {
						if err := copyFile(filepath.Join(host.Build(t), "fairlead"), filepath.Join(dir, "vpc")); err != nil {
							t.Fatal(err)
						}
					}
					a.Path = strings.Replace(a.Path, host.Build(t), dir, 1)
				}
				before := h.Snapshot()
				a.MustAdd(t)
				fail(t, c)
				if !journal {
					h.RemoveAll("/run/fairlead")
				}
				o := a.Call("DEL")
				if o.OK() || !strings.Contains(o.Error(t).Error(), "host-device") {
					t.Errorf("DEL: %d %s%s", o.Exit, o.Stdout, o.Stderr)
				}
				left := h.Left(before, stays, func(f host.Fact) bool {
					return f.Sort == "file" && strings.HasPrefix(f.Name, "/run/fairlead/attachments")
				})
				if len(left) > 0 {
					t.Errorf("left, besides the record:\n%s", strings.Join(left, "\n"))
				}
				if calls := heard(t, records); !slices.Contains(calls, "DEL recorder") {
					t.Errorf("%q", calls)
				}
				a.MustDel(t)
				h.Same(t, before, stays)
			})
		}
	}
}

// TestDelegateDELFailsWithoutNamespace: the device is proven gone, so that a
// delegate which needs the namespace can't hold DEL up.
func TestDelegateDELFailsWithoutNamespace(t *testing.T) {
	t.Parallel()
	h, c := host.New(t), newCounting(t)
	before := h.Snapshot()
	a, _ := recorded(t, h, c, "veth")
	a.MustAdd(t)
	h.DeleteNetns(a.Netns)
	a.MustDel(t)
	h.SameSoon(t, before, stays)
}

// TestIPAMDELFails: the pair goes, the lease stays, and the answer says so.
func TestIPAMDELFails(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"veth", "tap"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h, c := host.New(t), newCounting(t)
			errors := filepath.Join(t.TempDir(), "errors")
			a, records := recorded(t, h, c, mode, "errorsFrom", errors)
			before := h.Snapshot()
			a.MustAdd(t)
			if err := os.WriteFile(errors, []byte(`{"DEL": {"code": 113, "msg": "no lease is given back"}}`), 0o644); err != nil {
				t.Fatal(err)
			}
			o := a.Call("DEL")
			if o.OK() || !strings.Contains(o.Error(t).Error(), "no lease is given back") {
				t.Errorf("%s", o.Stdout)
			}
			h.Same(t, before, stays, func(f host.Fact) bool { return strings.HasPrefix(f.Name, "/run/fairlead/attachments") })
			if err := os.Remove(errors); err != nil {
				t.Fatal(err)
			}
			a.MustDel(t)
			h.Same(t, before, stays)
			if n := len(host.Records(t, records, "DEL")); n < 2 {
				t.Errorf("%d DELs", n)
			}
			c.has(t, "0")
		})
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

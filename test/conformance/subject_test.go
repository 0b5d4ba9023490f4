package conformance

import (
	"path/filepath"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// A subject is one plugin under test, and what the suite must know of it. A
// new plugin is one more subject.
type subject struct {
	name   string
	ifName string
	// config is a whole configuration in its usual form, the version 1.1.0.
	config host.Config
	// chain are the plugins that it comes after in a list.
	chain []host.Config
	// changes is what it changes in a result that it passes on.
	changes func(host.Result)
	// oldest is the first version that the plugin speaks.
	oldest string
	// vm is true for what needs the virtual machine's kernel.
	vm bool
	// prepare makes what the configuration needs on a host (a master link).
	prepare func(*host.Host)
	// own is what each container has another value of, by its name.
	own func(container string) []any
	// stands is true for what may stay behind besides host.Standing.
	stands func(host.Fact) bool

	ipam      bool // is an IPAM plugin
	leases    bool // keeps leases of a range by itself
	delegates bool // calls an IPAM plugin
	passesOn  bool // takes a prevResult and passes it on
	plain     bool // every container has the same address
	sharesMAC bool // its interface can't be given a MAC address
	// like is a subject of this machine that states what it owns by the same
	// code: the virtual machine, which is slow, proves only kindOnly of it.
	like string

	// interfaces says which interfaces a result has, in order.
	interfaces []side
	// addressOf is the interface that each address belongs to.
	addressOf int
	// breakages is what CHECK must find.
	breakages []breakage
}

// inside tells whether the attachment's interface is in the container, or it has
// none; a virtual machine's is on the host.
func (s *subject) inside() bool {
	return s.interfaces == nil || s.interfaces[s.addressOf] == inContainer
}

// A side is where an interface of a result is.
type side int

const (
	onHost side = iota
	inContainer
)

// loseLink takes the attachment's interface away.
func (s *subject) loseLink(a host.Attachment, r host.Result) {
	if s.inside() {
		a.Host.MustRunIn(a.Netns, "ip", "link", "del", a.IfName)
	} else {
		a.Host.MustRun("ip", "link", "del", name(r, s.addressOf))
	}
}

// A breakage damages a healthy attachment.
type breakage struct {
	number int // 16, 17 or 18
	name   string
	// changes are made to the configuration before ADD.
	changes []any
	do      func(host.Attachment, host.Result)
}

// versions are those of CNI, oldest first.
var versions = []string{"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"}

func since(list []string, oldest string) []string {
	for i, v := range list {
		if v == oldest {
			return list[i:]
		}
	}
	return list
}

// attach makes a container and its attachment; changes are made to the usual
// configuration.
func (tr *trial) attach(changes ...any) host.Attachment {
	tr.Helper()
	return tr.beside(host.Attachment{Path: tr.dir, Config: tr.config.With(changes...)})
}

// beside makes another container, to be attached like a.
func (tr *trial) beside(a host.Attachment) host.Attachment {
	tr.Helper()
	b := tr.h.Attach(a.Path, a.Config, tr.ifName)
	b.Before = tr.chain
	if tr.own != nil {
		b = b.WithConfig(tr.own(b.Container)...)
	}
	return b
}

// before is the picture of the host that clean compares with.
func (tr *trial) before() host.Picture { tr.Helper(); return tr.h.Snapshot() }

// clean fails the test if anything is left that was owned.
func (tr *trial) clean(before host.Picture) {
	tr.Helper()
	tr.h.Same(tr, before, tr.mayStay()...)
}

// cleanSoon is clean where the kernel destroys a namespace meanwhile.
func (tr *trial) cleanSoon(before host.Picture) {
	tr.Helper()
	tr.h.SameSoon(tr, before, tr.mayStay()...)
}

func (tr *trial) mayStay() []func(host.Fact) bool {
	may := []func(host.Fact) bool{host.Standing}
	if tr.stands != nil {
		may = append(may, tr.stands)
	}
	return may
}

// recorded makes an attachment whose delegate is the recorder.
func (tr *trial) recorded(instructions ...any) (a host.Attachment, records string) {
	tr.Helper()
	records = tr.TempDir()
	do := host.Config{"dir": records, "result": map[string]any{
		"ips": []any{map[string]any{"version": "4", "address": "10.99.0.5/24", "gateway": "10.99.0.1"}},
	}}.With(instructions...)
	a = tr.attach("ipam", map[string]any{"type": "recorder"}, "recorder", do)
	a.Path = tr.dir + string(filepath.ListSeparator) + host.Recorder(tr)
	return a, records
}

// refuses is an instruction that makes the recorder fail on some verbs.
func refuses(verbs ...string) []any {
	errors := map[string]any{}
	for _, v := range verbs {
		errors[v] = map[string]any{"code": 113, "msg": "the recorder refuses " + v}
	}
	return []any{"errors", errors}
}

// mustFail fails the test unless the call failed with one of the codes (any,
// if none is given), and returns the message.
func mustFail(t testing.TB, what string, o host.Outcome, codes ...uint) string {
	t.Helper()
	if o.OK() {
		t.Errorf("%s: succeeded and should not: %s", what, o.Stdout)
		return ""
	}
	e := o.Error(t)
	for _, c := range codes {
		if e.Code == c {
			return e.Error()
		}
	}
	if len(codes) > 0 {
		t.Errorf("%s: code %d (%s), want %d", what, e.Code, e.Error(), codes)
	}
	return e.Error()
}

func mustSucceed(t testing.TB, what string, o host.Outcome) {
	t.Helper()
	if !o.OK() {
		t.Errorf("%s: exit %d: %s%s", what, o.Exit, o.Stdout, o.Stderr)
	}
}

func silent(t testing.TB, what string, o host.Outcome) {
	t.Helper()
	mustSucceed(t, what, o)
	if o.OK() && o.Stdout != "" {
		t.Errorf("%s: printed %q", what, o.Stdout)
	}
}

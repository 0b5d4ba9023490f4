package crash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-net/fairlead/test/host"
)

func plugins(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("FAIRLEAD_CONFORMANCE_DIR"); dir != "" {
		return dir
	}
	return host.Build(t)
}

// A victim is a configuration whose calls are killed.
type victim struct {
	name   string
	config host.Config
	kills  int
	// prepare makes what the configuration needs on a host.
	prepare func(*host.Host)
	// mortal is true where what is moved into a container dies with it.
	mortal bool
}

// victims are killed 500 times in all during ADD.
func victims() []victim {
	ipam := map[string]any{
		"type":   "host-local",
		"ranges": []any{[]any{map[string]any{"subnet": "10.66.0.0/24"}}},
		"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
	}
	base := host.Config{"cniVersion": "1.1.0", "name": "net-k", "ipam": ipam}
	bridge := base.With("type", "bridge", "bridge", "cni0", "isGateway", true, "ipMasq", true)
	ptp := base.With("type", "ptp", "ipMasq", true)
	return []victim{
		{name: "bridge", config: bridge, kills: 90},
		{name: "bridge again", config: bridge, kills: 90},
		{name: "bridge anti-spoof", config: bridge.With("macspoofchk", true), kills: 60},
		{name: "bridge iptables", config: bridge.With("ipMasqBackend", "iptables"), kills: 40},
		{name: "ptp", config: ptp, kills: 80},
		{name: "ptp again", config: ptp, kills: 80},
		{name: "host-local", config: base.With("type", "host-local"), kills: 60},
	}
}

// movers have a device of the host that must never get lost.
func movers() []victim {
	config := victims()[0].config.With("type", "host-device", "device", "ens5")
	return []victim{{name: "host-device", config: config, kills: 45, mortal: true, prepare: func(h *host.Host) {
		h.MustRun("ip", "link", "add", "ens5", "type", "veth", "peer", "name", "ens5-far")
		h.MustRun("ip", "link", "set", "ens5", "up", "alias", "the uplink")
		h.MustRun("ip", "link", "property", "add", "dev", "ens5", "altname", "uplink-of-the-rack")
		h.MustRun("ip", "link", "set", "ens5-far", "up")
	}}}
}

// TestRule11KilledMovingADevice kills ADD and DEL while they move one.
func TestRule11KilledMovingADevice(t *testing.T) {
	t.Parallel()
	for _, v := range movers() {
		for _, verb := range []string{"ADD", "DEL"} {
			t.Run(v.name+" "+verb, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, v)
				s.slaughter(verb, v.kills, func(t *testing.T) (host.Attachment, host.Picture) {
					a := s.h.Attach(s.dir, v.config, "eth0")
					within := s.h.SnapshotIn(a.Netns)
					if verb == "DEL" {
						a.MustAdd(t)
					}
					return a, within
				})
			})
		}
	}
}

// A way is what the runtime does after a kill.
type way struct {
	name string
	// kills says that it takes the namespace away.
	kills bool
	// end does it; the namespace is gone afterwards if it says so.
	end func(*testing.T, host.Attachment) (gone bool)
}

// ways are what happens between a kill and the end.
var ways = []way{
	{"DEL", false, func(t *testing.T, a host.Attachment) bool {
		a.MustDel(t)
		return false
	}},
	{"DEL without the namespace", true, func(t *testing.T, a host.Attachment) bool {
		a.Host.DeleteNetns(a.Netns)
		a.MustDel(t)
		return true
	}},
	{"DEL without CNI_NETNS", false, func(t *testing.T, a host.Attachment) bool {
		a.WithEnv("CNI_NETNS", "").MustDel(t)
		return false
	}},
	{"ADD and DEL", false, func(t *testing.T, a host.Attachment) bool {
		if o := a.Call("ADD"); !o.OK() {
			// It may be that the killed call was done, but for its last word.
			a.MustDel(t)
			a.MustAdd(t)
		}
		a.MustDel(t)
		return false
	}},
	{"GC", true, func(t *testing.T, a host.Attachment) bool {
		a.Host.DeleteNetns(a.Netns)
		if o := a.GC(); !o.OK() {
			t.Errorf("GC: %s%s", o.Stdout, o.Stderr)
		}
		return true
	}},
}

func TestKilledDuringADD(t *testing.T) {
	t.Parallel()
	total := 0
	for _, v := range victims() {
		total += v.kills
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, v)
			s.slaughter("ADD", v.kills, func(*testing.T) (host.Attachment, host.Picture) {
				a := s.h.Attach(s.dir, v.config, "eth0")
				return a, s.h.SnapshotIn(a.Netns)
			})
		})
	}
	if total != 500 {
		t.Errorf("%d kills, want 500", total)
	}
}

func TestKilledDuringDEL(t *testing.T) {
	t.Parallel()
	for _, v := range victims() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, v)
			s.slaughter("DEL", 15, func(t *testing.T) (host.Attachment, host.Picture) {
				a := s.h.Attach(s.dir, v.config, "eth0")
				within := s.h.SnapshotIn(a.Netns)
				a.MustAdd(t)
				return a, within
			})
		})
	}
}

// A scene is a host where calls are killed.
type scene struct {
	*testing.T
	victim
	dir    string
	h      *host.Host
	chance *rand.Rand
	before host.Picture
}

func newScene(t *testing.T, v victim) *scene {
	h := host.New(t)
	if v.prepare != nil {
		v.prepare(h)
	}
	return &scene{T: t, victim: v, dir: plugins(t), h: h,
		chance: rand.New(rand.NewPCG(1, uint64(len(v.name)))), before: h.Snapshot()}
}

// slaughter kills calls at random instants of the time that such a call takes,
// until that many were hit, and looks each time whether all is gone after what
// the runtime does next. A call that was over before its instant came does not
// count: on a busy machine that is many a one.
func (s *scene) slaughter(verb string, times int, prepare func(*testing.T) (host.Attachment, host.Picture)) {
	usual := s.usual(verb)
	hit := 0
	ways := slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return s.mortal && w.kills })
	tries := 0
	for ; hit < times && tries < 5*times; tries++ {
		n := tries
		way := ways[n%len(ways)]
		at := time.Duration(s.chance.Int64N(int64(usual)))
		what := fmt.Sprintf("%s number %d killed after %s, then %s", verb, n, at, way.name)
		ok := s.Run(fmt.Sprint(n), func(t *testing.T) {
			a, within := prepare(t)
			exit, took := kill(t, a.Prepare(verb), at)
			if exit < 0 {
				hit++
				usual += usual / 20
			} else {
				usual = took // the machine is less busy than it was
			}
			gone := way.end(t, a)
			if !gone {
				if d := host.Diff(within, s.h.SnapshotIn(a.Netns)); len(d) > 0 {
					t.Errorf("left in the container: %q", d)
				}
				s.h.DeleteNetns(a.Netns)
			}
			s.h.SameSoon(t, s.before, host.Standing, host.Bridge("cni0"))
		})
		if !ok {
			s.Fatalf("%s", what) // what is left would be found again each time
		}
	}
	if hit < times {
		s.Errorf("of %d calls only %d were killed, want %d", tries, hit, times)
	}
}

// usual measures how long a call takes that is left alone: the shortest of
// some, so that most kills hit.
func (s *scene) usual(verb string) time.Duration {
	shortest := time.Hour
	for range 4 {
		a := s.h.Attach(s.dir, s.config, "eth0")
		for _, v := range []string{"ADD", "DEL"} {
			began := time.Now()
			if o := a.Call(v); !o.OK() {
				s.Fatalf("%s: %s%s", v, o.Stdout, o.Stderr)
			}
			if took := time.Since(began); v == verb && took < shortest {
				shortest = took
			}
		}
		s.h.DeleteNetns(a.Netns)
	}
	return shortest
}

// kill starts a call and kills it, with its children, after some time. It
// returns the exit status, -1 if the call was hit, and how long it lived.
func kill(t *testing.T, c *host.Cmd, after time.Duration) (exit int, took time.Duration) {
	t.Helper()
	c.SysProcAttr.Setpgid = true
	began := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan time.Duration, 1)
	go func() {
		_ = c.Wait()
		ended <- time.Since(began)
	}()
	select {
	case took = <-ended:
	case <-time.After(after):
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		took = <-ended
	}
	return c.ProcessState.ExitCode(), took
}

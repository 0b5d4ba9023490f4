package campaign

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/lab/inject"
)

func TestMain(m *testing.M) {
	inject.Launch()
	os.Exit(m.Run())
}

// buildFaulty builds the plugin of testdata and returns its directory.
func buildFaulty(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command("go", "build", "-o", filepath.Join(dir, "faulty"), "./testdata/faulty")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// faulty is a campaign against the plugin in one of its manners.
func faulty(t *testing.T, dir, manner string) Options {
	t.Helper()
	list, err := parseNetwork([]byte(fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "net", "type": "faulty", "manner": %q, "calls": %q}`,
		manner, filepath.Join(t.TempDir(), "calls"))))
	if err != nil {
		t.Fatal(err)
	}
	return Options{List: list, Plugins: dir, Suite: "faulty", Out: t.TempDir()}
}

// must is a cell that must be there with its verdict; in its point's name and in
// its fault's are these.
type must struct {
	point, fault string
	verdict      Verdict
}

// TestFaultyPlugins: each sort of fault that a plugin has is found where it is,
// and nothing else, and nothing in a sound one.
func TestFaultyPlugins(t *testing.T) {
	t.Parallel()
	dir := buildFaulty(t)
	for manner, want := range map[string]struct {
		verbs []string
		must  []must
		only  string // all cells that are bad are at points with this in their names
		bad   Verdict

		faults []string // none: all
	}{
		"sound": {verbs: []string{verbAdd, verbDel, verbCheck}, must: []must{
			{"ADD faulty renameat /run/faulty.tmp /run/faulty #1", "kill before", Error},
			{"ADD faulty write /run/faulty.tmp #1", "short write", Clean},
			{"DEL faulty route RTM_GETLINK link=faulty0 #1", "ENOBUFS", Error},
			{"DEL faulty route RTM_GETLINK link=faulty0 #1", "gone", Clean},
			{"DEL faulty unlinkat /run/faulty #1", "gone", Clean},
			{"DEL faulty openat /run/faulty #1", "EMFILE", Error},
			{"DEL faulty read /run/faulty #1", "EIO", Error},
			{"DEL faulty openat /run/netns/lab-subject O_PATH #1", "ENFILE", Error},
			{"DEL faulty begin #1", "renamed and re-aliased", Clean},
			{"CHECK faulty route RTM_GETLINK link=faulty0 #1", "gone", Error},
		}},
		"leak": {verbs: []string{verbDel}, must: []must{
			{"DEL faulty route RTM_GETLINK link=faulty0 #1", "ENOBUFS", Leak},
			{"DEL faulty route RTM_GETLINK link=faulty0 #1", "reply ENOMEM", Leak},
			{"DEL faulty receive route RTM_GETLINK link=faulty0 #1", "ENOMEM", Leak},
			{"DEL faulty route RTM_GETLINK link=faulty0 #1", "gone", Clean},
		}, only: "RTM_GETLINK link=faulty0", bad: Leak},
		"damage": {verbs: []string{verbDel}, must: []must{
			{"DEL faulty route RTM_GETLINK link=faulty0 #1", "ENOBUFS", Damage},
		}, only: "RTM_GETLINK link=faulty0", bad: Damage},
		"forget": {verbs: []string{verbAdd}, must: []must{
			{"ADD faulty renameat /run/faulty.tmp /run/faulty #1", "kill before", Leak},
			{"ADD faulty renameat /run/faulty.tmp /run/faulty #1", "EIO", Leak},
			{"ADD faulty renameat /run/faulty.tmp /run/faulty #1", "kill after", Error},
		}, only: "/run/faulty.tmp", bad: Leak, faults: callFaults()},
		"blind": {verbs: []string{verbDel}, must: []must{
			{"DEL faulty openat /run/netns/lab-subject O_PATH #1", "EMFILE", Lie},
			{"DEL faulty openat /run/netns/lab-subject O_PATH #1", "EACCES", Lie},
			{"DEL faulty openat /run/faulty #1", "EIO", Error},
		}, only: "openat /run/netns/lab-subject", bad: Lie, faults: callFaults()},
		"careless": {verbs: []string{verbDel}, must: []must{
			{"DEL faulty openat /run/faulty #1", "EMFILE", Lie},
			{"DEL faulty read /run/faulty #1", "EIO", Lie},
			{"DEL faulty openat /run/netns/lab-subject O_PATH #1", "EMFILE", Error},
		}, only: "/run/faulty #1", bad: Lie, faults: callFaults()},
		"lie": {verbs: []string{verbAdd}, must: []must{
			{"ADD faulty route RTM_SETLINK link=faulty0 up alias=\"faulty/net\" #1", "reply EPERM", Lie},
			{"ADD faulty receive route RTM_SETLINK link=faulty0 up alias=\"faulty/net\" #1", "ENOBUFS", Clean},
		}, only: "route RTM_SETLINK", bad: Lie},
		"moody": {verbs: []string{verbAdd}, must: []must{
			{"ADD faulty mkdirat /run/.faulty #1", "EIO", Unreached},
		}, only: "/run/.faulty", bad: Unreached},
	} {
		t.Run(manner, func(t *testing.T) {
			t.Parallel()
			o := faulty(t, dir, manner)
			o.Verbs, o.Faults = want.verbs, want.faults
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if want.faults == nil && len(r.Cells) != r.Planned || r.Planned == 0 {
				t.Errorf("%d cells of %d", len(r.Cells), r.Planned)
			}
			found := map[must]bool{}
			for _, c := range r.Cells {
				name := r.Points[c.Point].Name()
				found[must{name, c.Fault, c.Verdict}] = true
				if c.Verdict.Bad() && (c.Verdict != want.bad || !strings.Contains(name, want.only)) {
					t.Errorf("%s, %s: %s %+v", name, c.Fault, c.Verdict, c.Steps)
				}
				if c.Verdict.Bad() != (len(c.Trace) > 0) {
					t.Errorf("%s, %s: %s with a trace of %d lines", name, c.Fault, c.Verdict, len(c.Trace))
				}
			}
			for _, m := range want.must {
				if !found[m] {
					t.Errorf("not found: %+v", m)
				}
			}
			if t.Failed() {
				for _, p := range r.Points {
					t.Log(p.Name())
				}
			}
		})
	}
}

// callFaults are the faults of calls: all but those before them.
func callFaults() []string {
	var all []string
	for _, f := range allFaults() {
		if f.scene == nil {
			all = append(all, f.Name)
		}
	}
	return all
}

// TestCampaignGoesOn: a campaign that was ended is gone on with, and comes to the
// same; a sample is a part of it; one point gives its traces.
func TestCampaignGoesOn(t *testing.T) {
	t.Parallel()
	o := faulty(t, buildFaulty(t), "sound")
	o.Verbs, o.Faults = []string{verbDel}, []string{"EIO", "kill before", "ENOBUFS"}
	whole, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.Out, cellsFile)
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, lines[:len(lines)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	o.Resume = true
	runs := 0
	o.Progress = func(int, int, Cell, Point) { runs++ }
	again, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if runs == 0 || runs >= len(whole.Cells) || len(again.Cells) != len(whole.Cells) {
		t.Errorf("%d runs, %d cells of %d", runs, len(again.Cells), len(whole.Cells))
	}
	for i, c := range again.Cells {
		if w := whole.Cells[i]; c.Point != w.Point || c.Fault != w.Fault || c.Verdict != w.Verdict {
			t.Errorf("cell %d: %+v, was %+v", i, c, w)
		}
	}
	one := o
	one.Resume, one.Out, one.Faults, one.Trace, one.Point = false, "", nil, true, whole.Points[0].Name()
	r, err := Run(t.Context(), one)
	if err != nil || len(r.Cells) == 0 || len(r.Cells[0].Trace) == 0 {
		t.Errorf("one point: %+v, %v", r.Cells, err)
	}
	short := o
	short.Resume, short.Out, short.Short = false, "", 3
	if r, err = Run(t.Context(), short); err != nil || len(r.Cells) != 3 || !r.Short {
		t.Errorf("a sample: %d cells, %v", len(r.Cells), err)
	}
}

func TestNetworksOfOnePlugin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{"cniVersion": "1.1.0", "name": "a", "type": "static", "ipam": {}}`:                                1,
		`{"cniVersion": "1.1.0", "name": "a", "plugins": [{"type": "x"}, {"type": "y", "master": "eth7"}]}`: 2,
		`{"cniVersion": "1.1.0"`: 0,
	} {
		list, err := parseNetwork([]byte(text))
		if (err != nil) != (want == 0) || err == nil && len(list.Plugins) != want {
			t.Errorf("%s: %+v, %v", text, list, err)
		}
	}
}

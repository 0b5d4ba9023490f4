package campaign

import (
	"strings"
	"testing"
)

// TestScenes: where no call fails, but the world is another one, what a faulty
// plugin does wrong is found, and what a sound one does is not.
func TestScenes(t *testing.T) {
	t.Parallel()
	dir := buildFaulty(t)
	elsewhere := []string{"other mount namespace", "other mount namespace with a file", "namespace of the host"}
	altered := []string{"renamed", "renamed inside", "re-aliased", "renamed and re-aliased"}
	frozen := []string{"read-only /proc/sys", "read-only /proc/sys after use"}
	full := []string{"no inodes", "no inodes and never added", "no space"}
	for manner, want := range map[string]struct {
		verbs  []string
		faults []string
		cells  int                // at the beginning of these verbs
		bad    map[string]Verdict // at the beginning, by verb and fault
		later  map[string]Verdict // at a later point, by its text and fault
		fails  []string           // those that are not clean, and not bad
	}{
		// What it must set can't be set, or has no room, and it says so.
		"sound": {
			verbs: Verbs(), cells: 24,
			faults: append(append(append(append([]string{}, elsewhere...), altered...), frozen...), full...),
			fails:  []string{"ADD read-only /proc/sys", "ADD no inodes", "ADD no space"},
		},
		"blind": {verbs: []string{verbDel, verbGC}, cells: 3, faults: elsewhere, bad: map[string]Verdict{
			"GC other mount namespace": Damage, "GC other mount namespace with a file": Damage,
		}},
		"by name": {verbs: []string{verbDel}, cells: 4, faults: altered, bad: map[string]Verdict{
			"DEL renamed": Lie, "DEL renamed and re-aliased": Lie,
		}, later: map[string]Verdict{"route RTM_GETLINK name=faulty0 renamed": Lie}},
		"by alias": {verbs: []string{verbDel}, cells: 4, faults: altered, bad: map[string]Verdict{
			"DEL re-aliased": Lie, "DEL renamed and re-aliased": Lie,
		}},
		"lender": {verbs: []string{verbDel}, cells: 4, faults: altered, bad: map[string]Verdict{
			"DEL renamed": Damage, "DEL renamed and re-aliased": Damage,
		}, later: map[string]Verdict{"route RTM_GETLINK link=faulty0 renamed": Damage}},
		"eager": {verbs: []string{verbAdd}, cells: 2, faults: frozen, bad: map[string]Verdict{
			"ADD read-only /proc/sys after use": Damage,
		}, fails: []string{"ADD read-only /proc/sys"}},
		"hoarder": {verbs: []string{verbDel}, cells: 3, faults: full, bad: map[string]Verdict{
			"DEL no inodes": Damage, "DEL no inodes and never added": Damage,
		}},
	} {
		t.Run(manner, func(t *testing.T) {
			t.Parallel()
			o := faulty(t, dir, manner)
			o.Verbs, o.Faults = want.verbs, want.faults
			o.List.CNIVersion = "1.1.0"
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			cells := 0
			for _, c := range r.Cells {
				p := r.Points[c.Point]
				wanted, name := want.bad[p.Verb+" "+c.Fault], p.Verb+" "+c.Fault
				if p.Text == beginText {
					cells++
				} else {
					wanted, name = want.later[p.Text+" "+c.Fault], p.Text+" "+c.Fault
				}
				if wanted == "" {
					wanted = Clean
				}
				for _, f := range want.fails {
					if f == name {
						wanted = Error
					}
				}
				if c.Verdict != wanted && !(p.Text != beginText && !c.Verdict.Bad() && wanted == Clean) {
					t.Errorf("%s, %s: %s, want %s: %+v\n%s", p.Name(), c.Fault, c.Verdict, wanted, c.Steps, strings.Join(c.Trace, "\n"))
				}
			}
			if cells != want.cells {
				t.Errorf("%d cells at the beginning, want %d", cells, want.cells)
			}
		})
	}
}

package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// points reads points as "VERB program text occurrence".
func points(lines ...string) campaign.Result {
	r := campaign.Result{Conflist: "net"}
	for _, line := range lines {
		p := campaign.Point{Plugin: "p", Occurrence: 1}
		f := strings.Fields(line)
		p.Verb, p.Program, p.Text = f[0], f[1], f[2]
		r.Points = append(r.Points, p)
	}
	return r
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b campaign.Result
		want []string // "verb text: place in a, place in b"
	}{
		"the same": {a: points("ADD p x", "DEL p x"), b: points("ADD p x", "DEL p x"),
			want: []string{"ADD x: 0 0", "DEL x: 1 1"}},
		"more in b, after what it follows": {a: points("ADD p x", "ADD p z"), b: points("ADD p x", "ADD p y", "ADD p z"),
			want: []string{"ADD x: 0 0", "ADD y: -1 1", "ADD z: 1 2"}},
		"more in b, first": {a: points("ADD p x", "DEL p z"), b: points("ADD p y", "ADD p x", "DEL p w", "DEL p z"),
			want: []string{"ADD y: -1 0", "ADD x: 0 1", "DEL w: -1 2", "DEL z: 1 3"}},
		"another order": {a: points("ADD p x", "ADD p y"), b: points("ADD p y", "ADD p x"),
			want: []string{"ADD x: 0 1", "ADD y: 1 0"}},
		"another program": {a: points("ADD p x", "ADD q x"), b: points("ADD q x", "ADD r x"),
			want: []string{"ADD x: 0 1", "ADD x: 1 0"}},
		"a verb that a has not": {a: points("ADD p x", "ADD p y"), b: points("ADD p x", "GC p x"),
			want: []string{"ADD x: 0 0", "ADD y: 1 -1", "GC x: -1 1"}},
		"nothing in a": {a: campaign.Result{Conflist: "net"}, b: points("ADD p x"), want: []string{"ADD x: -1 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pairs := beside([]campaign.Result{c.a}, []campaign.Result{c.b})
			var got []string
			for _, m := range pairs[0].Points {
				got = append(got, fmt.Sprintf("%s %s: %d %d", m.Point.Verb, m.Point.Text, m.At[0], m.At[1]))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever the points are, each is in one match, and matches ask the same.
func TestMatchLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.Custom(func(t *rapid.T) string {
			pick := func(s ...string) string { return rapid.SampledFrom(s).Draw(t, "word") }
			return pick("ADD", "DEL", "GC") + " " + pick("p", "q") + " " + pick("x", "y", "z")
		})
		lines := rapid.SliceOfN(line, 0, 12)
		sides := []campaign.Result{points(lines.Draw(t, "a")...), points(lines.Draw(t, "b")...)}
		pairs := beside(sides[:1], sides[1:])
		for side, r := range sides {
			seen := map[int]int{}
			for _, m := range pairs[0].Points {
				if i := m.At[side]; i >= 0 {
					seen[i]++
					if p := r.Points[i]; p.Verb != m.Point.Verb || p.Text != m.Point.Text {
						t.Fatalf("%v matched with %v", m.Point, p)
					}
				}
			}
			for i := range r.Points {
				if seen[i] != 1 {
					t.Fatalf("side %d: point %d is in %d matches", side, i, seen[i])
				}
			}
		}
	})
}

func TestBesideNetworks(t *testing.T) {
	t.Parallel()
	named := func(names ...string) (all []campaign.Result) {
		for _, n := range names {
			all = append(all, campaign.Result{Conflist: n})
		}
		return all
	}
	var got []string
	for _, p := range beside(named("x", "y", "y"), named("z", "y", "x")) {
		got = append(got, fmt.Sprintf("%s %v %v", p.Name, p.Sides[0] != nil, p.Sides[1] != nil))
	}
	want := []string{"x true true", "y true true", "y true false", "z false true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	got := merge([]string{"a", "c", "d"}, []string{"z", "a", "b", "c", "e"})
	if diff := cmp.Diff([]string{"z", "a", "b", "c", "e", "d"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMeetings(t *testing.T) {
	t.Parallel()
	var got []string
	for _, m := range meetings(beside([]campaign.Result{good("a")}, []campaign.Result{sample("b")})) {
		got = append(got, fmt.Sprintf("%s %s: %s %s", m.at.Point.Verb, m.cell[0].Fault, m.cell[0].Verdict, m.cell[1].Verdict))
	}
	want := []string{"ADD EIO: error error", "ADD kill before: error error", "ADD EIO: error damage",
		"ADD kill before: error leak", "DEL EIO: error lie", "DEL kill before: error leak"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package campaign

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Verdict is what a cell came to. Of several that hold, the worst counts.
type Verdict string

// The verdicts, from the best to the worst.
const (
	Clean     Verdict = "clean"     // the call succeeded, and all is as after one without fault
	Error     Verdict = "error"     // the call failed; DEL and ADD afterwards were good
	Unreached Verdict = "unreached" // the run never came to the point: nothing is proven
	Lie       Verdict = "lie"       // the call said success, and what that claims is not so
	Leak      Verdict = "leak"      // something stayed after a DEL, or GC, that said success
	Damage    Verdict = "damage"    // what was there before is gone or changed, or a later call without fault fails
)

// Verdicts are all of them, from the best to the worst.
func Verdicts() []Verdict { return []Verdict{Clean, Error, Unreached, Lie, Leak, Damage} }

// Bad tells whether a campaign with such a cell has failed.
func (v Verdict) Bad() bool { return v != Clean && v != Error }

// rank is the place among Verdicts.
func (v Verdict) rank() int {
	for i, w := range Verdicts() {
		if v == w {
			return i
		}
	}
	return len(Verdicts())
}

// Worse is the worse of two.
func (v Verdict) Worse(w Verdict) Verdict {
	if w.rank() > v.rank() {
		return w
	}
	return v
}

// A Result is what a campaign of one network came to. Its parts refer to each
// other by index.
type Result struct {
	Suite    string          `json:"suite"`             // a name for the plugins, "fairlead"
	Version  string          `json:"version,omitempty"` // of the plugins, as they tell it
	Lab      string          `json:"lab,omitempty"`     // version of the lab itself
	Conflist string          `json:"conflist"`          // the network's name
	List     json.RawMessage `json:"list"`              // the network, as the plugins got it
	Kernel   string          `json:"kernel"`            // release and machine
	Started  time.Time       `json:"started"`
	Short    bool            `json:"short,omitempty"` // a sample, of Planned cells

	Planned int      `json:"planned"` // cells that a whole campaign has
	Points  []Point  `json:"points"`  // in the order of the verbs, then of the traces
	Faults  []string `json:"faults"`  // every fault that a cell has, in the order of columns
	// Words say what each of Faults does: "the call fails with EIO (input/output error)".
	Words  map[string]string `json:"words,omitempty"`
	Traces []Trace           `json:"traces"` // one a verb: without fault
	// Notes say what is to be known of the calls without fault: what they leave
	// by design, what GC leaves.
	Notes []string `json:"notes,omitempty"`
	// Steady are differences between what calls without fault make and what the
	// network's expectation says: the campaign fails with any.
	Steady []string `json:"steady,omitempty"`

	// Cells are in the order of Points, then of Faults. They are kept in a file of
	// their own.
	Cells   []Cell        `json:"-"`
	Elapsed time.Duration `json:"elapsed,omitempty"` // of all runs together with their preparation
}

// A Trace is what a verb without fault does, in order.
type Trace struct {
	Verb   string  `json:"verb"`
	Events []Event `json:"events"`
}

// An Event is one trapped call of a trace.
type Event struct {
	Plugin  string `json:"plugin"`  // that was called by the runtime
	Program string `json:"program"` // the one that made the call: the plugin, its delegate, iptables …
	Text    string `json:"text"`    // normalised
	Point   int    `json:"point"`   // index in Points; -1 for what is only read or printed
}

// A Point is a place in a verb's course at which a fault is made: by what is
// asked there, not by a number in a trace.
type Point struct {
	Verb       string `json:"verb"`
	Plugin     string `json:"plugin"`
	Program    string `json:"program"`
	Text       string `json:"text"`
	Occurrence int    `json:"occurrence"` // 1: the first time that the verb's course has this
}

// Name names a point, for people and for --point:
// "DEL bridge/host-local unlink /var/lib/cni/networks/net/10.1.2.3 #1".
func (p Point) Name() string {
	by := p.Plugin
	if p.Program != p.Plugin {
		by += "/" + p.Program
	}
	return fmt.Sprintf("%s %s %s #%d", p.Verb, by, p.Text, p.Occurrence)
}

// A Cell is one run: a point and a fault.
type Cell struct {
	Point   int     `json:"point"` // index in Points
	Fault   string  `json:"fault"`
	Verdict Verdict `json:"verdict"`
	// Steps are the calls from the one under the fault on.
	Steps []Step `json:"steps"`
	// Trace is what the call under the fault did, from a few calls before the
	// point to some after it; the one with the fault begins with "> ". It is kept
	// for cells that are neither clean nor error.
	Trace   []string      `json:"trace,omitempty"`
	Elapsed time.Duration `json:"elapsed"`
}

// A Step is one call of a run, and what was found after it.
type Step struct {
	Call  string    `json:"call"`            // "DEL under fault", "DEL", "DEL again", "ADD again", "last DEL"
	Error string    `json:"error,omitempty"` // what it said, if it failed
	Found []Finding `json:"found,omitempty"`
}

// A Finding is one thing that is wrong.
type Finding struct {
	Verdict Verdict `json:"verdict"` // Lie, Leak, Damage, Unreached
	Text    string  `json:"text"`    // `left: link veth12ab34cd in host`, `gone: …`, `DEL failed`
}

// Worst is the verdict of the worst of the findings; Clean when there are none.
func Worst(steps []Step) Verdict {
	v := Clean
	for _, s := range steps {
		for _, f := range s.Found {
			v = v.Worse(f.Verdict)
		}
	}
	return v
}

// Count counts cells by their verdict.
func (r Result) Count() map[Verdict]int {
	all := map[Verdict]int{}
	for _, c := range r.Cells {
		all[c.Verdict]++
	}
	return all
}

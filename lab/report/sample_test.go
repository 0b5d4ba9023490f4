package report

import (
	"encoding/json"
	"time"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// nasty is what a plugin may say, and a page, a script or a terminal must not
// take for its own.
const nasty = "</script><img src=x onerror=alert(1)>\"'`${1}<!-- \u2028 \x1b[2J\n&amp; {{.}}"

// sample is a result with every verdict in it.
func sample(suite string) campaign.Result {
	r := campaign.Result{
		Suite: suite, Version: "v1", Lab: "v2", Conflist: "net", List: json.RawMessage(`{"name": "net", "plugins": [{"type": "</script>"}]}`),
		Kernel: "6.1.0 x86_64", Started: time.Date(2026, 4, 5, 6, 7, 8, 0, time.UTC), Elapsed: 90 * time.Second, Planned: 9,
		Faults: []string{"EIO", "gone", "kill before"},
		Words:  map[string]string{"gone": "what the call is about is taken away just before"},
		Notes:  []string{"clean calls leave link cni0"},
		Points: []campaign.Point{
			{Verb: "ADD", Plugin: "bridge", Program: "bridge", Text: "route RTM_NEWLINK name=cni0", Occurrence: 1},
			{Verb: "ADD", Plugin: "bridge", Program: "host-local", Text: "openat " + nasty, Occurrence: 2},
			{Verb: "ADD", Plugin: "tuning", Program: "tuning", Text: "openat /proc/sys/x", Occurrence: 1},
			{Verb: "DEL", Plugin: "bridge", Program: "bridge", Text: "route RTM_DELLINK name=veth*", Occurrence: 1},
		},
	}
	r.Traces = traces(r.Points)
	put := func(point int, fault, failed string, after int, found ...campaign.Finding) {
		calls := []string{r.Points[point].Verb + " under fault", "DEL", "DEL again", "ADD again", "last DEL"}
		c := campaign.Cell{Point: point, Fault: fault, Verdict: campaign.Clean}
		for i, call := range calls {
			s := campaign.Step{Call: call}
			if i == 0 {
				s.Error = failed
			}
			if i == after {
				s.Found = found
			}
			c.Steps = append(c.Steps, s)
		}
		if failed != "" {
			c.Verdict = campaign.Error
		}
		if len(found) > 0 {
			c.Verdict = campaign.Worst(c.Steps)
			c.Trace = []string{"  bridge  openat /etc/x", "> bridge  " + r.Points[point].Text}
		}
		r.Cells = append(r.Cells, c)
	}
	leak := campaign.Finding{Verdict: campaign.Leak, Text: "left: link veth* in host"}
	put(0, "EIO", "bridge: link cni0: input/output error", 0)
	put(0, "gone", "", 0)
	put(0, "kill before", "killed", 0)
	put(1, "EIO", nasty, 3, campaign.Finding{Verdict: campaign.Damage, Text: "ADD failed: " + nasty})
	put(1, "kill before", "killed", 1, leak)
	put(2, "gone", "", 0, campaign.Finding{Verdict: campaign.Unreached, Text: "the point was not reached"})
	put(3, "EIO", "", 0, campaign.Finding{Verdict: campaign.Lie, Text: "left: link veth* in host"})
	put(3, "kill before", "killed", 1, leak)
	return r
}

func traces(points []campaign.Point) (all []campaign.Trace) {
	for _, verb := range []string{"ADD", "DEL"} {
		t := campaign.Trace{Verb: verb, Events: []campaign.Event{{Plugin: "bridge", Program: "bridge", Text: "openat /etc/x", Point: -1}}}
		for i, p := range points {
			if p.Verb == verb {
				t.Events = append(t.Events, campaign.Event{Plugin: p.Plugin, Program: p.Program, Text: p.Text, Point: i})
			}
		}
		all = append(all, t)
	}
	return all
}

// good is sample with nothing bad in it, one point less, one more, and one asked
// by another program.
func good(suite string) campaign.Result {
	r := sample(suite)
	r.Notes = nil
	r.Points[1].Program = "fairlead"
	r.Points[2] = campaign.Point{Verb: "ADD", Plugin: "tuning", Program: "tuning", Text: "openat /proc/sys/y", Occurrence: 1}
	r.Traces = traces(r.Points)
	r.Faults = []string{"EIO", "reply EBUSY", "kill before"}
	cells := r.Cells
	r.Cells = nil
	for _, c := range cells {
		if c.Fault == "gone" {
			continue
		}
		for i := range c.Steps {
			c.Steps[i].Found = nil
		}
		c.Trace = nil
		if c.Verdict.Bad() {
			c.Verdict = campaign.Error
		}
		r.Cells = append(r.Cells, c)
	}
	return r
}

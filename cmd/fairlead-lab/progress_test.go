package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// TestFindingsAreToldAtOnce: not only when hours of other runs are over, and in
// the words by which the run is repeated.
func TestFindingsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &progress{w: &out, about: "ours net"}
	at := campaign.Point{Verb: "DEL", Plugin: "bridge", Program: "bridge", Text: "unlink /run/x", Occurrence: 2}
	p.cell(1, 9, campaign.Cell{Fault: "EIO", Verdict: campaign.Clean}, at)
	out.Reset()
	p.cell(2, 9, campaign.Cell{Fault: "kill before", Verdict: campaign.Leak, Steps: []campaign.Step{
		{Call: "DEL again", Found: []campaign.Finding{{Verdict: campaign.Leak, Text: "left: link x in host"}}},
	}}, at)
	for _, want := range []string{
		"leak: --point 'DEL bridge unlink /run/x #2' --faults 'kill before'\n", "    DEL again: leak: left: link x in host\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

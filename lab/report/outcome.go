package report

import (
	"slices"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// An outcome is how a verdict is shown.
type outcome struct {
	Verdict campaign.Verdict `json:"name"`
	Mark    string           `json:"mark"` // in a cell of the matrix
	Title   string           `json:"title"`
	Words   string           `json:"words"`
	Bad     bool             `json:"bad"`
}

// outcomes are all, in the order of columns.
func outcomes() []outcome {
	all := []outcome{
		{Verdict: campaign.Clean, Mark: "·", Title: "clean",
			Words: "The call succeeded, and all is as after one without fault."},
		{Verdict: campaign.Error, Mark: "e", Title: "error, then clean",
			Words: "The call failed and said so; DEL and ADD afterwards were good."},
		{Verdict: campaign.Leak, Mark: "L", Title: "leak",
			Words: "Something stayed after a DEL, or a GC, that said success."},
		{Verdict: campaign.Damage, Mark: "D", Title: "damage",
			Words: "What was there before is gone or changed, or a later call without fault fails."},
		{Verdict: campaign.Lie, Mark: "!", Title: "lie",
			Words: "The call said success, and what that claims is not so."},
		{Verdict: campaign.Unreached, Mark: "?", Title: "unreached",
			Words: "The run never came to the point: nothing is proven."},
	}
	for i := range all {
		all[i].Bad = all[i].Verdict.Bad()
	}
	return all
}

// rank is how bad a verdict is.
func rank(v campaign.Verdict) int { return slices.Index(campaign.Verdicts(), v) }

// Counts are numbers of cells by verdict. In JSON all verdicts are there.
type Counts map[campaign.Verdict]int

func noCounts() Counts {
	c := Counts{}
	for _, v := range campaign.Verdicts() {
		c[v] = 0
	}
	return c
}

// Bad is how many are neither clean nor error.
func (c Counts) Bad() int {
	n := 0
	for v, k := range c {
		if v.Bad() {
			n += k
		}
	}
	return n
}

package bench

import (
	"slices"
	"time"
)

// summary is what a series of times comes to.
type summary struct {
	n                     int
	median, min, p90, max time.Duration
}

// summarize wants at least one time.
func summarize(times []time.Duration) summary {
	t := slices.Sorted(slices.Values(times))
	n := len(t)
	return summary{
		n:      n,
		median: (t[(n-1)/2] + t[n/2]) / 2,
		min:    t[0],
		p90:    t[(n*9+9)/10-1], // the nearest rank
		max:    t[n-1],
	}
}

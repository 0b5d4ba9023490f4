package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fairlead-net/fairlead/lab/campaign"
)

// progress shows how far a campaign is: a bar on a terminal, else a line now and
// then; and each run that found something at once, since a campaign can take
// hours.
type progress struct {
	w        io.Writer
	about    string
	terminal bool
	begun    time.Time
	told     time.Time
	bad      int
	any      bool
}

// Between two looks at the bar, and between two lines where there is none.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 10 * time.Second
	barWidth  = 30
)

func newProgress(f *os.File, about string) *progress {
	info, err := f.Stat()
	now := time.Now()
	return &progress{w: f, about: about, begun: now, told: now, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (p *progress) cell(done, all int, c campaign.Cell, at campaign.Point) {
	if c.Verdict.Bad() {
		p.bad++
		p.found(c, at)
	}
	every := lineEvery
	if p.terminal {
		every = barEvery
	}
	if now := time.Now(); now.Sub(p.told) >= every || done == all {
		p.told = now
		p.tell(done, all)
	}
}

// found names the run as --point and --faults take it.
func (p *progress) found(c campaign.Cell, at campaign.Point) {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, "%s: --point '%s' --faults '%s'\n", c.Verdict, at.Name(), c.Fault)
	for _, s := range c.Steps {
		for _, f := range s.Found {
			fmt.Fprintf(p.w, "    %s: %s: %s\n", s.Call, f.Verdict, f.Text)
		}
	}
}

func (p *progress) tell(done, all int) {
	p.any = true
	left := time.Duration(float64(time.Since(p.begun)) / float64(done) * float64(all-done)).Round(time.Second)
	line := fmt.Sprintf("%s: %d of %d runs, %d bad, %s left", p.about, done, all, p.bad, left)
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	bar := make([]rune, barWidth)
	for i := range bar {
		if bar[i] = '·'; i < barWidth*done/all {
			bar[i] = '█'
		}
	}
	fmt.Fprintf(p.w, "\r%s %s\x1b[K", string(bar), line)
}

// end leaves the bar.
func (p *progress) end() {
	if p.terminal && p.any {
		fmt.Fprintln(p.w)
	}
}

package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	cniversion "github.com/containernetworking/cni/pkg/version"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/host"
)

// Options are what a campaign is asked for.
type Options struct {
	List    *libcni.NetworkConfigList
	Plugins string   // directories, as CNI_PATH
	Prepare []string // commands for each new host, without a shell: "ip link add x type dummy"
	Suite   string   // a name for the plugins
	Lab     string   // version of this program

	Out    string       // the result's directory; "" for none
	Expect *Expectation // what the network should make; nil: nothing is said of it
	Resume bool         // go on with what Out has
	Jobs   int          // runs at a time; 0: as many as there are processors
	Verbs  []string     // none: all
	Faults []string     // by name; none: all
	Point  string       // one point, by name
	Short  int          // not 0: at most so many cells
	Trace  bool         // keep the trace of each cell

	// Progress, if not nil, is told of each cell; one at a time.
	Progress func(done, all int, c Cell, p Point)
}

// setup is what all runs have in common.
type setup struct {
	list      *libcni.NetworkConfigList
	plugins   string
	furniture [][]string
	norm      *normaliser
	traces    bool
	// alone: the network can't have two containers at a time, as one that has a
	// device moved into it.
	alone bool
	// expect is what the network should make, whatever calls without fault make.
	expect *Expectation
}

func (o Options) setup() (*setup, error) {
	furniture, err := furniture(o.List, o.Prepare)
	if err != nil {
		return nil, err
	}
	return &setup{list: o.List, plugins: o.Plugins, furniture: furniture, norm: newNormaliser(), traces: o.Trace, expect: o.Expect}, nil
}

// Survey takes the traces without fault, and finds the points.
func Survey(ctx context.Context, o Options) (Result, error) {
	s, err := o.setup()
	if err != nil {
		return Result{}, err
	}
	r, _, _, err := s.survey(ctx, o)
	return r, err
}

// Run makes a campaign. The error is of the campaign itself: what it finds is in
// the result, which is good as far as it goes when the context ends.
func Run(ctx context.Context, o Options) (Result, error) {
	s, err := o.setup()
	if err != nil {
		return Result{}, err
	}
	r, cells, measures, err := s.survey(ctx, o)
	if err != nil {
		return r, err
	}
	begun := time.Now()
	todo, err := o.choose(cells)
	if err != nil {
		return r, err
	}
	if o.Short > 0 && len(todo) > o.Short {
		todo, r.Short = sample(todo, o.Short), true
	}
	keep, done, err := o.open(r)
	if err != nil {
		return r, err
	}
	r.Cells = done
	todo = without(todo, done)
	err = s.runAll(ctx, o, todo, measures, func(c Cell) error {
		r.Cells = append(r.Cells, c)
		if o.Progress != nil {
			o.Progress(len(r.Cells)-len(done), len(todo), c, r.Points[c.Point])
		}
		return keep.write(c)
	})
	r.Elapsed = time.Since(begun)
	r.sort()
	return r, errors.Join(err, keep.close(r))
}

// survey takes the traces without fault, and lists all cells.
func (s *setup) survey(ctx context.Context, o Options) (Result, []cellPlan, map[courseKey]measure, error) {
	r := Result{
		Suite: o.Suite, Lab: o.Lab, Conflist: o.List.Name, List: compact(o.List.Bytes), Kernel: kernelName(),
		Started: time.Now().UTC().Truncate(time.Second), Words: map[string]string{},
	}
	var err error
	if r.Version, err = s.version(); err != nil {
		return r, nil, nil, err
	}
	places, measures := map[Point]place{}, map[courseKey]measure{}
	for _, verb := range Verbs() {
		if len(o.Verbs) > 0 && !slices.Contains(o.Verbs, verb) {
			continue
		}
		if since := since(verb); !atLeast(o.List.CNIVersion, since) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: plugins know it from CNI %s on, and the network is of %s", verb, since, o.List.CNIVersion))
			continue
		}
		b, err := s.baseline(ctx, verb)
		if err != nil {
			return r, nil, nil, err
		}
		for _, note := range b.notes {
			if !slices.Contains(r.Notes, note) {
				r.Notes = append(r.Notes, note)
			}
		}
		for _, text := range b.steady {
			if !slices.Contains(r.Steady, text) {
				r.Steady = append(r.Steady, text)
			}
		}
		r.Traces = append(r.Traces, b.events(len(r.Points)))
		r.Points = append(r.Points, b.points...)
		for p, at := range b.places {
			places[p] = at
		}
		for v, m := range b.measures {
			measures[courseKey{verb, v}] = m
		}
	}
	cells := plan(r.Points, places)
	r.Planned = len(cells)
	used := map[string]bool{}
	for _, c := range cells {
		used[c.fault.Name] = true
	}
	for _, f := range allFaults() {
		if used[f.Name] {
			r.Faults = append(r.Faults, f.Name)
			r.Words[f.Name] = f.Words
		}
	}
	return r, cells, measures, nil
}

// courseKey names a course.
type courseKey struct {
	verb string
	variation
}

// since is the version of CNI that brought a verb.
func since(verb string) string {
	switch verb {
	case verbCheck:
		return "0.4.0"
	case verbGC:
		return "1.1.0"
	}
	return "0.1.0"
}

// atLeast is true too for a version that can't be read: the plugins refuse it.
func atLeast(version, least string) bool {
	ok, err := cniversion.GreaterThanOrEqualTo(version, least)
	return ok || err != nil
}

// events are the trace, with the numbers of its points from first on.
func (b *baseline) events(first int) Trace {
	number := map[Point]int{}
	for i, p := range b.points {
		number[p] = first + i
	}
	t := Trace{Verb: b.verb}
	for _, h := range b.trace {
		e := h.Event
		n, ok := number[h.at]
		if e.Point = -1; ok {
			e.Point = n
		}
		t.Events = append(t.Events, e)
	}
	return t
}

// runAll runs cells, several at a time, and hands on what they came to.
func (s *setup) runAll(ctx context.Context, o Options, todo []cellPlan, measures map[courseKey]measure, take func(Cell) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := o.Jobs
	if jobs <= 0 {
		jobs = runtime.NumCPU()
	}
	work, taken := make(chan cellPlan), sync.Mutex{}
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			for p := range work {
				c, err := s.runNew(ctx, p, measures[courseKey{p.at.Verb, p.variation()}])
				if err != nil {
					cancel(fmt.Errorf("%s, %s: %w", p.at.Name(), p.fault.Name, err))
					continue
				}
				taken.Lock()
				err = take(c)
				taken.Unlock()
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, p := range todo {
		if ctx.Err() != nil {
			break
		}
		work <- p
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

// runNew runs a cell on a new node.
func (s *setup) runNew(ctx context.Context, p cellPlan, m measure) (c Cell, err error) {
	n, err := newNode(s)
	if err != nil {
		return c, err
	}
	c, err = s.run(ctx, p, m, n)
	if ctx.Err() != nil {
		err = ctx.Err() // and not what came of it
	}
	return c, errors.Join(err, n.close())
}

// version is what the network's first plugin says of itself when it is called
// without a verb; nothing for one that says nothing.
func (s *setup) version() (string, error) {
	h, err := host.New()
	if err != nil {
		return "", err
	}
	var path string
	h.Do(func() { path, err = invoke.FindInPath(s.list.Plugins[0].Network.Type, filepath.SplitList(s.plugins)) })
	if err != nil {
		return "", errors.Join(err, h.Close())
	}
	var out bytes.Buffer
	c := h.Command(path)
	c.Stdout, c.Stderr = &out, &out
	if err := h.Run(c); err != nil && c.ProcessState == nil {
		return "", errors.Join(err, h.Close())
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	if strings.HasPrefix(line, "{") {
		line = "" // an error object
	}
	return line, h.Close()
}

func kernelName() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	name := unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Machine[:])
	if !hasIPv6() {
		name += " without IPv6"
	}
	return name
}

// compact is JSON without spaces; as it is, if it is none.
func compact(b []byte) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return b
	}
	return out.Bytes()
}

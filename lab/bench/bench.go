package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
)

// Options say what is measured, and with what.
type Options struct {
	N        int            // timed calls of each sort, for each candidate
	Warmup   int            // calls before those, not counted; at least one
	Only     *regexp.Regexp // scenarios with such names; nil: all
	Fairlead string         // directory with the binary fairlead, or with plugins by their names; left out if it has neither
	Cache    string         // directory that keeps the reference plugins between runs
	Tools    string         // directory with floor and empty; "": they are built
	JSON     bool           // print JSON instead of tables
	Progress io.Writer
}

// Run measures, and prints to w what it came to. A call that fails makes it fail,
// after all is printed; a goal that is not reached does not.
func Run(ctx context.Context, o Options, w io.Writer) error {
	results, errs := measure(ctx, o)
	if results == nil {
		return errors.Join(errs...)
	}
	write := results.writeTables
	if o.JSON {
		write = results.writeJSON
	}
	return errors.Join(append(errs, write(w))...)
}

// measure has removed its files when it returns. There are no results when there
// was nothing to measure them with.
func measure(ctx context.Context, o Options) (*results, []error) {
	if o.N < 1 || o.Warmup < 1 {
		return nil, []error{fmt.Errorf("%d calls after %d to warm up: both are at least 1", o.N, o.Warmup)}
	}
	chosen, err := choose(o.Only)
	if err != nil {
		return nil, []error{err}
	}
	if os.Geteuid() != 0 {
		return nil, []error{errors.New("needs root, to make network namespaces")}
	}
	b, err := obtain(ctx, o)
	if err != nil {
		return nil, []error{err}
	}
	defer b.cleanUp()
	r, errs := measureAll(ctx, chosen, b.candidates(), o)
	r.judge(goals())
	return r, errs
}

// List prints the scenarios; only is as in Options.
func List(only *regexp.Regexp, w io.Writer) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	for _, s := range chosen {
		if _, err := fmt.Fprintf(w, "%-18s %s\n", s.name, s.about); err != nil {
			return err
		}
	}
	return nil
}

// ProfileStartup prints what each package's initialisation costs in the start of
// Fairlead's plugins, or of the reference plugins if there is no Fairlead. It
// does not need root.
func ProfileStartup(ctx context.Context, o Options, w io.Writer) error {
	b, err := obtain(ctx, o)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	err = profileStartup(ctx, &text, b)
	b.cleanUp()
	if err != nil {
		return err
	}
	_, err = text.WriteTo(w)
	return err
}

func choose(only *regexp.Regexp) ([]scenario, error) {
	var chosen []scenario
	for _, s := range scenarios() {
		if only == nil || only.MatchString(s.name) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no scenario matches %q", only)
	}
	return chosen, nil
}

package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrOther says that a directory has the result of another campaign.
var ErrOther = errors.New("another campaign's result")

// resume takes over from a result that was begun: which cells need not be run.
// Points are matched by their names: what the plugins are is the user's business,
// but the points must be the same.
func resume(dir string, r Result) ([]Cell, error) {
	old, err := Read(dir)
	if errors.Is(err, ErrNoResult) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if old.Conflist != r.Conflist || !bytes.Equal(compact(old.List), compact(r.List)) {
		return nil, fmt.Errorf("%s: %w, of network %s", dir, ErrOther, old.Conflist)
	}
	if !slices.Equal(old.Points, r.Points) {
		return nil, fmt.Errorf("%s: %w: its points are not those that the plugins have now", dir, ErrOther)
	}
	if err := wholeLines(filepath.Join(dir, cellsFile)); err != nil {
		return nil, err
	}
	return old.Cells, nil
}

// wholeLines cuts off what was not written to its end.
func wholeLines(path string) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Truncate(path, int64(bytes.LastIndexByte(b, '\n')+1))
	}
	if err != nil {
		return fmt.Errorf("cells: %w", err)
	}
	return nil
}

// without leaves out the cells that have been run. One that was not reached is
// run again.
func without(plan []cellPlan, done []Cell) []cellPlan {
	type key struct {
		point int
		fault string
	}
	have := map[key]bool{}
	for _, c := range done {
		have[key{c.Point, c.Fault}] = c.Verdict != Unreached
	}
	return slices.DeleteFunc(slices.Clone(plan), func(c cellPlan) bool { return have[key{c.point, c.fault.Name}] })
}

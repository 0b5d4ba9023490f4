package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// ErrOther says that a directory has the result of another campaign.
var ErrOther = errors.New("another campaign's result")

// resume takes over from a result that was begun: the cells that need not be run
// again, which are then all that the directory has. They are found by the names
// of their points: some are not there each time, so that the numbers differ.
// Whether the plugins are the same is the user's business.
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
	number := map[Point]int{}
	for i, p := range r.Points {
		number[p] = i
	}
	var cells []Cell
	for _, c := range old.Cells {
		if c.Point < 0 || c.Point >= len(old.Points) {
			return nil, fmt.Errorf("%s: a cell of point %d, and there are %d", dir, c.Point, len(old.Points))
		}
		if n, ok := number[old.Points[c.Point]]; ok {
			c.Point = n
			cells = append(cells, c)
		}
	}
	return cells, writeCells(filepath.Join(dir, cellsFile), cells)
}

// writeCells writes a whole file of cells.
func writeCells(path string, cells []Cell) error {
	var b bytes.Buffer
	encode := json.NewEncoder(&b) // one a line
	for _, c := range cells {
		if err := encode.Encode(c); err != nil {
			return fmt.Errorf("cells: %w", err)
		}
	}
	if err := os.WriteFile(path+".new", b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("cells: %w", err)
	}
	return os.Rename(path+".new", path)
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

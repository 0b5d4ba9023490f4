package campaign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The files of a result's directory. Cells are appended as they come, a line of
// JSON each, in any order; the last of one point and fault counts.
const (
	campaignFile = "campaign.json"
	cellsFile    = "cells.jsonl"
)

// ErrNoResult says that a directory holds no result of a campaign.
var ErrNoResult = errors.New("no result of a campaign")

// Read reads the result in dir.
func Read(dir string) (Result, error) {
	var r Result
	b, err := os.ReadFile(filepath.Join(dir, campaignFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("%s: %w", dir, ErrNoResult)
	}
	if err != nil {
		return r, fmt.Errorf("result: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s: %w", filepath.Join(dir, campaignFile), err)
	}
	r.Cells, err = readCells(filepath.Join(dir, cellsFile))
	r.sort()
	return r, err
}

// ReadAll reads the result in dir, or those in its directories, in the order of
// their names.
func ReadAll(dir string) ([]Result, error) {
	r, err := Read(dir)
	if err == nil {
		return []Result{r}, nil
	}
	if !errors.Is(err, ErrNoResult) {
		return nil, err
	}
	below, err := filepath.Glob(filepath.Join(dir, "*", campaignFile))
	if err != nil || len(below) == 0 {
		return nil, fmt.Errorf("%s and below: %w", dir, ErrNoResult)
	}
	slices.Sort(below)
	all := make([]Result, 0, len(below))
	for _, path := range below {
		r, err := Read(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Write writes all of a result but its cells, which stay as they are.
func (r Result) Write(dir string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	path := filepath.Join(dir, campaignFile)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return os.Rename(path+".new", path)
}

func readCells(path string) ([]Cell, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cells: %w", err)
	}
	type key struct {
		point int
		fault string
	}
	at := map[key]int{}
	var cells []Cell
	for n := 1; len(b) > 0; n++ {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		b = rest
		var c Cell
		if err := json.Unmarshal(line, &c); err != nil {
			if !whole {
				break // the campaign was ended while it wrote this
			}
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		k := key{c.Point, c.Fault}
		if i, ok := at[k]; ok {
			cells[i] = c
			continue
		}
		at[k] = len(cells)
		cells = append(cells, c)
	}
	return cells, nil
}

// sort puts the cells in order.
func (r *Result) sort() {
	column := map[string]int{}
	for i, f := range r.Faults {
		column[f] = i
	}
	slices.SortStableFunc(r.Cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Point, b.Point), cmp.Compare(column[a.Fault], column[b.Fault]))
	})
}

// A keeper keeps a result as it grows; one without a directory keeps nothing.
type keeper struct {
	dir string
	f   *os.File
}

// open opens the result's directory, and reads what has been run.
func (o Options) open(r Result) (k *keeper, done []Cell, err error) {
	if o.Out == "" {
		return &keeper{}, nil, nil
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if o.Resume {
		if done, err = resume(o.Out, r); err != nil {
			return nil, nil, err
		}
	} else {
		flags |= os.O_TRUNC
	}
	if err := r.Write(o.Out); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(filepath.Join(o.Out, cellsFile), flags, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("cells: %w", err)
	}
	return &keeper{dir: o.Out, f: f}, done, nil
}

// write appends one cell at once, so that a campaign that is ended has it.
func (k *keeper) write(c Cell) error {
	if k.f == nil {
		return nil
	}
	b, err := json.Marshal(c)
	if err == nil {
		_, err = k.f.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cell: %w", err)
	}
	return nil
}

// close writes what became known at the end.
func (k *keeper) close(r Result) error {
	if k.f == nil {
		return nil
	}
	return errors.Join(r.Write(k.dir), k.f.Close())
}

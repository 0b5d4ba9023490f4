package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestResume(t *testing.T) {
	t.Parallel()
	points, cells := somePlan(5)
	r := Result{Conflist: "net", List: []byte(`{"name": "net"}`), Points: points, Faults: FaultNames()}
	o := Options{Out: t.TempDir(), Resume: true}
	k, done, err := o.open(r)
	if err != nil || len(done) != 0 {
		t.Fatal(len(done), err)
	}
	verdicts := []Verdict{Clean, Leak, Unreached}
	for i := len(verdicts) - 1; i >= 0; i-- { // in any order
		if err := k.write(Cell{Point: cells[i].point, Fault: cells[i].fault.Name, Verdict: verdicts[i]}); err != nil {
			t.Fatal(err)
		}
	}
	// The campaign is ended while it writes.
	if _, err := k.f.WriteString(`{"point":4,"fau`); err != nil {
		t.Fatal(err)
	}
	if err := k.f.Close(); err != nil {
		t.Fatal(err)
	}
	k, done, err = o.open(r)
	if err != nil || len(done) != len(verdicts) {
		t.Fatalf("%d cells, %v", len(done), err)
	}
	for i, c := range done {
		if c.Point != cells[i].point || c.Verdict != verdicts[i] {
			t.Errorf("cell %d is %+v", i, c)
		}
	}
	// What was not reached is run again, and the new verdict counts.
	todo := without(cells, done)
	if len(todo) != len(cells)-2 || todo[0].fault.Name != cells[2].fault.Name {
		t.Errorf("%d of %d left, first %s", len(todo), len(cells), todo[0].fault.Name)
	}
	if err := k.write(Cell{Point: cells[2].point, Fault: cells[2].fault.Name, Verdict: Clean}); err != nil {
		t.Fatal(err)
	}
	if err := k.close(r); err != nil {
		t.Fatal(err)
	}
	back, err := Read(o.Out)
	if err != nil || len(back.Cells) != 3 || back.Cells[2].Verdict != Clean {
		t.Errorf("%+v, %v", back.Cells, err)
	}
}

func TestResumeOfAnother(t *testing.T) {
	t.Parallel()
	points, _ := somePlan(5)
	r := Result{Conflist: "net", List: []byte(`{}`), Points: points}
	o := Options{Out: t.TempDir(), Resume: true}
	k, _, err := o.open(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.close(r); err != nil {
		t.Fatal(err)
	}
	for _, other := range []Result{{Conflist: "net", List: []byte(`{"a":1}`)}, {Conflist: "other", List: []byte(`{}`)}} {
		if _, _, err := o.open(other); !errors.Is(err, ErrOther) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	o.Resume = false
	if k, _, err = o.open(Result{Conflist: "other"}); err != nil {
		t.Fatal(err)
	}
	if err := k.close(Result{Conflist: "other"}); err != nil {
		t.Fatal(err)
	}
}

// TestResumeWithOtherNumbers: points that are not there any more, or new ones,
// move the others; their cells stay theirs.
func TestResumeWithOtherNumbers(t *testing.T) {
	t.Parallel()
	points, _ := somePlan(5)
	r := Result{Conflist: "net", List: []byte(`{}`), Points: points, Faults: []string{"EIO"}}
	o := Options{Out: t.TempDir(), Resume: true}
	k, _, err := o.open(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 4} {
		if err := k.write(Cell{Point: n, Fault: "EIO", Verdict: Clean}); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.close(r); err != nil {
		t.Fatal(err)
	}
	r.Points = append(points[1:5:5], Point{Verb: verbGC, Text: "new"})
	for range 2 {
		k, done, err := o.open(r)
		if err != nil || len(done) != 2 || done[0].Point != 0 || done[1].Point != 3 {
			t.Fatalf("%+v, %v", done, err)
		}
		if err := k.close(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := ReadAll(dir); !errors.Is(err, ErrNoResult) {
		t.Error(err)
	}
	for _, name := range []string{"b", "a"} {
		if err := (Result{Conflist: name}).Write(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "c"), 0o755); err != nil {
		t.Fatal(err)
	}
	all, err := ReadAll(dir)
	if err != nil || len(all) != 2 || all[0].Conflist != "a" {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err = ReadAll(filepath.Join(dir, "b")); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

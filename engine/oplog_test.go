package engine

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

func op(i int) OpRecord {
	return OpRecord{
		Time: time.Date(2031, 1, 1, 0, 0, i, 0, time.UTC), Verb: "ADD", ID: attach("c", "1").ID,
		Plugin: "toy", Duration: time.Duration(i) * time.Microsecond, Outcome: "ok",
	}
}

func TestRule23HistoryReadsWhatWasLogged(t *testing.T) {
	t.Parallel()
	j := OpenJournal(tmpRoot(t), "boot")
	if list, err := j.History(0); err != nil || len(list) > 0 {
		t.Errorf("of nothing: %v, %v", list, err)
	}
	for i := range 5 {
		if err := j.Log(op(i)); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]int{0: 5, 2: 2, 5: 5, 9: 5} {
		list, err := j.History(limit)
		if err != nil || len(list) != want {
			t.Fatalf("limit %d: %d, %v", limit, len(list), err)
		}
		for k, rec := range list {
			if rec != op(5-want+k) {
				t.Errorf("limit %d, %d: %+v", limit, k, rec)
			}
		}
	}
}

func TestRule23ErrorsAreCut(t *testing.T) {
	t.Parallel()
	j := OpenJournal(tmpRoot(t), "boot")
	rec := op(1)
	rec.Error = "a" + strings.Repeat("é", 5000)
	if err := j.Log(rec); err != nil {
		t.Fatal(err)
	}
	list, err := j.History(0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if text := list[0].Error; len(text) != 1023 || !utf8.ValidString(text) {
		t.Errorf("%d bytes", len(text))
	}
}

// A line that was never finished takes no other with it.
func TestRule23TornLines(t *testing.T) {
	t.Parallel()
	whole := newLine(t)
	for cut := range len(whole) {
		j := OpenJournal(tmpRoot(t), "boot")
		if err := os.WriteFile(j.logPath()+".1", []byte("\n{}\nnoise\n"+whole+whole[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(j.logPath(), []byte(whole[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := j.Log(op(2)); err != nil {
			t.Fatal(err)
		}
		list, err := j.History(0)
		// Cut at its end only the line's own end is missing.
		if err != nil || len(list) != 2 || list[0] != op(1) || list[1] != op(2) {
			t.Fatalf("cut at %d: %v, %v", cut, list, err)
		}
	}
}

func newLine(t *testing.T) string {
	t.Helper()
	j := OpenJournal(tmpRoot(t), "boot")
	if err := j.Log(op(1)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(j.logPath())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// childLog writes records: DIR COUNT FIRST.
func childLog(args []string) error {
	j := OpenJournal(args[0], "boot")
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	first, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	for i := range count {
		rec := op(first + i)
		rec.Error = strings.Repeat("x", logErrorMax)
		if err := j.Log(rec); err != nil {
			return err
		}
	}
	return nil
}

// Two files of 1 MiB and a line are all that is kept; the newest are there.
func TestRule23Bounded(t *testing.T) {
	t.Parallel()
	const count = 3000
	dir := tmpRoot(t)
	if err := childLog([]string{dir, strconv.Itoa(count), "0"}); err != nil {
		t.Fatal(err)
	}
	j := OpenJournal(dir, "boot")
	for _, name := range []string{j.logPath(), j.logPath() + ".1"} {
		info, err := os.Stat(name)
		if err != nil || info.Size() > logMax+2048 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	list, err := j.History(0)
	if err != nil || len(list) < 800 || len(list) == count {
		t.Fatalf("%d records, %v", len(list), err)
	}
	for i, rec := range list {
		if want := op(count - len(list) + i).Time; rec.Time != want {
			t.Fatalf("record %d is of %v, want %v", i, rec.Time, want)
		}
	}
}

// Processes put it aside without losing or mixing lines. What they write fits
// in the two files.
func TestRule23RotationBetweenProcesses(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 350
	dir := tmpRoot(t)
	j := OpenJournal(dir, "boot")
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			if err := child(t.Context(), "log", dir, fmt.Sprint(each), fmt.Sprint(i*each)).Run(); err != nil {
				t.Error(err)
			}
		})
	}
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		for range 20 {
			if _, err := j.History(10); err != nil {
				t.Error(err)
			}
		}
	}()
	all.Wait()
	<-reading
	list, err := j.History(0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[time.Time]bool{}
	for _, rec := range list {
		seen[rec.Time] = true
	}
	if len(list) != writers*each || len(seen) != writers*each {
		t.Errorf("%d records, %d of them different, want %d", len(list), len(seen), writers*each)
	}
	if files := stateFiles(t, dir); !slices.Equal(files, []string{"log", "log.1"}) {
		t.Errorf("files %q", files)
	}
}

package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func names(list []Header) string {
	var all []string
	for _, h := range list {
		all = append(all, h.ID.Container)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func never(Header) bool  { return false }
func always(Header) bool { return true }

func TestRule15Sweep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                        string
		force                       bool
		removed, kept, busy, things string
	}{
		{
			name: "GC", removed: "dead rebooted", kept: "living unknown", busy: "dead-busy",
			things: "x dead-busy x foreign x living x unknown x valid-dead x valid-living",
		},
		{
			name: "forced", force: true, removed: "dead living rebooted", kept: "", busy: "dead-busy",
			things: "x dead-busy x foreign x unknown x valid-dead x valid-living",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := testNode(t)
			for _, name := range []string{"living", "unknown", "dead", "dead-busy", "valid-living", "valid-dead", "foreign"} {
				n.w.setScope(name, "alive")
				n.mustAdd(t, attach(name, name), toy(name, ""))
			}
			n.Journal.Boot = "earlier"
			n.w.setScope("rebooted", "alive")
			n.mustAdd(t, attach("rebooted", "rebooted"), toy("rebooted", ""))
			n.Journal.Boot = "boot"
			for _, name := range []string{"dead", "dead-busy", "valid-dead", "foreign"} {
				n.w.setScope(name, "gone")
			}
			n.w.setScope("unknown", "unknown")
			held, err := n.Journal.Take(t.Context(), attach("dead-busy", "").ID, "toy", "h1")
			if err != nil || held == nil {
				t.Fatal(held, err)
			}
			defer held.Close()

			match := func(h Header) bool { return h.ID.Container != "foreign" }
			valid := func(h Header) bool { return strings.HasPrefix(h.ID.Container, "valid") }
			swept, err := n.Sweep(t.Context(), match, valid, test.force)
			// Forced, the unknown can't be entered, and that is an error.
			if (err != nil) != test.force {
				t.Errorf("error %v", err)
			}
			if got := names(swept.Removed); got != test.removed {
				t.Errorf("removed %q, want %q", got, test.removed)
			}
			if got := names(swept.Kept); got != test.kept {
				t.Errorf("kept %q, want %q", got, test.kept)
			}
			if got := names(swept.Busy); got != test.busy {
				t.Errorf("busy %q, want %q", got, test.busy)
			}
			var things []string
			for key := range n.w.things() {
				things = append(things, key)
			}
			slices.Sort(things)
			if got := strings.Join(things, " "); got != test.things {
				t.Errorf("in the world: %q, want %q", got, test.things)
			}
		})
	}
}

// What a sweep can't remove it reports, and goes on.
func TestRule15SweepGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	for _, name := range []string{"a", "b", "c"} {
		n.w.setScope(name, "alive")
		n.mustAdd(t, attach(name, name), toy(name, ""))
		n.w.setScope(name, "gone")
	}
	n.plan = &mishaps{on: map[string]mode{"remove x b": before}}
	swept, err := n.Sweep(t.Context(), always, never, false)
	if got := names(swept.Removed); got != "a c" || !errors.Is(err, errToy) || len(swept.Busy) > 0 {
		t.Errorf("%+v, %v", swept, err)
	}
	n.plan = nil
	if swept, err := n.Sweep(t.Context(), always, never, false); err != nil || names(swept.Removed) != "b" {
		t.Errorf("again: %+v, %v", swept, err)
	}
	n.wantClean(t)
}

// Nobody can say whose they are, or what they record: they are kept, and no
// failure.
func TestRules15And19SweepKeepsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	for _, name := range []string{"newer", "spoilt", "kind", "plain"} {
		n.w.setScope(name, "alive")
		n.mustAdd(t, attach(name, name), toy(name, ""))
		n.w.setScope(name, "gone")
	}
	for name, change := range map[string]func(string) string{
		"newer":  func(s string) string { return strings.Replace(s, `"format":1`, `"format":2`, 1) },
		"spoilt": func(string) string { return "nonsense\n" },
		"kind":   func(s string) string { return strings.ReplaceAll(s, `"kind":"x.1"`, `"kind":"x.9"`) },
	} {
		entries, err := n.Journal.Entries(attach(name, name).ID)
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		path := filepath.Join(entries[0].dir, entries[0].name)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(change(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	swept, err := n.Sweep(t.Context(), always, never, false)
	if err != nil || names(swept.Removed) != "plain" || len(swept.Unread) != 3 {
		t.Errorf("%+v, %v", swept, err)
	}
	if things := n.w.things(); len(things) != 3 {
		t.Errorf("left in the world: %v", things)
	}
}

// A busy shared thing is a failure of the removal, not a busy entry.
func TestRule15SweepReportsWhatIsBusyWithin(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("a", "alive")
	n.mustAdd(t, attach("a", "a"), vrf())
	n.w.setScope("a", "gone")
	held, err := n.Journal.Lock(t.Context(), "common vrf", true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	swept, err := n.Sweep(ctx, always, never, false)
	if !errors.Is(err, ErrBusy) || len(swept.Removed)+len(swept.Busy)+len(swept.Kept) > 0 {
		t.Errorf("%+v, %v", swept, err)
	}
	held.Unlock()
	if swept, err := n.Sweep(t.Context(), always, never, false); err != nil || names(swept.Removed) != "a" {
		t.Errorf("%+v, %v", swept, err)
	}
	n.wantClean(t)
}

// Between the look and the lock the attachment went, and came again under the
// same name: the new one is not the sweep's.
func TestRule15SweepDoesNotTakeANewOneForTheOld(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("old", "alive")
	n.w.setScope("new", "alive")
	n.mustAdd(t, attach("a", "old"), toy("a", ""))
	n.w.setScope("old", "gone")
	valid := func(h Header) bool {
		n.mustDel(t, attach("a", "old"))
		n.mustAdd(t, attach("a", "new"), toy("a", ""))
		return false
	}
	swept, err := n.Sweep(t.Context(), always, valid, false)
	if err != nil || len(swept.Removed) > 0 || names(swept.Busy) != "a" {
		t.Errorf("%+v, %v", swept, err)
	}
	if len(n.w.things()) != 1 {
		t.Error("the new one was removed")
	}
	valid = func(Header) bool { n.mustDel(t, attach("a", "new")); return false }
	n.w.setScope("new", "gone")
	swept, err = n.Sweep(t.Context(), always, valid, false)
	if err != nil || len(swept.Removed)+len(swept.Busy) > 0 {
		t.Errorf("gone meanwhile: %+v, %v", swept, err)
	}
	n.wantClean(t)
}

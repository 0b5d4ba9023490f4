package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-net/fairlead/attachment"
)

// header is of the attachment "c" with one of several calls.
func callOf(plugin, hash string) Header {
	h := attach("c", "1")
	h.Plugin, h.Hash = plugin, hash
	return h
}

// onlyFile gives the path of the only entry of an attachment.
func onlyFile(t testing.TB, j *Journal, id attachment.ID) string {
	t.Helper()
	names, err := entryNames(j.dirOf(id))
	if err != nil || len(names) != 1 {
		t.Fatalf("entries %q, %v", names, err)
	}
	return filepath.Join(j.dirOf(id), names[0])
}

func TestRule01TakePicksEqualHashElseTheNewest(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	for i, call := range [][2]string{{"a", "h1"}, {"a", "h2"}, {"b", "h1"}, {"a", "h3"}, {"a-b", "h1"}} {
		n.mustAdd(t, callOf(call[0], call[1]), toy(fmt.Sprint(i), ""))
	}
	tests := []struct{ plugin, hash, want string }{
		{"a", "h1", "000001-a-h1"},
		{"a", "h2", "000002-a-h2"},
		{"a", "other", "000004-a-h3"},
		{"b", "other", "000003-b-h1"},
		{"a-b", "h1", "000005-a-b-h1"},
		{"c", "h1", ""},
	}
	for _, test := range tests {
		e, err := n.Journal.Take(t.Context(), attach("c", "1").ID, test.plugin, test.hash)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if e != nil {
			got = e.Name()
			e.Close()
		}
		if got != test.want {
			t.Errorf("%s, %s: took %q, want %q", test.plugin, test.hash, got, test.want)
		}
	}
	entries, err := n.Journal.Entries(attach("c", "1").ID)
	if err != nil || len(entries) != 5 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i, e := range entries {
		if e.Header.Boot != "boot" || e.Header.Scope != "1" || e.Header.Created.IsZero() || !e.Done {
			t.Errorf("entry %d: %+v", i+1, e.Header)
		}
	}
}

// Case 20's kin: an entry of a namespace or a boot that is gone says so.
func TestRule01EntriesRecordBootAndNamespace(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	h := attach("c", "1")
	n.mustAdd(t, h, toy("a", ""), toy("b", toyScope))
	n.Journal.Boot = "next boot"
	n.w.put("x b", thingAt{Owner: toyOwner, In: "scope@1"})
	n.plan = &mishaps{}
	n.mustDel(t, h)
	if !slices.Equal(n.plan.calls, []string{"remove x a"}) {
		t.Errorf("after a reboot DEL called %q", n.plan.calls)
	}
	n.wantClean(t)
}

// sample is the text of an entry with every kind of line.
func sample(t testing.TB) (text []byte, whole *Entry) {
	t.Helper()
	n := testNode(t)
	n.w.setScope("1", "alive")
	n.w.put("x b", thingAt{Owner: "another"})
	h := attach("c", "1")
	call, err := n.begin(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Facts(context.Background(), []Fact[env]{toyFact{value: "1\n2"}}); err != nil {
		t.Fatal(err)
	}
	if err := call.Apply(context.Background(), one(toy("a", ""), toy("b", ""))); !IsConflict(err) {
		t.Fatal(err)
	}
	if err := call.Apply(context.Background(), one(toy("é", ""))); err != nil {
		t.Fatal(err)
	}
	if err := call.Commit(); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(onlyFile(t, n.Journal, h.ID))
	if err != nil {
		t.Fatal(err)
	}
	whole = &Entry{}
	if _, err := whole.parse(text); err != nil {
		t.Fatal(err)
	}
	return text, whole
}

// Torn at any byte, an entry reads as its whole lines, in which every resource
// is whole.
func TestRule01EntryTornAtEveryByte(t *testing.T) {
	t.Parallel()
	text, whole := sample(t)
	for cut := range text {
		torn := text[:cut]
		e := &Entry{}
		n, err := e.parse(torn)
		if errors.Is(err, errEmpty) && !bytes.Contains(torn, []byte{'\n'}) {
			continue
		}
		if err != nil || n != bytes.LastIndexByte(torn, '\n')+1 {
			t.Fatalf("cut at %d: %d, %v", cut, n, err)
		}
		list, err := toyKinds().Decode(e)
		if err != nil || e.Done {
			t.Fatalf("cut at %d: done %v, %v", cut, e.Done, err)
		}
		for _, r := range list {
			if !strings.Contains("ab é", r.Key()) || baseOf(r).Owner != toyOwner {
				t.Fatalf("cut at %d: half a resource: %+v", cut, r)
			}
		}
		if len(e.records) > len(whole.records) || len(list) > len(e.records) {
			t.Fatalf("cut at %d: too much", cut)
		}
	}
}

// On the disk too; and a torn last line does not spoil those that follow.
func TestRule01TornEntryIsRemovedByDEL(t *testing.T) {
	t.Parallel()
	text, _ := sample(t)
	for cut := range len(text) + 5 {
		n := testNode(t)
		n.w.setScope("1", "alive")
		h := attach("c", "1")
		n.mustAdd(t, h, toy("a", ""))
		torn := append(text[:len(text):len(text)], `{"undo`...)[:cut]
		if err := os.WriteFile(onlyFile(t, n.Journal, h.ID), torn, 0o600); err != nil {
			t.Fatal(err)
		}
		n.w.put("x é", thingAt{Owner: toyOwner})
		n.plan = &mishaps{on: map[string]mode{"remove x a": before}}
		tried := bytes.Contains(torn, []byte(`{"try":1}`+"\n"))
		if left := leftOf(t, n.del(h, nil)); (len(left) > 0) != tried {
			t.Fatalf("cut at %d: left %q", cut, left)
		}
		n.plan = nil
		if err := n.del(h, one(toy("a", ""), toy("é", ""))); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		n.wantClean(t)
	}
}

func TestRules01And19WhatCannotBeReadIsKept(t *testing.T) {
	t.Parallel()
	header := `{"entry":{"format":1,"attachment":{"network":"net","container":"c","ifName":"eth0"},"plugin":"toy","hash":"h1","boot":"boot","scope":"1"}}` + "\n"
	intend := `{"intend":1,"kind":"x.1","body":{"name":"a","owner":"me"}}` + "\n"
	tests := []struct {
		name, text string
		want       error // of Take, or of Decode
	}{
		{"newer format", strings.Replace(header, `"format":1`, `"format":2`, 1) + `{"novel":true}` + "\n", ErrNewer},
		{"no format", strings.Replace(header, `"format":1`, `"format":0`, 1), ErrUnreadable},
		{"newer kind", header + strings.Replace(intend, "x.1", "x.2", 1) + `{"try":1}` + "\n", ErrNewer},
		{"unknown line", header + `{"novel":true}` + "\n", ErrUnreadable},
		{"no header", intend, ErrUnreadable},
		{"two headers", header + header, ErrUnreadable},
		{"no JSON", "\x00\x00\n", ErrUnreadable},
		{"an empty line", header + "\n" + intend, ErrUnreadable},
		{"gap", header + strings.Replace(intend, `"intend":1`, `"intend":2`, 1), ErrUnreadable},
		{"trying the unknown", header + `{"try":1}` + "\n", ErrUnreadable},
		{"no resource", header + `{"intend":1,"kind":"x.1"}` + "\n", ErrUnreadable},
		{"null", header + `{"intend":1,"kind":"x.1","body":null}` + "\n", ErrUnreadable},
		{"wrong type", header + `{"intend":1,"kind":"x.1","body":{"name":1}}` + "\n" + `{"try":1}` + "\n", ErrUnreadable},
		{"too long", header + strings.Repeat(intend[:len(intend)-1]+strings.Repeat(" ", 1<<20)+"\n", 5), ErrUnreadable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := testNode(t)
			n.w.setScope("1", "alive")
			h := attach("c", "1")
			n.mustAdd(t, h, toy("z", ""))
			n.w.put("x z", thingAt{})
			path := onlyFile(t, n.Journal, h.ID)
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			n.wantKept(t, h, path, test.want)
			// The ADD makes its own beside it, and its DEL takes that one.
			n.mustAdd(t, h, toy("a", ""))
			n.mustDel(t, h)
			n.wantKept(t, h, path, test.want)
			gone := func(Header) bool { return true }
			swept, err := n.Sweep(t.Context(), gone, func(Header) bool { return false }, true)
			if err != nil || !errors.Is(errors.Join(swept.Unread...), test.want) || len(swept.Removed) > 0 {
				t.Errorf("sweep: %+v, %v", swept, err)
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != test.text {
				t.Errorf("the entry was touched: %v", err)
			}
			if names, err := n.Journal.Forget(t.Context(), h.ID.Owner()); err != nil || len(names) != 1 {
				t.Errorf("forget: %q, %v", names, err)
			}
			n.wantClean(t)
		})
	}
}

func (n *node) wantKept(t *testing.T, h Header, path string, want error) {
	t.Helper()
	e, err := n.Journal.Take(t.Context(), h.ID, h.Plugin, h.Hash)
	if err == nil {
		err = n.RemoveEntry(t.Context(), e)
	}
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", filepath.Base(path), err, want)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// A done entry whose kinds we don't know is in force all the same.
func TestRule02DoneByANewerVersionIsInForce(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	h := attach("c", "1")
	n.mustAdd(t, h, toy("a", ""))
	delete(n.Codec, "x.1")
	if _, err := n.begin(h, nil); !errors.Is(err, ErrDone) {
		t.Errorf("ADD: %v, want ErrDone", err)
	}
}

// A DEL that comes between the making of an entry and its lock takes the entry
// for a crashed call's: the ADD must notice, and begin again.
func TestRule02BeginBesideTake(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	h := attach("c", "1")
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 3 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := n.del(h, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	added := 0
	for range 300 {
		err, _ := n.add(h, nil, one(toy("a", "")))
		switch {
		case err == nil:
			added++
		case !errors.Is(err, ErrDone) && !errors.Is(err, ErrBusy):
			t.Errorf("ADD: %v", err)
		}
	}
	close(stop)
	others.Wait()
	if added == 0 {
		t.Error("no ADD got through")
	}
	n.mustDel(t, h)
	wantThings(t, n.w.things(), map[string]thingAt{})
	n.wantClean(t)
}

// Of many ADDs of one name only one is made.
func TestRule02ManyADDsAtOnce(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	for range 20 {
		var all sync.WaitGroup
		var mu sync.Mutex
		added := 0
		for range 8 {
			all.Go(func() {
				err, rolled := n.add(attach("c", "1"), nil, one(toy("a", ""), vrf()))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					added++
				case !errors.Is(err, ErrDone) && !errors.Is(err, ErrBusy):
					t.Errorf("ADD: %v, %v", err, rolled)
				}
			})
		}
		all.Wait()
		if added != 1 {
			t.Fatalf("%d were made", added)
		}
		n.mustDel(t, attach("c", "1"))
		n.wantClean(t)
	}
}

func TestEntriesAndAllTellWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	if all, err := n.Journal.All(); err != nil || all != nil {
		t.Errorf("of nothing: %v, %v", all, err)
	}
	for _, name := range []string{"a", "b", "c"} {
		n.mustAdd(t, attach(name, "1"), toy(name, ""))
	}
	spoil(t, n.Journal, attach("b", "1"), "what?\n")
	spoil(t, n.Journal, attach("c", "1"), "") // not begun: no error
	all, err := n.Journal.All()
	if len(all) != 1 || !errors.Is(err, ErrUnreadable) {
		t.Errorf("%d entries, %v", len(all), err)
	}
	if entries, err := n.Journal.Entries(attach("none", "1").ID); err != nil || entries != nil {
		t.Errorf("of an unknown attachment: %v, %v", entries, err)
	}
}

// The decoder never panics, whatever it is given; what it accepts, it accepts
// again when cut at any line, and every resource of it is whole or refused.
func FuzzEntry(f *testing.F) {
	text, _ := sample(f)
	f.Add(text)
	f.Add([]byte(`{"entry":{"format":1}}` + "\n" + `{"intend":1,"kind":"setting.1","body":{"saved":null}}` + "\n" + `{"try":1}` + "\n" + `{"undo":true}` + "\n"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e := &Entry{name: "fuzz"}
		whole, err := e.parse(data)
		if err != nil {
			return
		}
		if whole > len(data) || data[whole-1] != '\n' || e.Header.Format != Format {
			t.Fatalf("whole %d of %d, %+v", whole, len(data), e.Header)
		}
		for _, r := range e.records {
			if !json.Valid(r.body) || r.body[0] != '{' {
				t.Fatalf("a record that is no resource: %q", r.body)
			}
		}
		if list, err := toyKinds().Decode(e); err == nil && slices.Contains(list, nil) {
			t.Fatal("a resource that is none")
		}
		if cut := bytes.IndexByte(data, '\n') + 1; cut > 0 {
			if _, err := new(Entry).parse(data[:cut]); err != nil {
				t.Fatalf("without the later lines: %v", err)
			}
		}
	})
}

// TestSweepDropsWhatDiedAtItsStart: a directory without an entry, and an entry
// without its first line.
func TestSweepDropsWhatDiedAtItsStart(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	for i, name := range []string{"", entryName(1, "toy", "hash")} {
		dir := n.Journal.dirOf(attachment.ID{Container: fmt.Sprint(i)})
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Journal.dropEmpty(); err != nil {
		t.Fatal(err)
	}
	n.wantClean(t)
}

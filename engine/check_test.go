package engine

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestRule14FoldExpectsLaterChanges(t *testing.T) {
	t.Parallel()
	n := testNode(t)
	n.w.setScope("1", "alive")
	link := func(value string) *exclusive {
		x := toy("link", "")
		x.Value = value
		return x
	}
	amend := func(name, value string) *amendment {
		return &amendment{base: base{Name: name, Value: value}, Of: "x link"}
	}
	chain := []struct {
		h    Header
		list []Resource[env]
	}{
		{callOf("first", "h"), one(toy("other", ""))},
		{callOf("bridge", "h"), one(link("1500"), toy("address", "x link"), amend("own", "1500"))},
		{callOf("tuning", "h1"), one(amend("mtu", "1400"))},
		{callOf("tuning", "h2"), one(amend("mtu", "1300"))},
	}
	for _, call := range chain {
		n.mustAdd(t, call.h, call.list...)
	}
	entries, err := n.Journal.Entries(attach("c", "1").ID)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{1: "1300", 3: ""} {
		list, err := Fold(n.Codec, entries, entries[i].Name())
		if err != nil || len(list) != len(chain[i].list) {
			t.Fatalf("%d resources, %v", len(list), err)
		}
		if err := Check(t.Context(), env{w: n.w}, Scope{Ref: toyScope, ID: "1"}, list); err != nil {
			t.Errorf("CHECK: %v", err)
		}
		if want != "" && baseOf(list[0]).Value != want {
			t.Errorf("folded to %q, want %q", baseOf(list[0]).Value, want)
		}
	}
	// Without the last one's entry the value is a surprise.
	list, err := Fold(n.Codec, entries[:3], entries[1].Name())
	if err != nil {
		t.Fatal(err)
	}
	err = Check(t.Context(), env{w: n.w}, Scope{Ref: toyScope}, list)
	if err == nil || err.Error() != "x link: changed: value is 1300" {
		t.Errorf("CHECK: %v", err)
	}
	if _, err := Fold(n.Codec, entries, "000009-none-h"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("fold of an entry that is not there: %v", err)
	}
	delete(n.Codec, "amendment.1")
	if _, err := Fold(n.Codec, entries, entries[0].Name()); !errors.Is(err, ErrNewer) {
		t.Errorf("fold over an unknown kind: %v", err)
	}
}

// speechless forgets to say what it found.
type speechless struct{ exclusive }

func (*speechless) Observe(context.Context, env) (State, error) { return State{}, nil }

// Case 21: a look-up that fails does not pass for a healthy container.
func TestRule14Case21Check(t *testing.T) {
	t.Parallel()
	drifted := toy("drifted", "")
	drifted.Value = "1500"
	n := testNode(t)
	n.w.setScope("1", "alive")
	n.w.put("x there", thingAt{})
	n.w.put("x drifted", thingAt{Value: "9000"})
	tests := []struct {
		name string
		r    Resource[env]
		gone bool
		want string
	}{
		{"there", toy("there", ""), false, ""},
		{"missing", toy("none", ""), false, "x none: missing"},
		{"drifted", drifted, false, "x drifted: changed: value is 9000"},
		{"unknown", toy("unknown", ""), false, "x unknown: could not find out: observe x unknown: toy failure"},
		{"silent", &speechless{exclusive{base{Name: "silent"}}}, false, "x silent: could not find out: it did not say"},
		{"gone with its scope", toy("there", toyScope), true, "x there: gone with scope"},
	}
	plan := &mishaps{on: map[string]mode{"observe x unknown": before}}
	var all []Resource[env]
	for _, test := range tests {
		err := Check(t.Context(), env{w: n.w, plan: plan}, Scope{Ref: toyScope, Gone: test.gone}, one(test.r))
		if got := text(err); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		all = append(all, test.r)
	}
	// What two say is said once.
	err := Check(t.Context(), env{w: n.w, plan: plan}, Scope{Ref: toyScope}, append(all, all...))
	if got := strings.Count(text(err), "\n") + 1; got != 4 {
		t.Errorf("of all: %v", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestErrorsKeepWhatTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"Partial": Partial(errToy), "Conflict": Conflict(errToy), "both": Partial(Conflict(errToy)),
		"remaining": remaining([]Remaining{{"x a", errToy}, {"x b", ErrBusy}}),
	} {
		if !errors.Is(err, errToy) || !strings.Contains(err.Error(), errToy.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if Partial(nil) != nil || Conflict(nil) != nil || remaining(nil) != nil {
		t.Error("an error of none")
	}
	if IsPartial(errToy) || IsConflict(errToy) || !IsConflict(Partial(Conflict(errToy))) {
		t.Error("marks mixed up")
	}
	if got := MakeRef("veth.1", "a.b c"); got != "veth a.b c" {
		t.Errorf("Ref %q", got)
	}
}

func TestSorts(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Resource[env]{
		"exclusive": toy("a", ""), "shared": vrf(), "restored": mtu("1"), "ensured": new(ensured),
	} {
		if got := SortOf(r); got != want {
			t.Errorf("%s: %s, want %s", RefOf(r), got, want)
		}
	}
}

package cni

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/kernel"
)

const toyConf = `{"cniVersion":"1.1.0","name":"net","type":"toy","as":"AS","prevResult":{"cniVersion":"1.1.0"}}`

func toyAs(as string) string { return strings.Replace(toyConf, "AS", as, 1) }

// TestRule14CheckTakesTheRecordThatDELWould: of equal configuration, else the
// newest.
func TestRule14CheckTakesTheRecordThatDELWould(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, as := range []string{"a", "b"} {
		if code, out := d.call(Add, toyAs(as)); code != 0 {
			t.Fatal(out)
		}
	}
	if err := os.Remove(filepath.Join(d.dir, "made-c1a")); err != nil {
		t.Fatal(err)
	}
	for as, want := range map[string]int{"a": 1, "b": 0, "c": 0} {
		if code, out := d.call(Check, toyAs(as)); code != want {
			t.Errorf("%s: %d, want %d: %s", as, code, want, out)
		}
	}
}

// TestRule14CheckTakesNoRecordOfAnotherNamespace: the container has another one
// by now, which another suite attached.
func TestRule14CheckTakesNoRecordOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if code, out := d.call(Add, toyAs("a")); code != 0 {
		t.Fatal(out)
	}
	if err := os.Remove(filepath.Join(d.dir, "made-c1a")); err != nil {
		t.Fatal(err)
	}
	other, err := kernel.Create("")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if code, out := d.call(Check, toyAs("a")); code == 0 {
		t.Errorf("in the same namespace: %s", out)
	}
	d.vars["CNI_NETNS"] = other.Path()
	if code, out := d.call(Check, toyAs("a")); code != 0 {
		t.Errorf("in another namespace: %s", out)
	}
}

// TestRule14CheckOfNothing passes on nothing.
func TestRule14CheckOfNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	code, out := d.call(Check, goodConf)
	if e := errorObject(t, out); code == 0 || e.Code != CodeConfig || !strings.Contains(e.Msg, "prevResult") {
		t.Errorf("%d: %+v", code, e)
	}
}

// TestRule19CheckGoesByPrevResult where the record can't be read: it is no fault
// of the container.
func TestRule19CheckGoesByPrevResult(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(string) string{
		"newer format": func(s string) string { return strings.Replace(s, `"format":1`, `"format":2`, 1) },
		"newer kind":   func(s string) string { return strings.ReplaceAll(s, `"toy.1"`, `"toy.2"`) },
		"nonsense":     func(string) string { return "nonsense\n" },
	} {
		d := newDesk(t)
		if code, out := d.call(Add, toyAs("a")); code != 0 {
			t.Fatal(out)
		}
		entry := d.entries(t)[0]
		text, err := os.ReadFile(entry)
		if err == nil {
			err = os.WriteFile(entry, []byte(spoil(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if code, out := d.call(Check, toyAs("a")); code != 0 || !strings.Contains(d.stderr.String(), "prevResult") {
			t.Errorf("%s: %d, %s; said %q", what, code, out, d.stderr)
		}
	}
}

// TestSpec08GCWithABrokenConfiguration removes what the journal knows, and says
// what is wrong.
func TestSpec08GCWithABrokenConfiguration(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if code, out := d.call(Add, goodConf); code != 0 {
		t.Fatal(out)
	}
	d.vars[forceGC] = "1" // as if the namespace were gone
	code, out := d.call(GC, strings.TrimSuffix(goodConf, "}")+`,"mtu":"refused"}`)
	if e := errorObject(t, out); code == 0 || e.Code != CodeConfig || !strings.Contains(e.Msg, "the toy refuses") {
		t.Errorf("%d: %+v", code, e)
	}
	if d.made() || len(d.entries(t)) != 0 {
		t.Error("what is stale is still there")
	}
}

// TestRule19GCKeepsUnreadableRecords, and says so: it is no failure of GC.
func TestRule19GCKeepsUnreadableRecords(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if code, out := d.call(Add, goodConf); code != 0 {
		t.Fatal(out)
	}
	if err := os.WriteFile(d.entries(t)[0], []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := d.call(GC, goodConf); code != 0 || out != "" || len(d.entries(t)) != 1 {
		t.Errorf("%d: %s; %v", code, out, d.entries(t))
	}
	if !strings.Contains(d.stderr.String(), "fairlead forget") {
		t.Errorf("said %q", d.stderr)
	}
	d.vars[forceGC] = "1"
	if code, out := d.call(GC, goodConf); code == 0 || len(d.entries(t)) != 1 {
		t.Errorf("forced: %d: %s; %v", code, out, d.entries(t))
	}
}

func TestRule22PanicsWhileReadingBecomeErrors(t *testing.T) {
	t.Parallel()
	r, err := readRequest(env(fullEnv(Add)), panickingReader{})
	if r == nil || Code(err) != CodeInternal || !strings.Contains(err.Error(), "explodes") {
		t.Errorf("%v, %v", r, err)
	}
}

type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("standard input explodes") }

package engine

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCase32RecordsOfUsersTornAtEveryByte: what says who uses a thing, or what
// a holder found, is cut, emptied or turned into something else. Everything
// goes, and the old value is back: the entry has it too.
func TestCase32RecordsOfUsersTornAtEveryByte(t *testing.T) {
	t.Parallel()
	for cut := 0; ; cut++ {
		n := testNode(t)
		first := furnish(n.w, "me", "other")
		_, list := wholePlan("me")
		n.mustAdd(t, attach("me", "1"), list...)
		longest := 0
		files, err := filepath.Glob(filepath.Join(n.Journal.Root(), "shared", "*", "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%q, %v", files, err)
		}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err == nil {
				longest = max(longest, len(data))
				err = os.WriteFile(path, data[:min(cut, len(data))], 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		n.mustDel(t, attach("me", "1"))
		wantThings(t, n.w.things("ensured"), first)
		n.wantClean(t)
		if cut > longest {
			return
		}
	}
}

// TestCase32LostRecordsOfSeveralHolders: of two plugins of one attachment, and
// with records that say nothing.
func TestCase32LostRecordsOfSeveralHolders(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "{}", "null", "[]", "x"} {
		n := testNode(t)
		first := furnish(n.w, "me")
		_, list := wholePlan("me")
		n.mustAdd(t, attach("me", "1"), list...)
		second := attach("me", "1")
		second.Hash = "h2"
		n.mustAdd(t, second, &setting{base: base{Name: "mtu", Owner: "me", Value: "second"}})
		files, err := filepath.Glob(filepath.Join(n.Journal.Root(), "shared", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		n.mustDel(t, second)
		n.mustDel(t, attach("me", "1"))
		wantThings(t, n.w.things("ensured"), first)
		n.wantClean(t)
	}
}

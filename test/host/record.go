package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Record is one call that the recording delegate wrote down.
type Record struct {
	Program string         `json:"program"`
	Verb    string         `json:"verb"`
	Env     []string       `json:"env"`
	Stdin   map[string]any `json:"stdin"`
	// Host and Container list links with addresses, as ip -j prints them, if
	// the recorder was told to look; Container is nil when there was none.
	Host      []map[string]any `json:"host"`
	Container []map[string]any `json:"container"`
}

// Get returns a variable of the call's environment.
func (r Record) Get(name string) (string, bool) {
	for _, v := range r.Env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// Records reads what the recorder wrote into dir, in the order of the calls;
// verbs, if given, choose among them.
func Records(t testing.TB, dir string, verbs ...string) []Record {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var r Record
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(verbs) == 0 || contains(verbs, r.Verb) {
			records = append(records, r)
		}
	}
	return records
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

func withoutLength(prefix string) string {
	address, _, _ := strings.Cut(prefix, "/")
	return address
}

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for path, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(path), target)); err != nil {
				t.Errorf("%s: %s leads nowhere: %v", path, m[1], err)
			}
		}
	}
}

// TestErrorCodes: the table has every code of cni/codes.go, and no other.
func TestErrorCodes(t *testing.T) {
	t.Parallel()
	defined := regexp.MustCompile(`(?m)^\tCode\w+\s+(?:uint )?= *(?:types\.\w+ *// *)?(\d+)$`)
	listed := regexp.MustCompile(`(?m)^\| (\d+) \|`)
	code, table := read(t, "cni/codes.go"), read(t, "docs/operations.md")
	const kept = "code"
	in := map[string]string{}
	for _, m := range defined.FindAllStringSubmatch(code, -1) {
		in[m[1]] = kept
	}
	if names := regexp.MustCompile(`(?m)^\tCode\w+ .*=`).FindAllString(code, -1); len(names) != len(in) {
		t.Errorf("%d codes can be read of %d in cni/codes.go", len(in), len(names))
	}
	for _, m := range listed.FindAllStringSubmatch(table, -1) {
		if in[m[1]] != kept {
			t.Errorf("docs/operations.md has code %s, which cni/codes.go has not, or has it twice", m[1])
		}
		delete(in, m[1])
	}
	for n := range in {
		t.Errorf("docs/operations.md lacks code %s", n)
	}
}

// TestEnvironmentVariables: those that the program reads are in the table.
func TestEnvironmentVariables(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`"((?:FAIRLEAD|CNI|XDG)_[A-Z_]+)"`)
	text := read(t, "docs/operations.md")
	for path, code := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "test/") || strings.HasSuffix(filepath.Dir(path), "test") {
			continue
		}
		for _, m := range variable.FindAllStringSubmatch(code, -1) {
			if !strings.Contains(text, "`"+m[1]+"`") {
				t.Errorf("docs/operations.md does not tell of %s, which %s reads", m[1], path)
			}
		}
	}
}

// TestCommands: every command of the operator's tool is in its manual.
func TestCommands(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/operations.md") + read(t, "docs/switching.md") + read(t, "README.md")
	use := regexp.MustCompile(`Use: +"([a-z]+)|containerCommand\("([a-z]+)`)
	seen := 0
	for path, code := range goFiles(t) {
		if !strings.HasPrefix(path, "cmd/fairlead/") {
			continue
		}
		for _, m := range use.FindAllStringSubmatch(code, -1) {
			name := m[1] + m[2]
			if name == "fairlead" {
				continue
			}
			seen++
			if !regexp.MustCompile(`fairlead +` + name + `\b|make ` + name + `\b`).MatchString(text) {
				t.Errorf("the manuals do not tell of 'fairlead %s' (%s)", name, path)
			}
		}
	}
	if seen == 0 {
		t.Error("no command was found")
	}
}

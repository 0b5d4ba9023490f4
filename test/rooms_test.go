package test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "github.com/fairlead-net/fairlead"
	maxLines = 500 // of a source file
)

// arrows says what each room may import of ours: its own packages, and those of
// the rooms named. docs/architecture.md has the picture.
func arrows() map[string][]string {
	below := []string{"engine", "resource", "kernel", "attachment", "program"}
	return map[string][]string{
		"cmd":        append([]string{"plugin", "agent", "lab", "cni", "overlay", "ipam"}, below...),
		"plugin":     {"cni", "ipam", "engine", "resource", "attachment"}, // pure: no kernel; and see below
		"agent":      append([]string{"cni", "overlay", "ipam"}, below...),
		"lab":        append([]string{"cni", "overlay", "ipam"}, below...),
		"cni":        below,
		"overlay":    below,
		"ipam":       below,
		"resource":   {"engine", "kernel", "attachment"},
		"engine":     {"attachment", "program"}, // no kind and no kernel
		"kernel":     {"program"},
		"attachment": {},
		"program":    {},
	}
}

// kernelOnly are libraries that talk to the kernel: for kernel/ alone, and for
// the suites in test/, which look at the kernel by other eyes than ours.
func kernelOnly() []string {
	return []string{"github.com/vishvananda/netlink", "github.com/google/nftables", "github.com/mdlayher"}
}

// tooHeavy must not be in the plugin binary, which starts at every call.
func tooHeavy() []string {
	return []string{"k8s.io", "sigs.k8s.io", "github.com/prometheus", "testing"}
}

// source is one Go file.
type source struct {
	dir, name string // relative to the root, with slashes
	lines     int
	imports   []string
	pkg       string
	commented bool // has a package comment
	generated bool
}

func (s source) path() string { return path.Join(s.dir, s.name) }
func (s source) test() bool   { return strings.HasSuffix(s.name, "_test.go") }
func (s source) room() string { return roomOf(s.dir) }

func roomOf(dir string) string {
	room, _, _ := strings.Cut(dir, "/")
	return room
}

// helper says whether the package in dir is there for tests only: it lies in
// test/, or its name ends in "test".
func helper(dir string) bool {
	return roomOf(dir) == "test" || strings.HasSuffix(path.Base(dir), "test")
}

func under(pkg, prefix string) bool { return pkg == prefix || strings.HasPrefix(pkg, prefix+"/") }

// parse reads every Go file below root, whatever its build constraints, except
// testdata and other modules.
func parse(root string) ([]source, error) {
	var all []source
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(file, "go.mod"))
			if file != root && (nested == nil || d.Name() == "testdata" || d.Name()[0] == '.' || d.Name()[0] == '_') {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		s, err := parseFile(root, file)
		all = append(all, s)
		return err
	})
	return all, err
}

func parseFile(root, file string) (source, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return source{}, err
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return source{}, err
	}
	s := source{
		dir:       path.Dir(filepath.ToSlash(rel)),
		name:      path.Base(filepath.ToSlash(rel)),
		lines:     bytes.Count(text, []byte("\n")),
		pkg:       tree.Name.Name,
		commented: tree.Doc.Text() != "",
		generated: ast.IsGenerated(tree),
	}
	for _, imp := range tree.Imports {
		target, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, target)
	}
	return s, nil
}

// broken lists what is wrong with the imports of s.
func broken(s source) []string {
	var wrong []string
	complain := func(format string, args ...any) {
		wrong = append(wrong, s.path()+": "+fmt.Sprintf(format, args...))
	}
	allowed, known := arrows()[s.room()]
	if !known && s.room() != "test" {
		complain("the room %q is not in the plan", s.room())
		return wrong
	}
	for _, target := range s.imports {
		if target == "testing" && !s.test() && !helper(s.dir) {
			complain("imports testing, outside of tests")
		}
		for _, lib := range kernelOnly() {
			if under(target, lib) && s.room() != "kernel" && s.room() != "test" {
				complain("imports %s: only kernel/ may", target)
			}
		}
		if !under(target, module) {
			continue
		}
		dir := strings.TrimPrefix(strings.TrimPrefix(target, module), "/")
		if problem := brokenArrow(s, dir, allowed); problem != "" {
			complain("imports %s: %s", dir, problem)
		}
	}
	return wrong
}

// brokenArrow says what is wrong with s importing our package in dir; "" when
// nothing is. Tests may also use helpers, and the kernel to look at it.
func brokenArrow(s source, dir string, allowed []string) string {
	room := roomOf(dir)
	switch {
	case s.room() == "test":
		return ""
	case helper(dir):
		if !s.test() && !helper(s.dir) {
			return "a helper for tests"
		}
		return ""
	case s.room() == "plugin" && room == "plugin":
		if pluginOf(s.dir) != pluginOf(dir) {
			return "plugins do not know each other"
		}
		return ""
	case s.room() == room, slices.Contains(allowed, room):
		return ""
	case s.test() && room == "kernel" && s.room() != "engine" && s.room() != "attachment":
		return ""
	}
	return fmt.Sprintf("no arrow leads from %s to %s", s.room(), room)
}

// pluginOf is the plugin's name in plugin/NAME/….
func pluginOf(dir string) string {
	parts := strings.Split(dir, "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// untidy lists files that are too long and packages that say nothing of
// themselves.
func untidy(all []source) []string {
	var wrong []string
	commented := map[string]bool{}
	for _, s := range all {
		if s.lines > maxLines && !s.generated {
			wrong = append(wrong, fmt.Sprintf("%s: %d lines, more than %d: split it by subject", s.path(), s.lines, maxLines))
		}
		commented[s.dir] = commented[s.dir] || s.commented
	}
	for dir, ok := range commented {
		if !ok {
			wrong = append(wrong, dir+": no package comment (in doc.go: what may enter, and what may not)")
		}
	}
	return wrong
}

func TestRooms(t *testing.T) {
	t.Parallel()
	all, err := parse("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d Go files found", len(all))
	}
	for _, s := range all {
		for _, w := range broken(s) {
			t.Error(w)
		}
	}
	for _, w := range untidy(all) {
		t.Error(w)
	}
}

// TestPluginBinaryStaysLight: whatever the imports' way, these must not arrive.
func TestPluginBinaryStaysLight(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	cmd := exec.Command("go", "list", "-deps", module+"/cmd/fairlead")
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, said.String())
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, module+"/cni") {
		t.Errorf("cmd/fairlead without cni? %d packages", len(deps))
	}
	for _, dep := range deps {
		for _, heavy := range tooHeavy() {
			if under(dep, heavy) {
				t.Errorf("cmd/fairlead depends on %s", dep)
			}
		}
	}
}

// TestRoomsNoticesBreaks breaks each rule once.
func TestRoomsNoticesBreaks(t *testing.T) {
	t.Parallel()
	const netlink = "github.com/vishvananda/netlink"
	ours := func(dir string) string { return module + "/" + dir }
	for _, c := range []struct {
		file, imports string
		want          string // "": allowed
	}{
		{"cmd/fairlead/main.go", ours("plugin/bridge"), ""},
		{"cmd/fairlead/main.go", ours("kernel"), ""},
		{"plugin/bridge/plan.go", ours("cni"), ""},
		{"plugin/bridge/plan.go", ours("kernel"), "no arrow leads from plugin to kernel"},
		{"plugin/bridge/plan.go", ours("plugin/ptp"), "do not know each other"},
		{"plugin/bridge/plan.go", ours("plugin/bridge/inner"), ""},
		{"plugin/bridge/plan_test.go", ours("kernel"), ""},
		{"plugin/bridge/plan_test.go", ours("plugin/ptp"), "do not know each other"},
		{"plugin/bridge/plan_test.go", ours("test/host"), ""},
		{"plugin/bridge/plan.go", ours("test/host"), "a helper for tests"},
		{"cni/add.go", ours("engine"), ""},
		{"cni/add.go", ours("ipam"), "no arrow leads from cni to ipam"},
		{"cni/add.go", ours("plugin/bridge"), "no arrow leads from cni to plugin"},
		{"ipam/lease.go", ours("resource"), ""},
		{"ipam/lease.go", ours("cni"), "no arrow leads from ipam to cni"},
		{"resource/veth.go", ours("kernel"), ""},
		{"resource/veth.go", ours("cni"), "no arrow leads from resource to cni"},
		{"engine/apply.go", ours("resource"), "no arrow leads from engine to resource"},
		{"engine/apply.go", ours("kernel"), "no arrow leads from engine to kernel"},
		{"engine/apply_test.go", ours("kernel"), "no arrow leads from engine to kernel"},
		{"kernel/link.go", ours("engine"), "no arrow leads from kernel to engine"},
		{"kernel/link.go", netlink + "/nl", ""},
		{"kernel/link.go", ours("kernel/kerneltest"), "a helper for tests"},
		{"resource/veth_test.go", ours("kernel/kerneltest"), ""},
		{"kernel/kerneltest/world.go", ours("kernel"), ""},
		{"kernel/kerneltest/world.go", "testing", ""},
		{"attachment/id.go", ours("engine"), "no arrow leads from attachment to engine"},
		{"attachment/id_test.go", ours("kernel"), "no arrow leads from attachment to kernel"},
		{"resource/veth.go", netlink, "only kernel/ may"},
		{"resource/veth.go", "github.com/mdlayher/netlink", "only kernel/ may"},
		{"resource/veth_test.go", "github.com/google/nftables", "only kernel/ may"},
		{"resource/veth.go", "github.com/vishvananda/netlinkish", ""},
		{"test/host/look.go", netlink, ""},
		{"lab/bench/network.go", ours("kernel"), ""},
		{"lab/bench/network.go", netlink, "only kernel/ may"},
		{"lab/bench/network.go", ours("test/host"), "a helper for tests"},
		{"engine/toy.go", "testing", "outside of tests"},
		{"util/strings.go", "strings", "not in the plan"},
	} {
		dir := path.Dir(c.file)
		got := broken(source{dir: dir, name: path.Base(c.file), imports: []string{c.imports}})
		if (len(got) == 0) != (c.want == "") || !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s imports %s: %q, want %q", c.file, c.imports, got, c.want)
		}
	}

	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go":          "// Package a is short.\npackage a\n",
		"b/b.go":          "package b\n" + strings.Repeat("\n", maxLines),
		"c/c.go":          "// Code generated by hand. DO NOT EDIT.\n\n// Package c is long.\npackage c\n" + strings.Repeat("\n", maxLines),
		"d/testdata/d.go": "package not go", "e/go.mod": "module e\n", "e/e.go": "package e\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := parse(root)
	if err != nil {
		t.Fatal(err)
	}
	got := untidy(all)
	if len(all) != 3 || len(got) != 2 || !strings.HasPrefix(got[0], "b/b.go: 501 lines") || !strings.HasPrefix(got[1], "b: no package comment") {
		t.Errorf("%d files, %q", len(all), got)
	}
}

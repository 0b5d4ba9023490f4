package conformance

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

func TestMain(m *testing.M) {
	code := m.Run()
	scores.print(os.Stdout)
	os.Exit(code)
}

// plugins is the directory that is under test.
func plugins(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("FAIRLEAD_CONFORMANCE_DIR"); dir != "" {
		return dir
	}
	return host.Build(t)
}

// scores is written by tests that run beside each other, and read at the end.
var scores scoreboard

type scoreboard struct {
	mu      sync.Mutex
	cells   map[string]map[int]string // plugin, number: ok, FAIL or n.a.
	reasons map[string][]string       // reason: "plugin number"
}

func (s *scoreboard) set(plugin string, number int, score string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cells == nil {
		s.cells = map[string]map[int]string{}
	}
	if s.cells[plugin] == nil {
		s.cells[plugin] = map[int]string{}
	}
	s.cells[plugin][number] = score
}

func (s *scoreboard) notApplicable(plugin string, number int, reason string) {
	s.set(plugin, number, "n.a.")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons == nil {
		s.reasons = map[string][]string{}
	}
	s.reasons[reason] = append(s.reasons[reason], fmt.Sprintf("%s %d", plugin, number))
}

func (s *scoreboard) print(w *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cells) == 0 {
		return
	}
	fmt.Fprintf(w, "\nCNI 1.1.0, number by number\n%-32s", "")
	var columns []string
	for _, p := range subjects {
		columns = append(columns, p.name)
	}
	columns = append(columns, runtimeName)
	for _, c := range columns {
		fmt.Fprintf(w, " %-10s", c)
	}
	fmt.Fprintln(w)
	for _, n := range numbers {
		fmt.Fprintf(w, "%2d %-29s", n.number, n.slug)
		for _, c := range columns {
			fmt.Fprintf(w, " %-10s", s.cells[c][n.number])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "\nn.a.:")
	for _, n := range reasonsInOrder(s.reasons) {
		fmt.Fprintf(w, "  %s: %s\n", n, strings.Join(s.reasons[n], ", "))
	}
}

package engine

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// callsOf counts the system calls on files that an ADD or a DEL makes beside a
// number of other attachments, which use the same shared things.
func callsOf(t *testing.T, verb string, others int) map[int]int {
	t.Helper()
	dir := tmpRoot(t)
	n, err := nodeAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	furnish(n.w, "me")
	if verb == "del" {
		_, list := wholePlan("me")
		n.mustAdd(t, attach("me", "1"), list...)
	}
	// The others need not be in the same world: the journal is what counts.
	crowd := newNode(filepath.Join(dir, "state"), newWorld())
	crowd.w.setScope("1", "alive")
	for i := range others {
		table := &common{base{Name: "table", Owner: "all", In: toyScope, Scoped: true}}
		crowd.mustAdd(t, attach("other"+strconv.Itoa(i), "1"), vrf(), table)
	}
	calls := map[int]int{}
	counted := []int{
		unix.SYS_OPENAT, unix.SYS_GETDENTS64, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_RENAMEAT,
		unix.SYS_FLOCK, unix.SYS_FTRUNCATE, unix.SYS_NEWFSTATAT, unix.SYS_FSTAT,
	}
	trace(t, func(nr int) {
		if slices.Contains(counted, nr) {
			calls[nr]++
		}
	}, "call", dir, verb, "me")
	return calls
}

// A call costs the same, system call by system call, however many attachments
// there are.
func TestRule17Case25FlatCost(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"add", "del"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			few, many := callsOf(t, verb, 10), callsOf(t, verb, 2000)
			for nr, count := range many {
				if count > few[nr] {
					t.Errorf("system call %d: %d times beside 2000 attachments, %d beside 10", nr, count, few[nr])
				}
			}
			t.Logf("%v", many)
		})
	}
}

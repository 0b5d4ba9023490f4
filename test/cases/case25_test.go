package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestCase25FlatCost: DEL and ADD of host-local read every lease. Here a call
// among 10,000 leases may cost no more than twice what it costs in an empty
// range (and a millisecond); reading them costs tens of times as much.
func TestCase25FlatCost(t *testing.T) {
	s := newScene(t, network{"host-local", base("host-local", "ipam", hostLocal("10.64.0.0/16")), "eth0"})
	empty := s.cost()
	var err error
	s.h.Do(func() { err = fill(filepath.Dir(lease("x")), 10000) })
	if err != nil {
		t.Fatal(err)
	}
	// The first call after another suite has written there reads them all.
	first := s.attach()
	first.MustAdd(t)
	first.MustDel(t)
	full := s.cost()
	t.Logf("ADD, DEL and a DEL that misses: %v in an empty range, %v among 10,000 leases", empty, full)
	for i, call := range []string{"ADD", "DEL", "DEL that misses"} {
		if full[i] > 2*empty[i]+time.Millisecond {
			t.Errorf("%s takes %s among 10,000 leases and %s without", call, full[i], empty[i])
		}
	}
}

// cost is the shortest that ADD, DEL and a second DEL took.
func (s *scene) cost() []time.Duration {
	s.Helper()
	var took [3][]time.Duration
	for range 15 {
		a := s.attach()
		for i, verb := range []string{"ADD", "DEL", "DEL"} {
			began := time.Now()
			if o := a.Call(verb); !o.OK() {
				s.Fatalf("%s: %s%s", verb, o.Stdout, o.Stderr)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	return []time.Duration{slices.Min(took[0]), slices.Min(took[1]), slices.Min(took[2])}
}

// fill writes leases as the reference suite does.
func fill(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		name := fmt.Sprintf("10.64.%d.%d", 10+i/250, 1+i%250)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fmt.Sprintf("pod%d\r\neth0", i)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

package crash

import (
	"sync"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCrowd adds and removes 200 attachments by 32 processes at a time, on one
// bridge and one range.
func TestCrowd(t *testing.T) {
	t.Parallel()
	const attachments, processes = 200, 32
	h, dir := host.New(t), plugins(t)
	config := victims()[0].config
	before := h.Snapshot()
	all := make([]host.Attachment, attachments)
	for i := range all {
		all[i] = h.Attach(dir, config, "eth0")
	}

	results := crowd(all, processes, "ADD")
	seen := map[string]string{}
	for i, o := range results {
		if !o.OK() {
			t.Errorf("ADD of %s: %s%s", all[i].Container, o.Stdout, o.Stderr)
			continue
		}
		address := o.Result(t).Address(0)
		if other, ok := seen[address]; ok || address == "" {
			t.Errorf("%s and %s both have address %q", all[i].Container, other, address)
		}
		seen[address] = all[i].Container
	}
	if ports := len(h.Snapshot().Without(func(f host.Fact) bool { return f.Sort != "link" })); ports != attachments+2 {
		t.Errorf("%d links on the host, want %d ports, the bridge and lo", ports, attachments)
	}

	// Half go while others, new ones, come.
	leaving, staying := all[:attachments/2], all[attachments/2:]
	var fresh []host.Attachment
	for range attachments / 4 {
		fresh = append(fresh, h.Attach(dir, config, "eth0"))
	}
	var wait sync.WaitGroup
	var left, came []host.Outcome
	wait.Go(func() { left = crowd(leaving, processes/2, "DEL") })
	wait.Go(func() { came = crowd(fresh, processes/2, "ADD") })
	wait.Wait()
	succeeded(t, "DEL", leaving, left)
	succeeded(t, "ADD", fresh, came)
	taken := map[string]bool{}
	for i := range staying {
		taken[results[attachments/2+i].Result(t).Address(0)] = true
	}
	for i, o := range came {
		if o.OK() && taken[o.Result(t).Address(0)] {
			t.Errorf("%s got address %s, which is in use", fresh[i].Container, o.Result(t).Address(0))
		}
	}

	rest := append(append([]host.Attachment(nil), staying...), fresh...)
	succeeded(t, "DEL", rest, crowd(rest, processes, "DEL"))
	for _, a := range append(all, fresh...) {
		h.DeleteNetns(a.Netns)
	}
	h.Same(t, before, host.Standing, host.Bridge("cni0"))
}

// crowd calls all, some processes at a time.
func crowd(all []host.Attachment, processes int, verb string) []host.Outcome {
	outcomes := make([]host.Outcome, len(all))
	next := make(chan int)
	var wait sync.WaitGroup
	for range processes {
		wait.Go(func() {
			for i := range next {
				outcomes[i] = all[i].Call(verb)
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wait.Wait()
	return outcomes
}

func succeeded(t *testing.T, verb string, all []host.Attachment, outcomes []host.Outcome) {
	t.Helper()
	for i, o := range outcomes {
		if !o.OK() {
			t.Errorf("%s of %s: %s%s", verb, all[i].Container, o.Stdout, o.Stderr)
		}
	}
}

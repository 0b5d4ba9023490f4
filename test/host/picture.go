package host

import (
	"fmt"
	"sort"
	"testing"
	"time"
)

// A Fact is one thing that a host has.
type Fact struct {
	Sort   string // link, address, route, rule, neighbour, table, chain, nft, set, iptables, file, mount, sysctl
	Name   string // what it is called or where it is
	Detail string
}

func (f Fact) String() string { return fmt.Sprintf("%s %s: %s", f.Sort, f.Name, f.Detail) }

// A Picture is all that a host has at one time, sorted.
type Picture []Fact

func (p Picture) sorted() Picture {
	sort.Slice(p, func(i, j int) bool { return p[i].String() < p[j].String() })
	return p
}

// Without returns the picture without the facts that drop is true for.
func (p Picture) Without(drop func(Fact) bool) Picture {
	var kept Picture
	for _, f := range p {
		if !drop(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// Of returns the facts of one sort.
func (p Picture) Of(sort string) Picture {
	return p.Without(func(f Fact) bool { return f.Sort != sort })
}

// Diff says what differs: "+ " what came, "- " what went.
func Diff(before, after []Fact) []string {
	count := map[Fact]int{}
	for _, f := range before {
		count[f]--
	}
	for _, f := range after {
		count[f]++
	}
	var lines []string
	for f, n := range count {
		for ; n < 0; n++ {
			lines = append(lines, "- "+f.String())
		}
		for ; n > 0; n-- {
			lines = append(lines, "+ "+f.String())
		}
	}
	sort.Slice(lines, func(i, j int) bool { return lines[i][2:]+lines[i] < lines[j][2:]+lines[j] })
	return lines
}

// Snapshot takes a picture of the host.
func (h *Host) Snapshot() Picture {
	h.t.Helper()
	p, err := h.picture()
	if err != nil {
		h.t.Fatalf("host: snapshot: %v", err)
	}
	return p
}

func (h *Host) picture() (Picture, error) {
	var p Picture
	for _, part := range []func() (Picture, error){
		func() (Picture, error) { return h.links("") },
		func() (Picture, error) { return h.nftables("") },
		func() (Picture, error) { return h.legacy("") },
		h.files,
		h.mounts,
		func() (Picture, error) { return h.sysctls("") },
	} {
		facts, err := part()
		if err != nil {
			return nil, err
		}
		p = append(p, facts...)
	}
	return p.sorted(), nil
}

// SnapshotIn takes a picture of a container's namespace: links, addresses,
// routes, rules, neighbours, packet filters.
func (h *Host) SnapshotIn(netns string) Picture {
	h.t.Helper()
	var p Picture
	for _, part := range []func(string) (Picture, error){h.links, h.nftables, h.legacy, h.sysctls} {
		facts, err := part(netns)
		if err != nil {
			h.t.Fatalf("host: snapshot of %s: %v", netns, err)
		}
		p = append(p, facts...)
	}
	return p.sorted()
}

// Same fails the test when the host is not as in before, but for facts that
// may stay (see Standing).
func (h *Host) Same(t testing.TB, before Picture, mayStay ...func(Fact) bool) {
	t.Helper()
	if d := h.Left(before, mayStay...); len(d) > 0 {
		t.Errorf("the host is not as before:\n%s", lines(d))
	}
}

// SameSoon is Same for what the kernel does on its own, such as destroying a
// dead namespace: it looks until nothing differs, for at most some seconds.
func (h *Host) SameSoon(t testing.TB, before Picture, mayStay ...func(Fact) bool) {
	t.Helper()
	var d []string
	if !h.soon(func(now Picture) bool { d = differences(before, now, mayStay); return len(d) == 0 }) {
		t.Errorf("the host is not as before:\n%s", lines(d))
	}
}

// Until looks at the host until it is as asked, and ends the test when it is
// not within some seconds.
func (h *Host) Until(t testing.TB, what string, ok func(Picture) bool) {
	t.Helper()
	if !h.soon(ok) {
		t.Fatalf("waited in vain for %s", what)
	}
}

func (h *Host) soon(ok func(Picture) bool) bool {
	h.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok(h.Snapshot()) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	return true
}

// Left returns how the host differs from before, but for facts that may stay.
func (h *Host) Left(before Picture, mayStay ...func(Fact) bool) []string {
	h.t.Helper()
	return differences(before, h.Snapshot(), mayStay)
}

func differences(before, now Picture, mayStay []func(Fact) bool) []string {
	drop := func(f Fact) bool {
		for _, may := range mayStay {
			if may(f) {
				return true
			}
		}
		return false
	}
	return Diff(before.Without(drop), now.Without(drop))
}

func lines(d []string) string {
	s := ""
	for _, l := range d {
		s += "\t" + l + "\n"
	}
	return s
}

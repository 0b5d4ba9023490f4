package engine

import "context"

// breakCircle is called when all that is pending waits for something pending.
// What lives in a thing, and what that thing waits for, may wait for each other
// (dhcp: address, release, link): then one is to be taken out singly. Needs in
// a circle, which a sound plan has not, are cut at the last.
func (run *removal[E]) breakCircle(ctx context.Context) {
	for i := len(run.fates) - 1; i >= 0; i-- {
		if run.fates[i] != pending || run.singly[i] {
			continue
		}
		if c := run.plan.container(run.plan.list[i]); c >= 0 && run.awaits(c, i) {
			run.singly[i] = true
			return
		}
	}
	for i := len(run.fates) - 1; i >= 0; i-- {
		if run.fates[i] == pending && run.inCircle(i) {
			run.removeNow(ctx, i)
			return
		}
	}
}

func (run *removal[E]) inCircle(i int) bool {
	for _, k := range run.waitsFor(i) {
		if run.awaits(k, i) {
			return true
		}
	}
	return false
}

// awaits tells whether from can't be removed before to, over any number of
// steps.
func (run *removal[E]) awaits(from, to int) bool {
	seen := make([]bool, len(run.fates))
	next := []int{from}
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		if i == to {
			return true
		}
		if !seen[i] {
			seen[i] = true
			next = append(next, run.waitsFor(i)...)
		}
	}
	return false
}

// waitsFor lists what keeps i waiting.
func (run *removal[E]) waitsFor(i int) []int {
	var list []int
	for _, k := range run.rests[run.refs[i]] {
		if k != i && run.fates[k] == pending {
			list = append(list, k)
		}
	}
	c := run.plan.container(run.plan.list[i])
	if c >= 0 && !run.singly[i] && run.fates[c] == pending {
		list = append(list, c)
	}
	return list
}

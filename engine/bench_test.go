package engine

import "testing"

// What the journal and the locks cost an ADD and its DEL, with every sort of
// resource.
func BenchmarkAddDel(b *testing.B) {
	n := testNode(b)
	furnish(n.w, "me")
	h := attach("me", "1")
	for b.Loop() {
		_, list := wholePlan("me")
		n.mustAdd(b, h, list...)
		n.mustDel(b, h)
	}
}

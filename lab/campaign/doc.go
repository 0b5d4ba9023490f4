// Package campaign breaks the plugins of a network at every point at which they
// act, one fault a run, and judges what is left.
//
// The trace of a clean ADD, DEL, CHECK and GC gives the points: what is asked of
// the kernel, or looked at among records, by which program, for the how manieth
// time; and before all that, the beginning of the verb (scene.go). A table (faults.go)
// gives the faults that can happen at each: errors that the kernel can give
// there, things really taken away just before, a kill. Each pair is one run, on a
// host of its own: the call under the fault, then as a runtime goes on: DEL,
// DEL again, ADD again, DEL. After each, what the host looks like is compared
// with what it looked like before, and with what clean calls leave.
//
// What may enter: points, faults, runs, and their verdicts, for plugins of
// anybody. What may not: how calls are trapped (lab/inject), what a host looks
// like (lab/oracle), how results are shown (lab/report), what a plugin of ours
// does inside.
package campaign

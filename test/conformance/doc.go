// Package conformance holds every plugin against CNI 1.1.0, by the numbers
// of docs/conformance.md: TestConformance/bridge/Spec01RepeatedDEL. It calls
// finished binaries, through libcni where libcni makes such a call and else by
// execution, and prints a table of plugins and numbers at its end.
//
// FAIRLEAD_CONFORMANCE_DIR points it at any other directory of plugins.
//
// What may enter: one file a plugin, with its subject; one file a subject of
// the specification, with its numbers.
//
//fairlead:vmtest
package conformance

// Package tool tests the operator's tool, as a finished binary: installing and
// putting back, the plan, the list, forgetting, the demo, exit statuses.
//
// What may enter: what an operator does by hand. The runtime's duties (spec 13
// and 21) are in test/conformance.
//
//fairlead:vmtest
package tool

// Package crash kills plugins at work, and lets many work at once, and counts
// what is left: nothing.
//
// FAIRLEAD_CONFORMANCE_DIR points it at any other directory of plugins.
//
// What may enter: tests of what happens to all attachments of a host
// together. What one call does wrong belongs in package cases.
package crash

// Package input gives plugins what they can't use, and looks whether they say
// so with the right code and change nothing.
//
// FAIRLEAD_CONFORMANCE_DIR points it at any other directory of plugins.
//
// What may enter: bad configurations, environments and namespaces.
package input

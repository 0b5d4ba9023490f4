// Package oracle says what a host looks like: takes a Picture of all that a
// network plugin could leave or damage, in the host and in every network
// namespace that something in it still holds, and compares two.
//
// It looks by its own netlink and by the distribution's nft, so that no fault of
// the code under test can hide itself. What the kernel draws or counts (interface
// indexes, MAC addresses nobody chose, timers, counters) is not in a picture, nor
// is what follows from something else that is in it. A look that failed or was
// interrupted is an error, never a picture.
//
// What may enter: ways to see one more sort of thing, and to compare. What may
// not: an opinion on who should have removed it, which is lab/campaign's; changes
// to the host; the kernel room.
package oracle

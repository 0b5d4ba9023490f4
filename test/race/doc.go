// Package race forces a race between a teardown and the world, and counts what
// is left: case 1, for Fairlead and for the reference plugins.
//
// A list of macvlan and vrf, as a meta-plugin makes of two networks, is removed
// through libcni. Just before a plugin sends the request that takes an object
// away, that object, or another one, is taken away by someone else. The runtime
// then does as runtimes do: it tries again once, and removes the container's
// network namespace only after DEL has succeeded.
//
// `make race` runs 200 of them with each suite, and prints the counts:
// FAIRLEAD_RACE_ROUNDS is how often each of the five races is run, 4 times if it
// is not set.
//
// What may enter: a race that was reported, or seen.
//
//fairlead:vmtest
package race

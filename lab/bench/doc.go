// Package bench holds Fairlead's plugins against the reference plugins, against
// the floor (lab/bench/floor: the netlink calls that the result needs and nothing
// else, with and without the process's start) and against a program that does
// nothing (lab/bench/empty), all in one run, call by call in turn, so that
// whatever else the machine does meets all of them alike.
//
// A call is made as a runtime makes it: the plugin's binary is executed with
// CNI_* in its environment and the configuration on its standard input, and the
// time is that from before the process is made until it is gone and its output
// is read. Every candidate has a host of its own, so that each is given the very
// same configuration, and every ADD gets a namespace that nothing was done in
// before. Making hosts, namespaces and leases is outside of the time taken.
//
// What may enter: a scenario (scenarios.go), a goal (goals.go), a candidate. What
// may not: Fairlead's plugins and what they are made of, which are measured from
// outside; kernel/ is here for what hosts are furnished with before.
package bench

// Command bench holds Fairlead's plugins against the reference plugins, against
// the floor (test/bench/floor: the netlink calls that the result needs and
// nothing else, with and without the process's start) and against a program that does nothing (test/bench/empty), all
// in one run, call by call in turn, so that whatever else the machine does
// meets all of them alike.
//
//	sudo go run ./test/bench                  # the whole table
//	sudo go run ./test/bench --only '^bridge$' --n 200
//	sudo go run ./test/bench --json > now.json
//	go run ./test/bench --profile-startup     # what package initialisation costs
//
// A call is made as a runtime makes it: the plugin's binary is executed with
// CNI_* in its environment and the configuration on its standard input, and the
// time is that from before the process is made until it is gone and its output
// is read. Every candidate has a host of its own (a network namespace, and a
// mount namespace with nothing in /run and /var/lib), so that each is given the
// very same configuration, and every ADD gets a namespace that nothing was done
// in before. Making hosts, namespaces and leases is outside of the time taken.
//
// Errors in calls make it fail; a goal that is not reached does not.
//
// What may enter: a scenario (scenarios.go), a goal (goals.go), a candidate. What may
// not: Fairlead's own packages; it is measured from outside.
package main

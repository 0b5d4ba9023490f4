// Package host gives a test a host of its own: a thread in fresh network and
// mount namespaces, with empty /run and /var/lib, on the real kernel. Tests
// run beside each other and never touch the machine they run on.
//
// It also knows how to start plugins there, by execution and through libcni,
// and how to take a Picture of the host, so that a test can say that nothing
// is left.
//
// What may enter: what a suite that drives finished binaries needs from its
// surroundings. The package does not import Fairlead's own kernel room: it
// looks with the distribution's tools (ip, nft, iptables), so that no fault
// of ours can hide itself.
package host

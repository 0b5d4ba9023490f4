// Package kernel is the only room that talks to the kernel: namespaces, links,
// addresses, routes, rules, neighbours, nftables and sysctls.
//
// Every look-up has three answers: here it is; the kernel says that there is
// none; we could not find out. The form of the calls, (value, bool, error),
// makes the caller face all three. Which errno means "there is none" is said
// in one place, errno.go.
//
// What may enter: a thin, typed call for something the kernel does. What may
// not: CNI, ownership, or any decision on what to do with an answer.
package kernel

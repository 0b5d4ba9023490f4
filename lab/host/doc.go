// Package host makes private hosts: each is a thread in network and mount
// namespaces of its own, with empty /run and /var/lib, on the real kernel. Hosts
// stand beside each other, start alike whatever the machine is set to, and never
// touch it.
//
// What may enter: what a host is made of, and ways to run things in it. What may
// not: looking at what is there, which is lab/oracle's; anything of CNI; package
// testing, whose face on this is test/host.
package host

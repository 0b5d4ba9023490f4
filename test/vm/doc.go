// Command vm runs commands and tests in a virtual machine: Debian's kernel in
// qemu, without KVM, with this machine's own root file system inside.
//
//	vm run CMD...      runs one command there; its output and exit status pass through
//	vm test [ARGS]     runs the project's integration tests there, one boot for all
//
// The guest sees the host's files read-only, under an overlay in memory: what a
// command writes is gone with it, and nothing it does reaches the host.
//
// The same binary is the guest's init. Host and guest speak in frames (wire.go)
// over one virtio port, so that many commands run in one boot, at the same time.
//
// What may enter: how to get a kernel, boot it, and run things in it. What may
// not: anything that knows what the tests are about.
package main

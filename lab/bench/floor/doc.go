// Command floor brings about what a CNI plugin is asked for with as few system
// calls as the kernel lets it: it reads no configuration, looks for nothing
// that its caller can tell it and writes nothing down. It prints how many
// nanoseconds it took, the process's start and end left out. The benchmark
// holds plugins against it; it is no use for anything else.
//
// What may enter: a netlink message without which the result would be another.
// What may not: a dependency that has anything to set up when a process starts.
package main

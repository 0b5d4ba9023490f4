// Package cni is the CNI protocol: environment and stdin in, a result or an
// error object out; every verb driven from one statement of what an attachment
// owns; delegation, in-process or by execution.
//
// It stands on containernetworking/cni's types and invoke, not on its skel:
// that demands CNI_PATH at DEL, ignores the version at VERSION, and touches
// before it refuses (rule 22).
//
// What may enter: what every plugin has in common. What may not: a kind of
// resource, a plugin's name, the kernel.
package cni

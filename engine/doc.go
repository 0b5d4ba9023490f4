// Package engine makes, checks, removes and sweeps what attachments own, from
// one statement of it: an ordered list of resources. It keeps the journal and
// the locks. It knows no kind of resource and no kernel; both come in through
// the Resource interface and its type parameter.
//
// What may enter: anything true of every plan, whatever it is made of.
// What may not: an import of kernel, resource, cni or a plugin.
package engine

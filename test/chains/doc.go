// Package chains takes lists of plugins that are common in practice through
// libcni: each is added, checked, used and removed, in whatever state it has
// come to, and nothing is left. And it damages each thing that an attachment
// has: CHECK must say which.
//
// What may enter: lists, and what can be taken away from an attachment.
//
//fairlead:vmtest
package chains

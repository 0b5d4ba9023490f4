// Package vpc has nodes with VPCs on them: traffic between nodes and between
// VPCs, what delegates hear, and what becomes of a node when attachments come
// and go at once.
//
// FAIRLEAD_RACE_ROUNDS is how often an ADD races the last DEL in each mode, 10
// times if it is not set.
//
// What may enter: what takes a finished binary and more than one attachment, or
// more than one node.
//
//fairlead:vmtest
package vpc

// Package resource has the things Fairlead can make, one file a kind: how to
// observe, create and remove it, as engine.Resource asks.
//
// What may enter: a kind, with its test on the real kernel. What may not: CNI,
// or the decision which resources an attachment gets.
package resource

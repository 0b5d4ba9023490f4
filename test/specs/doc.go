// Command specs runs the reference plugins' own specs against Fairlead's binary.
// See README.md.
//
// What may enter: how those specs are got and pointed at another binary. What may
// not: a spec of ours, or one of theirs that is edited.
package main

// Package switching proves rule 13: a node changes from the reference plugins
// to Fairlead, and back, while containers live. What one suite added, the
// other checks and removes, and nothing is left.
//
// What may enter: configurations of plugins that both suites have.
//
//fairlead:vmtest
package switching

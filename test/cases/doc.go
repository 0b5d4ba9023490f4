// Package cases proves, at the level of finished binaries, that what existing
// plugins get wrong is right here: each test carries the number of a case in
// docs/cases.md, or of a rule in docs/rules.md.
//
// FAIRLEAD_CONFORMANCE_DIR points it at any other directory of plugins.
//
// What may enter: one file a case, for every plugin that the case applies to.
package cases

package oracle

import (
	"path"
	"strings"
)

// Options say what to look at besides the usual, and what may differ between two
// runs of the same thing.
type Options struct {
	// Replace, if given, is applied to names, values and the contents of files: it
	// gives them without what is drawn. A value is as Item has it:
	// "bridge mac=02:..." is the address of a bridge that draws one itself and
	// then sets it. It may be called by several goroutines.
	Replace func(string) string
	// Opaque are files, by patterns as of path.Match on the whole path, whose
	// content does not matter. A pattern that ends in /** means all below.
	Opaque []string
	// Trees are directories to be looked through besides /run and /var/lib.
	Trees []string
	// Sysctls are settings, relative to /proc/sys/net, to be read in each
	// namespace besides the usual ones.
	Sysctls []string
}

func (o Options) opaque(file string) bool {
	for _, p := range o.Opaque {
		if root, all := strings.CutSuffix(p, "/**"); all && strings.HasPrefix(file, root+"/") {
			return true
		}
		if ok, err := path.Match(p, file); ok && err == nil {
			return true
		}
	}
	return false
}

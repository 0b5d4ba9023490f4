package oracle

import (
	"path"
	"regexp"
	"strings"
)

// Options say what to look at besides the usual, and what may differ between two
// runs of the same thing.
type Options struct {
	// Replace is applied, in this order, to names, values and the contents of
	// files. A value is as Item has it: `^bridge mac=\S+` is the address of a
	// bridge that draws one itself and then sets it.
	Replace []Replacement
	// Opaque are files, by patterns as of path.Match on the whole path, whose
	// content does not matter. A pattern that ends in /** means all below.
	Opaque []string
	// Trees are directories to be looked through besides /run and /var/lib.
	Trees []string
	// Sysctls are settings, relative to /proc/sys/net, to be read in each
	// namespace besides the usual ones.
	Sysctls []string
}

// A Replacement puts With in the place of a text, or of what matches a pattern
// (with $1 and so on meaning what was matched).
type Replacement struct {
	Text    string
	Pattern *regexp.Regexp
	With    string
}

func (o Options) replace(s string) string {
	for _, r := range o.Replace {
		if r.Text != "" {
			s = strings.ReplaceAll(s, r.Text, r.With)
		}
		if r.Pattern != nil {
			s = r.Pattern.ReplaceAllString(s, r.With)
		}
	}
	return s
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

package resource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// FindAllowList is the fact which kernel parameters the operator of this
// machine lets configurations set.
type FindAllowList struct{ file string } // "": AllowListFile

// AllowListFile has a regular expression a line. Without the file every
// parameter may be set.
const AllowListFile = "/etc/cni/tuning/allowlist.conf"

// AllowList is what FindAllowList finds.
type AllowList struct {
	Present  bool     `json:"present"`
	Patterns []string `json:"patterns,omitempty"`
}

func (FindAllowList) Name() string { return "sysctl-allow-list" }
func (FindAllowList) Lock() string { return "" }

// Find reads the file.
func (f FindAllowList) Find(context.Context, Env) (any, error) { return f.Look() }

// Look is Find, with its type.
func (f FindAllowList) Look() (AllowList, error) {
	data, err := os.ReadFile(first(f.file, AllowListFile))
	if errors.Is(err, fs.ErrNotExist) {
		return AllowList{}, nil
	}
	if err != nil {
		return AllowList{}, err
	}
	list := AllowList{Present: true}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			list.Patterns = append(list.Patterns, line)
		}
	}
	return list, nil
}

// Allows tells whether the parameter may be set: whether a pattern is found
// anywhere in its name, as the configuration writes it.
func (l AllowList) Allows(name string) (bool, error) {
	for _, p := range l.Patterns {
		matches, err := regexp.MatchString(p, name)
		if err != nil {
			return false, fmt.Errorf("%s: %w", AllowListFile, err)
		}
		if matches {
			return true, nil
		}
	}
	return !l.Present, nil
}

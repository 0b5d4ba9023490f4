package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/lab/campaign"
)

// network is what all commands that call plugins are told.
type network struct {
	plugins string
	prepare []string
	suite   string
}

func (n *network) flags(c *cobra.Command) {
	c.Flags().StringVar(&n.plugins, "plugins", os.Getenv("CNI_PATH"), "`directory` of the plugins, or several with colons, as CNI_PATH")
	c.Flags().StringArrayVar(&n.prepare, "prepare", nil, "`command` to be run on each new host, without a shell; may be repeated")
	c.Flags().StringVar(&n.suite, "suite", "", "`name` of the plugins in reports (the directory's)")
}

// options reads the network.
func (n *network) options(path string) (o campaign.Options, err error) {
	if n.plugins == "" {
		return o, usage.Errorf("--plugins says where the plugins are")
	}
	if n.suite == "" {
		n.suite = filepath.Base(filepath.SplitList(n.plugins)[0])
	}
	dirs := filepath.SplitList(n.plugins)
	for i := range dirs {
		if dirs[i], err = filepath.Abs(dirs[i]); err != nil {
			return o, err
		}
		if _, err := os.Stat(dirs[i]); err != nil {
			return o, err
		}
	}
	o.Plugins = strings.Join(dirs, string(os.PathListSeparator))
	o.Prepare, o.Suite, o.Lab = n.prepare, n.suite, version
	if o.List, err = campaign.LoadNetwork(path); err != nil {
		return o, err
	}
	o.Expect, err = campaign.LoadExpectation(path)
	return o, err
}

// verbs reads names of verbs.
func verbs(names []string) ([]string, error) {
	var all []string
	for _, name := range names {
		v := strings.ToUpper(name)
		if !slices.Contains(campaign.Verbs(), v) {
			return nil, usage.Errorf("%q is none of the verbs %s", name, strings.Join(campaign.Verbs(), ", "))
		}
		all = append(all, v)
	}
	return all, nil
}

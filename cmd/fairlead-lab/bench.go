package main

import (
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/lab/bench"
)

func benchCommand() *cobra.Command {
	var o bench.Options
	var only string
	var list, profile bool
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure Fairlead's plugins beside the reference plugins and the floor",
		Long: `Bench calls the same plugin of several suites in turn, each on a host of its own,
and prints how long the calls took: Fairlead's, the reference plugins', those of
a program that makes the kernel calls which the result needs and nothing else
(the floor), and of one that does nothing.

It installs the reference plugins once, by the go command, and keeps them in
--cache. The floor and the empty program are built from the source; outside of a
checkout, --tools says where they are.

Exit status 1 when a call failed; a goal that is not reached is no failure.`,
		Example: `  fairlead-lab bench
  fairlead-lab bench --only '^bridge$' --n 200
  fairlead-lab bench --json > now.json
  fairlead-lab bench --profile-startup`,
		Args: usage.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.N < 1 || o.Warmup < 1 {
				return usage.Errorf("--n and --warmup are at least 1")
			}
			if o.Only, err = regexp.Compile(only); err != nil {
				return usage.Errorf("--only: %w", err)
			}
			o.Progress = cmd.ErrOrStderr()
			switch {
			case list:
				return bench.List(o.Only, cmd.OutOrStdout())
			case profile:
				return bench.ProfileStartup(cmd.Context(), o, cmd.OutOrStdout())
			}
			return bench.Run(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	f := c.Flags()
	f.IntVarP(&o.N, "n", "n", 40, "timed calls of each sort, for each suite")
	f.IntVar(&o.Warmup, "warmup", 3, "calls before those, not counted; at least 1")
	f.StringVar(&o.Fairlead, "fairlead", "bin", "`directory` with the binary fairlead, or with plugins by their names; left out if it has neither")
	f.StringVar(&o.Cache, "cache", filepath.Join(cache, "fairlead-bench"), "`directory` that keeps the reference plugins between runs")
	f.StringVar(&o.Tools, "tools", "", "`directory` with the programs floor and empty, where they can't be built")
	f.StringVar(&only, "only", "", "only scenarios whose name matches the `expression`")
	f.BoolVar(&o.JSON, "json", false, "print JSON instead of tables")
	f.BoolVar(&list, "list", false, "list the scenarios and do nothing")
	f.BoolVar(&profile, "profile-startup", false, "print what each package's initialisation costs in a plugin's start, and do nothing else")
	return c
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// options are what the command line says.
type options struct {
	n        int    // timed calls of each sort, for each candidate
	warmup   int    // calls before those, not counted
	fairlead string // directory that holds bin/fairlead, or the plugins by name
	cache    string // where the reference plugins are kept between runs
	tools    string // where floor and empty are; "": they are built
	only     *regexp.Regexp
	json     bool
	profile  bool
	list     bool
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&o.n, "n", 40, "timed calls of each sort, for each candidate")
	f.IntVar(&o.warmup, "warmup", 3, "calls before those, not counted; at least 1")
	f.StringVar(&o.fairlead, "fairlead", "bin", "`DIR` with the binary fairlead, or with plugins by their names; left out if it has neither")
	f.StringVar(&o.cache, "cache", filepath.Join(cache, "fairlead-bench"), "`DIR` that keeps the reference plugins between runs")
	f.StringVar(&o.tools, "tools", "", "`DIR` with the programs floor and empty, where they can't be built")
	f.BoolVar(&o.json, "json", false, "print JSON instead of tables")
	f.BoolVar(&o.list, "list", false, "list the scenarios and do nothing")
	f.BoolVar(&o.profile, "profile-startup", false, "print what each package's initialisation costs in a plugin's start, and do nothing else")
	only := f.String("only", "", "only scenarios whose name matches the `REGEXP`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("what is %q? (see --help)", f.Arg(0))
	}
	if o.n < 1 || o.warmup < 1 {
		return o, errors.New("--n and --warmup are at least 1")
	}
	o.only, err = regexp.Compile(*only)
	return o, err
}

func run(o options) error {
	chosen := choose(scenarios(), o.only)
	if len(chosen) == 0 {
		return fmt.Errorf("no scenario matches %q", o.only)
	}
	if o.list {
		for _, s := range chosen {
			fmt.Printf("%-18s %s\n", s.name, s.about)
		}
		return nil
	}
	if !o.profile && os.Geteuid() != 0 {
		return errors.New("needs root, to make network namespaces")
	}
	b, err := obtain(o)
	if err != nil {
		return err
	}
	defer b.cleanUp()
	go b.cleanUpWhenInterrupted()
	if o.profile {
		return profileStartup(os.Stdout, b)
	}
	results, errs := measureAll(chosen, b.candidates(), o)
	results.judge(goals())
	if o.json {
		err = results.writeJSON(os.Stdout)
	} else {
		err = results.writeTables(os.Stdout)
	}
	return errors.Join(append(errs, err)...)
}

func choose(all []scenario, only *regexp.Regexp) []scenario {
	var chosen []scenario
	for _, s := range all {
		if only.MatchString(s.name) {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

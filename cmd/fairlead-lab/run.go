package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/lab/campaign"
	"github.com/fairlead-net/fairlead/lab/report"
)

// shortCells is how many cells --short runs of a network.
const shortCells = 120

type runFlags struct {
	network
	out    string
	resume bool
	jobs   int
	verbs  []string
	faults []string
	point  string
	short  bool
	cells  int
	json   bool
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run CONFLIST... --plugins DIR",
		Short: "Break each call of each plugin of a network",
		Long: `Run takes the traces of a clean ADD, DEL, CHECK and GC of each network. Each
point at which something is asked of the kernel is then broken in each way that
the kernel can break it: one run each, on a new host. A run calls the verb under
the fault, then DEL, DEL again, ADD again, DEL, all without fault. It comes to

  clean      the call succeeded, and all was as it should be
  error      the call failed, and after the calls without fault all was well
  unreached  the run never came to the point, so nothing is proven
  lie        the call said success, and what that claims is not so
  leak       something stayed after a DEL, or GC, that said success
  damage     what was there before is gone or changed, or a call without fault
             fails afterwards

CONFLIST is a list of plugins or the configuration of one. A plugin for
addresses can be run by itself: {"cniVersion": "1.1.0", "name": "net",
"type": "host-local", "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}}.

The host has each interface that the network names as master or device, up and
with a carrier, the first with addresses and the default routes; eth0 if it
names none. --prepare adds what else a network needs.

A verb's beginning is a point too: "DEL bridge begin #1" is broken by what is not
as calls without fault found it, though no call fails: another mount namespace,
another name, a full disk, a read-only /proc/sys.

Beside net.conflist, net.expect may say what should be: lines of "+ PATTERN" for
what is there after ADD, "= PATTERN" for what may stay after DEL, "- PATTERN" for
what may be gone. What calls without fault make otherwise is told as STEADY, and
fails the run.

Results are kept in --out: of one network in itself, of several in a directory
each. report.html there shows them in a browser. A run that finds something
is told on standard error at once, as --point and --faults take it.

Faults: ` + strings.Join(campaign.FaultNames(), ", ") + `.`,
		Example: `  fairlead-lab run net.conflist --plugins /opt/cni/bin --out result
  fairlead-lab run net.conflist --plugins /opt/cni/bin --verbs DEL --faults 'kill before,kill after'
  fairlead-lab run net.conflist --plugins /opt/cni/bin --point 'DEL bridge unlink /run/x #1'
  fairlead-lab run net.conflist --plugins /opt/cni/bin --prepare 'ip link add br9 type bridge' --short`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("run takes the file of a network")
			}
			return nil
		},
		RunE: f.run,
	}
	f.flags(c)
	c.Flags().StringVar(&f.out, "out", "", "`directory` to keep results in")
	c.Flags().BoolVar(&f.resume, "resume", false, "go on with the result in --out; run only what is not in it")
	c.Flags().IntVar(&f.jobs, "jobs", 0, "runs at a time (as many as there are processors)")
	c.Flags().StringSliceVar(&f.verbs, "verbs", nil, "only these of ADD, DEL, CHECK, GC")
	c.Flags().StringSliceVar(&f.faults, "faults", nil, "only these faults")
	c.Flags().StringVar(&f.point, "point", "", "only this point, by its `name`; print the trace of each run")
	c.Flags().BoolVar(&f.short, "short", false, "a sample, the same each time")
	c.Flags().IntVar(&f.cells, "cells", shortCells, "with --short: at most so many runs of a network")
	c.Flags().BoolVar(&f.json, "json", false, "print the results as JSON")
	return c
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	if f.resume && f.out == "" {
		return usage.Errorf("--resume goes on with what is in --out")
	}
	var err error
	if f.verbs, err = verbs(f.verbs); err != nil {
		return err
	}
	var all []campaign.Result
	var errs []error
	for _, path := range args {
		r, err := f.one(cmd, path, len(args) > 1)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		} else {
			all = append(all, r)
		}
		if cmd.Context().Err() != nil {
			break
		}
	}
	if len(all) > 0 {
		errs = append(errs, f.show(cmd.OutOrStdout(), all))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, r := range all {
		if len(r.Steady) > 0 {
			return usage.ErrSaid
		}
		for v, count := range r.Count() {
			if v.Bad() && count > 0 {
				return usage.ErrSaid
			}
		}
	}
	return nil
}

// one makes the campaign of one network.
func (f *runFlags) one(cmd *cobra.Command, path string, several bool) (campaign.Result, error) {
	o, err := f.options(path)
	if err != nil {
		return campaign.Result{}, err
	}
	o.Out, o.Resume, o.Jobs, o.Verbs, o.Faults, o.Point = f.out, f.resume, f.jobs, f.verbs, f.faults, f.point
	if several && o.Out != "" {
		o.Out = filepath.Join(o.Out, o.List.Name)
	}
	if f.short {
		o.Short = f.cells
	}
	o.Trace = f.point != ""
	p := newProgress(os.Stderr, o.Suite+" "+o.List.Name)
	o.Progress = p.cell
	r, err := campaign.Run(cmd.Context(), o)
	p.end()
	return r, err
}

// show prints the results, and writes the page.
func (f *runFlags) show(w io.Writer, all []campaign.Result) error {
	var err error
	switch {
	case f.json:
		err = report.JSON(w, all)
	case f.point != "":
		err = showRuns(w, all)
	default:
		o := report.Options{}
		if file, ok := w.(*os.File); ok {
			o = report.Terminal(file)
		}
		err = report.Text(w, all, o)
	}
	if err != nil || f.out == "" {
		return err
	}
	return writePage(filepath.Join(f.out, "report.html"), func(w io.Writer) error { return report.Page(w, all) })
}

func writePage(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// showRuns prints the runs of a point with their traces.
func showRuns(w io.Writer, all []campaign.Result) error {
	var b strings.Builder
	for _, r := range all {
		for _, c := range r.Cells {
			fmt.Fprintf(&b, "%s\n%s: %s\n", r.Points[c.Point].Name(), c.Fault, c.Verdict)
			for _, line := range c.Trace {
				fmt.Fprintf(&b, "    %s\n", line)
			}
			for _, s := range c.Steps {
				fmt.Fprintf(&b, "  %s: %s\n", s.Call, outcome(s))
				for _, found := range s.Found {
					fmt.Fprintf(&b, "    %s: %s\n", found.Verdict, found.Text)
				}
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func outcome(s campaign.Step) string {
	if s.Error != "" {
		return s.Error
	}
	return "success"
}

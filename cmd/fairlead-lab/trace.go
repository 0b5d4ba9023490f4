package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/lab/campaign"
)

func traceCommand() *cobra.Command {
	var n network
	var only []string
	var points bool
	c := &cobra.Command{
		Use:   "trace CONFLIST --plugins DIR",
		Short: "Print what the plugins of a network ask of the kernel, in order",
		Long: `Trace calls each verb once without fault, on a new host, and prints what it asks
of the kernel: a line for each, with the plugin, the program that asks (a
delegate, iptables), and the request. In brackets is the namespace, if it is not
the host's. Lines with a number are points at which run makes faults.

With --points it prints the points by their names, as --point of run takes them.`,
		Example: `  fairlead-lab trace net.conflist --plugins /opt/cni/bin
  fairlead-lab trace net.conflist --plugins /opt/cni/bin --verb DEL --points`,
		Args: usage.Exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := n.options(args[0])
			if err != nil {
				return err
			}
			if o.Verbs, err = verbs(only); err != nil {
				return err
			}
			r, err := campaign.Survey(cmd.Context(), o)
			if err != nil {
				return err
			}
			if points {
				return printPoints(cmd.OutOrStdout(), r)
			}
			return printTraces(cmd.OutOrStdout(), r)
		},
	}
	n.flags(c)
	c.Flags().StringSliceVar(&only, "verb", nil, "only these of ADD, DEL, CHECK, GC")
	c.Flags().BoolVar(&points, "points", false, "print the names of the points")
	return c
}

func printPoints(w io.Writer, r campaign.Result) error {
	for _, p := range r.Points {
		if _, err := fmt.Fprintln(w, p.Name()); err != nil {
			return err
		}
	}
	return nil
}

func printTraces(w io.Writer, r campaign.Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, trace := range r.Traces {
		fmt.Fprintf(t, "%s\t\t\t\n", trace.Verb)
		for _, e := range trace.Events {
			number := ""
			if e.Point >= 0 {
				number = fmt.Sprint(e.Point + 1)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", number, e.Plugin, e.Program, e.Text)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintln(t, note)
	}
	return t.Flush()
}

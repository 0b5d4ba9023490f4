package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/lab/campaign"
)

func raceCommand() *cobra.Command {
	var n network
	r := campaign.Race{}
	c := &cobra.Command{
		Use:   "race CONFLIST --plugins DIR --delete LINK --before REQUEST",
		Short: "Delete a link just before a plugin's request, again and again",
		Long: `Race attaches containers to a network and detaches them, on one private host.
During DEL, exactly before each request of rtnetlink whose text has REQUEST in
it ('fairlead-lab trace' shows them), it deletes the link, in whichever namespace
the request is about, if it is there. A DEL that fails is called once more, as
runtimes do. Then it counts what failed, and what was left.

Exit status 1 when a second DEL failed, or a link or namespace was left.`,
		Example: `  fairlead-lab race net.conflist --plugins /opt/cni/bin --delete eth0 --before RTM_DELLINK --times 40
  fairlead-lab race net.conflist --plugins /opt/cni/bin --delete eth0 --before 'RTM_GETLINK name=eth0'`,
		Args: usage.Exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Delete == "" || r.Before == "" || r.Times < 1 {
				return usage.Errorf("race needs --delete and --before, and --times of at least 1")
			}
			var err error
			if r.Options, err = n.options(args[0]); err != nil {
				return err
			}
			count, err := campaign.RunRace(cmd.Context(), r)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "suite\trounds\tsprung\tDEL failed\tand again\tnamespaces left\tlinks left")
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", r.Suite, count.Rounds, count.Sprung, count.Failed, count.Twice, count.Namespaces, count.Links)
			for _, s := range count.Says {
				fmt.Fprintln(w, s)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			switch {
			case count.Sprung == 0:
				return fmt.Errorf("%s was never there before a request with %q", r.Delete, r.Before)
			case count.Twice+count.Namespaces+count.Links > 0:
				return usage.ErrSaid
			}
			return nil
		},
	}
	n.flags(c)
	c.Flags().StringVar(&r.Delete, "delete", "", "name of the `link` that is deleted")
	c.Flags().StringVar(&r.Before, "before", "", "the `request` just before which that happens")
	c.Flags().IntVar(&r.Times, "times", 20, "how many containers")
	return c
}

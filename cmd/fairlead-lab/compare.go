package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/lab/campaign"
	"github.com/fairlead-net/fairlead/lab/report"
)

func compareCommand() *cobra.Command {
	var page string
	c := &cobra.Command{
		Use:   "compare DIR1 DIR2",
		Short: "Show the results of two suites side by side",
		Long: `Compare reads two results, as run keeps them in --out, of one network or of
several, and prints them side by side; with --page as a page for a browser too.`,
		Example: `  fairlead-lab compare result-fairlead result-reference --page compare.html`,
		Args:    usage.Exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := campaign.ReadAll(args[0])
			if err != nil {
				return err
			}
			b, err := campaign.ReadAll(args[1])
			if err != nil {
				return err
			}
			o := report.Options{}
			if file, ok := cmd.OutOrStdout().(*os.File); ok {
				o = report.Terminal(file)
			}
			if err := report.CompareText(cmd.OutOrStdout(), a, b, o); err != nil || page == "" {
				return err
			}
			return writePage(page, func(w io.Writer) error { return report.ComparePage(w, a, b) })
		},
	}
	c.Flags().StringVar(&page, "page", "", "`file` to write the page to")
	return c
}

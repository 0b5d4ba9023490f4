package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
)

// operate runs an operator's command.
func operate(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	return usage.Exit("fairlead", root.Execute())
}

func rootCommand() *cobra.Command {
	root := usage.Root(&cobra.Command{
		Use:   "fairlead",
		Short: "Container networking whose teardown never leaks and never lies",
		Long: `Fairlead is a suite of CNI plugins in one binary. Called by a plugin's name it
is that plugin; called as fairlead it is the operator's tool.

Exit status: 0 success, 1 failure, 2 wrong usage.`,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	})
	root.AddCommand(
		installCommand(), uninstallCommand(),
		addCommand(), checkCommand(), delCommand(), statusCommand(), gcCommand(),
		planCommand(), listCommand(), forgetCommand(), demoCommand(), versionCommand(),
	)
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, and the plugins in this binary", Args: usage.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "fairlead %s\n", version)
			for _, p := range allPlugins() {
				fmt.Fprintf(out, "  %-12s %s\n", p.Name, p.About)
			}
			return nil
		},
	}
}

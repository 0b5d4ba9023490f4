package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// The exit statuses of the operator's commands.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is the operator's mistake: the exit status is 2.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// operate runs an operator's command.
func operate(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.Execute()
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "fairlead: %v\nTry 'fairlead --help'.\n", err)
		return exitUsage
	default:
		fmt.Fprintf(os.Stderr, "fairlead: %v\n", err)
		return exitFailed
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Container networking whose teardown never leaks and never lies",
		Long: `Fairlead is a suite of CNI plugins in one binary. Called by a plugin's name it
is that plugin; called as fairlead it is the operator's tool.

Exit status: 0 success, 1 failure, 2 wrong usage.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q", args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		installCommand(), uninstallCommand(),
		addCommand(), checkCommand(), delCommand(), statusCommand(), gcCommand(),
		planCommand(), listCommand(), forgetCommand(), demoCommand(), versionCommand(),
	)
	return root
}

// exactly wants n arguments; the mistake is one of usage.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s takes %d arguments, not %d: %s", cmd.Name(), n, len(args), cmd.UseLine())
		}
		return nil
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, and the plugins in this binary", Args: exactly(0),
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

package usage

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Error is the user's mistake: the exit status is 2.
type Error struct{ error }

// Errorf makes an Error.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// ErrSaid is a failure that has been shown already.
var ErrSaid = errors.New("it has been shown")

// Exactly wants n arguments.
func Exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return Errorf("%s takes %d arguments, not %d: %s", cmd.Name(), n, len(args), cmd.UseLine())
		}
		return nil
	}
}

// Root completes a program's own command: by itself it prints its help, and
// errors are left to Exit.
func Root(root *cobra.Command) *cobra.Command {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Args = cobra.ArbitraryArgs
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return Errorf("unknown command %q", args[0])
		}
		return cmd.Help()
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Error{err} })
	return root
}

// Exit says what went wrong, and gives the exit status.
func Exit(program string, err error) int {
	var mistake Error
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, ErrSaid):
		return exitFailed
	case errors.As(err, &mistake):
		fmt.Fprintf(os.Stderr, "%s: %v\nTry '%s --help'.\n", program, err, program)
		return exitUsage
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
	return exitFailed
}

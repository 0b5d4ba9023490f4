// Command fairlead-lab is the fault lab: it breaks CNI plugins, of anybody, at
// every point at which they act, and counts what they leave.
//
// What may enter: commands, what they take and how they answer. What may not:
// how anything is broken, judged or shown, which is lab's.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/lab/inject"
)

// version is set by the linker.
var version = "devel"

func main() {
	inject.Launch()
	if code, ok := kernel.MakeTap(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := rootCommand()
	root.SetArgs(args)
	return usage.Exit("fairlead-lab", root.ExecuteContext(ctx))
}

func rootCommand() *cobra.Command {
	root := usage.Root(&cobra.Command{
		Use:   "fairlead-lab",
		Short: "Break CNI plugins at every system call, and count what they leave",
		Long: `fairlead-lab proves or disproves that the teardown of CNI plugins holds. It runs
them, unmodified, on private hosts on the kernel of this machine, which it does
not touch; makes one thing go wrong at each point at which they act: an error,
a lost answer, a kill, a thing really taken away by someone else, other
surroundings than were taken for granted; goes on as a
runtime does; and looks at what is left.

It needs root, and Linux 5.19.

Exit status: 0 success, 1 failure or something found (a leak, damage, a lie, a
point that was not reached, other than what should be), 2 wrong usage.`,
		Example: `  fairlead-lab run net.conflist --plugins /opt/cni/bin --out result
  fairlead-lab trace net.conflist --plugins /opt/cni/bin --verb DEL
  fairlead-lab compare result-a result-b
  fairlead-lab race net.conflist --plugins /opt/cni/bin --delete eth0 --before RTM_DELLINK --times 40
  fairlead-lab bench --only bridge`,
	})
	root.AddCommand(runCommand(), traceCommand(), compareCommand(), raceCommand(), benchCommand(), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: usage.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "fairlead-lab %s\n", version)
			return err
		},
	}
}

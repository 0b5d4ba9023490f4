package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/engine"
)

// journal opens the state directory for the operator's commands that change
// something.
func journal() (*engine.Journal, error) { return openState(engine.FindStateDir) }

// journalToRead opens it for those that only look.
func journalToRead() (*engine.Journal, error) { return openState(engine.LookForStateDir) }

func openState(find func(dirs []string) (string, error)) (*engine.Journal, error) {
	dirs := engine.StateDirs(os.Getenv)
	root, err := find(dirs)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(dirs[0]); root != dirs[0] && !errors.Is(err, os.ErrNotExist) {
		// An empty list must not pass for a node without attachments.
		fmt.Fprintf(os.Stderr, "fairlead: this is the state in %s; that in %s can't be used\n", root, dirs[0])
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, fmt.Errorf("read the boot id: %w", err)
	}
	return engine.OpenJournal(root, strings.TrimSpace(string(boot))), nil
}

func listCommand() *cobra.Command {
	var output string
	var history bool
	var last int
	cmd := &cobra.Command{
		Use: "list", Short: "List the attachments on this node, or what was done of late", Args: usage.Exactly(0),
		Long: `List reads the state directory and writes nothing. It takes who may read it: root,
as a rule, since it is nobody else's; a user's own needs no root.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return usage.Errorf("-o %q: wants table or json", output)
			}
			j, err := journalToRead()
			if err != nil {
				return err
			}
			if history {
				return printHistory(cmd.OutOrStdout(), j, last, output)
			}
			return printAttachments(cmd.OutOrStdout(), j, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	cmd.Flags().BoolVar(&history, "history", false, "the operation log instead: verb, attachment, duration, outcome")
	cmd.Flags().IntVar(&last, "last", 50, "with --history: how many operations")
	return cmd
}

// listed is one plugin's part of an attachment.
type listed struct {
	attachment.ID
	Plugin  string    `json:"plugin"`
	State   string    `json:"state"`
	Netns   string    `json:"netns"`
	Created time.Time `json:"created"`
}

func printAttachments(out io.Writer, j *engine.Journal, output string) error {
	entries, err := j.All()
	rows := make([]listed, 0, len(entries))
	for _, e := range entries {
		state := "pending"
		if e.Done {
			state = "done"
		}
		rows = append(rows, listed{e.Header.ID, e.Header.Plugin, state, e.Header.Netns, e.Header.Created})
	}
	if output == "json" {
		return firstError(printJSON(out, rows), err)
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "CONTAINER\tINTERFACE\tNETWORK\tPLUGIN\tSTATE\tNETNS\tCREATED")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Container, r.IfName, r.Network, r.Plugin, r.State, r.Netns, r.Created.Format(time.RFC3339))
	}
	return firstError(w.Flush(), err)
}

func printHistory(out io.Writer, j *engine.Journal, last int, output string) error {
	records, err := j.History(last)
	if output == "json" {
		return firstError(printJSON(out, records), err)
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "TIME\tVERB\tPLUGIN\tATTACHMENT\tDURATION\tOUTCOME")
	for _, r := range records {
		outcome := "ok"
		if r.Error != "" {
			outcome = r.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Time.Format(time.RFC3339Nano), r.Verb, r.Plugin, r.ID, r.Duration.Round(10*time.Microsecond), outcome)
	}
	return firstError(w.Flush(), err)
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// firstError reports what could not be read after all that could was printed.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func forgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget NETWORK CONTAINER INTERFACE | forget OWNER",
		Short: "Drop the journal's record of an attachment, and touch nothing else",
		Long: `Forget is the way out where a record can't be read, or was written by a later
version: DEL then goes by the configuration. What the record alone knew of is left
behind; try del first. OWNER, the name of the record's folder, is for a record
that does not tell whose it is.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			owner, whose, err := ownerOf(args)
			if err != nil {
				return err
			}
			j, err := journal()
			if err != nil {
				return err
			}
			names, err := j.Forget(cmd.Context(), owner)
			for _, name := range names {
				fmt.Fprintf(cmd.OutOrStdout(), "forgot %s of %s\n", name, whose)
			}
			if err == nil && len(names) == 0 {
				return fmt.Errorf("there is no record of %s", whose)
			}
			return err
		},
	}
}

// ownerOf reads whose record is meant.
func ownerOf(args []string) (owner attachment.Owner, whose string, err error) {
	switch len(args) {
	case 3:
		id := attachment.ID{Network: args[0], Container: args[1], IfName: args[2]}
		return id.Owner(), id.String(), nil
	case 1:
		if owner, ok := attachment.ParseOwner(args[0]); ok {
			return owner, args[0], nil
		}
		return "", "", usage.Errorf("%q is no owner's name: 26 of a-z and 2-7", args[0])
	}
	return "", "", usage.Errorf("forget takes NETWORK CONTAINER INTERFACE, or OWNER")
}

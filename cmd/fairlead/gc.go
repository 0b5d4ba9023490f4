package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

func gcCommand() *cobra.Command {
	var f runtimeFlags
	var valid []string
	var force, unused, nobody bool
	cmd := &cobra.Command{
		Use:   "gc [CONFLIST [--valid ID/IFNAME]... [--force]] | gc [CONFLIST] --abandoned [--valid ID/IFNAME]... | gc --unused",
		Short: "Remove what is stale: attachments of one network or all, or what nobody uses",
		Long: `Without a configuration list, gc removes every attachment that the journal knows,
of whatever network, and whose namespace is gone.

With a configuration list, gc removes the attachments of its network that are not
named by --valid and whose namespace is gone. With --force the namespace does not
matter: whatever is not named by --valid goes. The plugins are asked where the
protocol has GC (cniVersion 1.1.0) and the list does not disable it; else the
journal tells what is stale.

With --abandoned, what no --valid names goes too where the namespace lives but
nobody is in it: no process, descriptor, socket or other link that is up, and
attached for ten minutes at least. A runtime that was killed while it made a pod
leaves such. But so looks a living pod whose containers all wait to be started
again, if its runtime keeps no process for the pod itself (CRI-O): name what
lives by --valid. The journal tells what there is, as without a list.

With --unused it removes what teardown leaves for the next container: bridges
that Fairlead made and that have no ports, nothing upon them and no addresses of
others, VRFs of VPCs with nobody in them and no attachment recorded, and the
tables of nftables that hold no rule.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case nobody && !unused && !force && len(args) <= 1:
				return collectAbandoned(cmd.Context(), &f, cmd.OutOrStdout(), args, valid)
			case unused && !nobody && len(args) == 0:
				return collectUnused(cmd.Context(), cmd.OutOrStdout())
			case !unused && !nobody && !force && len(args) == 0 && len(valid) == 0:
				return collectRecorded(cmd.Context(), &f, cmd.OutOrStdout())
			case unused || nobody || len(args) != 1:
				return usage.Errorf("gc takes a configuration list (--valid and --force are for one), or --abandoned, or --unused, or nothing")
			}
			return collect(cmd.Context(), &f, cmd.OutOrStdout(), args[0], valid, force)
		},
	}
	f.register(cmd, false)
	cmd.Flags().StringArrayVar(&valid, "valid", nil, "an attachment that is still valid: ID/IFNAME; may be repeated")
	cmd.Flags().BoolVar(&force, "force", false, "remove what is not valid though its namespace lives")
	cmd.Flags().BoolVar(&nobody, "abandoned", false, "remove what is not valid, too, where the namespace lives but nobody is in it")
	cmd.Flags().BoolVar(&unused, "unused", false, "remove bridges, VRFs and tables of ours that nobody uses")
	return cmd
}

func collect(ctx context.Context, f *runtimeFlags, out io.Writer, conflist string, valid []string, force bool) error {
	s, err := f.open(conflist)
	if err != nil {
		return err
	}
	set, err := parseValid(valid)
	if err == nil && !force {
		defer abandoned(s.list.Name, idsOf(s.list.Name, set)).report(out)
	}
	if err == nil && force {
		err = os.Setenv("FAIRLEAD_GC_FORCE", "1")
	}
	for _, dir := range f.cacheDirs() {
		if err == nil && !force {
			s.cni = libcni.NewCNIConfigWithCacheDir(f.pluginPath(), dir, nil)
			set, err = s.living(set)
		}
	}
	if err != nil {
		return err
	}
	c := collection{out: out, dirs: f.cacheDirs(), path: f.pluginPath(), list: s.list, set: set, force: force}
	return c.run(ctx)
}

// living adds what libcni's cache knows of the network, but for what is known to
// be gone: libcni's GC would call DEL for each that is not valid (rule 15). The
// cache does not say where it saw a path, nor in which boot: the journal does.
func (s *session) living(set []types.GCAttachment) ([]types.GCAttachment, error) {
	cached, err := s.cni.GetCachedAttachments("")
	if err != nil {
		return nil, fmt.Errorf("read the cached attachments: %w", err)
	}
	j, err := journal()
	if err != nil {
		return nil, err
	}
	for _, a := range cached {
		if a.Network != s.list.Name {
			continue
		}
		gone, unknown := cachedGone(j, a)
		if gone {
			continue
		}
		if unknown != nil {
			fmt.Fprintf(os.Stderr, "fairlead: gc keeps %s/%s: %v (see --force)\n", a.ContainerID, a.IfName, unknown)
		}
		set = append(set, types.GCAttachment{ContainerID: a.ContainerID, IfName: a.IfName})
	}
	return set, nil
}

var errNoRecord = errors.New("its path leads nowhere here, and no record says that it did where it was attached")

// cachedGone tells whether the namespace of a cached attachment is known to be
// gone, and why that could not be found out.
func cachedGone(j *engine.Journal, a *libcni.NetworkAttachment) (gone bool, unknown error) {
	entries, err := j.Entries(attachment.ID{Network: a.Network, Container: a.ContainerID, IfName: a.IfName})
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if gone, err := cni.Gone(j, e.Header); !gone {
			return false, err
		}
	}
	if len(entries) > 0 {
		return true, nil
	}
	_, absence, leave, err := resource.Open(a.NetNS)
	leave()
	if err == nil && absence != "" {
		err = errNoRecord
	}
	return false, err
}

// collectUnused removes the things of many that nobody uses any more.
func collectUnused(ctx context.Context, out io.Writer) error {
	j, err := journal()
	if err != nil {
		return err
	}
	uppers, err := recordedUppers(j)
	if err != nil {
		return err // who can't be read may be upon any of them
	}
	e := &engine.Engine[resource.Env]{Journal: j, Enter: stayOut}
	return reportUnused(out, func(env resource.Env) (resource.Unused, error) {
		return resource.RemoveUnused(ctx, env, e, uppers)
	})
}

var errRecorded = errors.New("what is recorded is its own DEL's, or GC's, to end")

// stayOut has every attachment of this boot count as a user, be its namespace
// there or not.
func stayOut(context.Context, engine.Header) (resource.Env, engine.Scope, func(), error) {
	return resource.Env{}, engine.Scope{}, nil, errRecorded
}

// recordedUppers are the links upon others that the journal records.
func recordedUppers(j *engine.Journal) (resource.Uppers, error) {
	entries, err := j.All()
	if err != nil {
		return nil, err
	}
	uppers := resource.Uppers{}
	codec := cni.ReadingCodec(kinds())
	for _, e := range entries {
		list, err := codec.Decode(e)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			uppers.Note(r, e.Header.ID.String())
		}
	}
	return uppers, nil
}

func reportUnused(out io.Writer, remove func(resource.Env) (resource.Unused, error)) error {
	env, _, leave, err := resource.Open("")
	defer leave()
	if err != nil {
		return err
	}
	report, err := remove(env)
	for _, line := range report.Removed {
		fmt.Fprintln(out, "removed", line)
	}
	for _, line := range report.Kept {
		fmt.Fprintln(out, "kept", line)
	}
	return err
}

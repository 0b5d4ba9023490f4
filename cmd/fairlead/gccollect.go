package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	cniversion "github.com/containernetworking/cni/pkg/version"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/engine"
)

// since is the version of the protocol that has GC and STATUS.
const since = "1.1.0"

// lacks tells whether the list's version has neither GC nor STATUS: libcni then
// asks no plugin, and says nothing of that.
func lacks(list *libcni.NetworkConfigList) bool {
	has, err := cniversion.GreaterThanOrEqualTo(list.CNIVersion, since)
	return err != nil || !has
}

// collection is one GC of a network, for the operator.
type collection struct {
	out   io.Writer
	dirs  []string
	path  []string
	list  *libcni.NetworkConfigList
	set   []types.GCAttachment // what is spared
	force bool
}

func parseValid(flags []string) ([]types.GCAttachment, error) {
	set := make([]types.GCAttachment, 0, len(flags))
	for _, v := range flags {
		id, ifname, ok := strings.Cut(v, "/")
		if !ok || id == "" || ifname == "" {
			return nil, usage.Errorf("--valid %q: wants ID/IFNAME", v)
		}
		set = append(set, types.GCAttachment{ContainerID: id, IfName: ifname})
	}
	return set, nil
}

// run deletes what libcni's cache knows to be stale, then has the plugins look.
// Where the protocol has no GC, or the list forbids it to runtimes, the journal
// tells what is stale. An error of one does not keep the others from being
// asked, nor from being reported.
func (c *collection) run(ctx context.Context) error {
	if c.list.DisableGC && c.force {
		return fmt.Errorf("%s has disableGC, since others may have attachments of its name: --force would take theirs away", c.list.Name)
	}
	errs := c.deleteCached(ctx)
	var why string
	switch {
	case c.list.DisableGC:
		why = "the list has disableGC"
	case lacks(c.list):
		why = fmt.Sprintf("cniVersion %s has no GC", c.list.CNIVersion)
	default:
		return errors.Join(append(errs, c.plugins(ctx)...)...)
	}
	fmt.Fprintf(c.out, "%s: plugins are not asked, since %s; what the journal records is looked at\n", c.list.Name, why)
	valid := idsOf(c.list.Name, c.set)
	swept, err := runner().SweepJournal(ctx, cni.JournalSweep{Network: c.list.Name, Valid: valid, Force: c.force, Path: c.path})
	if c.force {
		errs = append(errs, swept.Unread...) // not all has gone that was to go
	}
	reportSwept(c.out, swept)
	return errors.Join(append(errs, err)...)
}

// deleteCached calls DEL for what libcni's cache has of the network and is not
// spared: it is all that is known of what another suite's plugin made.
func (c *collection) deleteCached(ctx context.Context) (errs []error) {
	cached, unread := listCached(c.dirs, c.list.Name)
	for _, err := range unread {
		fmt.Fprintf(os.Stderr, "fairlead: passed over: %v\n", err)
	}
	for _, add := range cached {
		if slices.Contains(c.set, types.GCAttachment{ContainerID: add.ContainerID, IfName: add.IfName}) {
			continue
		}
		errs = append(errs, deleteCached(ctx, c.out, c.path, c.list, add))
	}
	return errs
}

func deleteCached(ctx context.Context, out io.Writer, path []string, list *libcni.NetworkConfigList, add *cachedAdd) error {
	l := libcni.NewCNIConfigWithCacheDir(path, add.dir, nil)
	if err := l.DelNetworkList(ctx, list, add.runtime()); err != nil {
		return fmt.Errorf("delete %s: %w", add.id(), explain(err))
	}
	fmt.Fprintf(out, "deleted %s\n", add.id())
	return nil
}

// plugins calls GC of each plugin of the list, and says of each how it went.
func (c *collection) plugins(ctx context.Context) (errs []error) {
	inject := map[string]any{
		"name": c.list.Name, "cniVersion": c.list.CNIVersion,
		// The specification's first name of the key, and its second.
		"cni.dev/valid-attachments": c.set, "cni.dev/attachments": c.set,
	}
	for _, p := range c.list.Plugins {
		err := c.plugin(ctx, p, inject)
		if err != nil {
			errs = append(errs, fmt.Errorf("GC by %s: %w", p.Network.Type, explain(err)))
			continue
		}
		fmt.Fprintf(c.out, "GC by %s: done\n", p.Network.Type)
	}
	return errs
}

func (c *collection) plugin(ctx context.Context, p *libcni.PluginConfig, inject map[string]any) error {
	conf, err := libcni.InjectConf(p, inject)
	if err != nil {
		return err
	}
	path, err := invoke.FindInPath(p.Network.Type, c.path)
	if err != nil {
		return err
	}
	args := &invoke.Args{Command: string(cni.GC), Path: strings.Join(c.path, string(os.PathListSeparator))}
	return invoke.ExecPluginWithoutResult(ctx, path, conf.Bytes, args, nil)
}

// collectRecorded removes every attachment that the journal knows, of whatever
// network, and whose namespace is gone.
func collectRecorded(ctx context.Context, f *runtimeFlags, out io.Writer) error {
	// Before the sweep, which opens sockets in the namespaces.
	nobody := abandoned("", nil)
	swept, err := runner().SweepJournal(ctx, cni.JournalSweep{Path: f.pluginPath(), Before: wholeList(ctx, f, out)})
	reportSwept(out, swept)
	nobody.report(out)
	return err
}

// collectAbandoned removes what the journal records of one network, or of all,
// where the namespace is gone or nobody is in it.
func collectAbandoned(ctx context.Context, f *runtimeFlags, out io.Writer, args, valid []string) error {
	sweep := cni.JournalSweep{Abandoned: true, Path: f.pluginPath(), Before: wholeList(ctx, f, out)}
	if len(args) == 1 {
		s, err := f.open(args[0])
		if err != nil {
			return err
		}
		sweep.Network = s.list.Name
	}
	set, err := parseValid(valid)
	if err != nil {
		return err
	}
	sweep.Valid = idsOf(sweep.Network, set)
	swept, err := runner().SweepJournal(ctx, sweep)
	reportSwept(out, swept)
	return err
}

func idsOf(network string, set []types.GCAttachment) map[attachment.ID]bool {
	ids := make(map[attachment.ID]bool, len(set))
	for _, a := range set {
		ids[attachment.ID{Network: network, Container: a.ContainerID, IfName: a.IfName}] = true
	}
	return ids
}

// wholeList has the whole list of an attachment hear DEL, another suite's plugins
// too, where libcni's cache has it.
func wholeList(ctx context.Context, f *runtimeFlags, out io.Writer) func(attachment.ID) error {
	path, dirs := f.pluginPath(), f.cacheDirs()
	return func(id attachment.ID) error {
		add, err := cachedOf(dirs, id)
		if err != nil {
			return fmt.Errorf("%s is kept: %w", id, err)
		}
		if add == nil || add.Kind != libcni.CNICacheV1 {
			return nil // it was not libcni's, or its list is not known
		}
		list, err := parseList("libcni's cache of "+id.String(), add.Config)
		if err == nil {
			err = deleteCached(ctx, out, path, list, add)
		}
		if err != nil {
			return fmt.Errorf("%s is kept: %w", id, err)
		}
		return nil
	}
}

// nobodyIn are the attachments in whose namespaces nobody is: for the operator to
// decide upon.
type nobodyIn []attachment.ID

func abandoned(network string, valid map[attachment.ID]bool) (list nobodyIn) {
	headers, err := runner().Abandoned(network, func(id attachment.ID) bool { return valid[id] })
	if err != nil {
		fmt.Fprintf(os.Stderr, "fairlead: who may be abandoned is not known: %v\n", err)
	}
	for _, h := range headers {
		if !slices.Contains(list, h.ID) {
			list = append(list, h.ID)
		}
	}
	return list
}

func (list nobodyIn) report(out io.Writer) {
	for _, id := range list {
		fmt.Fprintf(out, "kept %s: %s\n", id, cni.Nobody)
	}
}

// reportSwept says what a sweep by the journal did.
func reportSwept(out io.Writer, swept engine.Swept) {
	for _, h := range swept.Removed {
		fmt.Fprintf(out, "removed %s by %s\n", h.ID, h.Plugin)
	}
	for _, h := range swept.Busy {
		fmt.Fprintf(out, "passed over %s by %s: a call is at work on it\n", h.ID, h.Plugin)
	}
	for _, err := range swept.Unread {
		fmt.Fprintf(os.Stderr, "fairlead: a record is kept (see 'fairlead forget'): %v\n", err)
	}
	fmt.Fprintf(out, "%d records removed; %d kept, whose namespaces live or may live\n", len(swept.Removed), len(swept.Kept))
}

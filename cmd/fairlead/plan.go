package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
	"github.com/fairlead-net/fairlead/cni"
)

func planCommand() *cobra.Command {
	var f runtimeFlags
	var output, netns string
	cmd := &cobra.Command{
		Use:   "plan CONFLIST",
		Short: "Print every object that an add would own, in order, and touch nothing",
		Long: `Plan is a dry run. The addresses of our own IPAM are previewed without being
reserved; what another's plugin decides is shown as <from NAME>. Names that are
derived from the attachment follow --id and --ifname.

If a plugin that an add would call is not installed, it is named, and the exit
status is 1.`,
		Args: usage.Exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usage.Errorf("-o %q: wants text or json", output)
			}
			if f.id == "" {
				f.id = "example"
			}
			if netns == "" {
				netns = f.id // stands for a namespace that is yet to be made
			}
			runs, err := plan(cmd.Context(), &f, args[0], netnsPath(netns))
			if err != nil {
				return err
			}
			if output == "json" {
				err = printJSON(cmd.OutOrStdout(), runs)
			} else {
				err = printPlan(cmd.OutOrStdout(), runs)
			}
			return firstError(err, installed(runs, f.pluginPath()))
		},
	}
	f.register(cmd, true)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().StringVar(&netns, "netns", "", "namespace in which facts about the container are looked up")
	return cmd
}

// plan dry-runs the plugins of a list, each with the result that the one before
// would hand on.
func plan(ctx context.Context, f *runtimeFlags, conflist, netns string) ([]cni.DryRun, error) {
	list, err := loadList(conflist)
	if err != nil {
		return nil, err
	}
	caps, err := capabilityArgs(f.capabilities)
	if err != nil {
		return nil, err
	}
	var runs []cni.DryRun
	var prev *current.Result
	for _, p := range list.Plugins {
		stdin, err := pluginConf(list, p, caps, prev)
		if err != nil {
			return nil, err
		}
		run, err := runner().DryRun(ctx, p.Network.Type, &cni.Request{
			Verb: cni.Add, ContainerID: f.id, Netns: netns, IfName: f.ifname,
			Args: f.args, Path: f.pluginPath(), Stdin: stdin,
		})
		if err != nil {
			return nil, fmt.Errorf("plugin %s: %w", p.Network.Type, err)
		}
		prev = run.Result
		runs = append(runs, run)
	}
	return runs, nil
}

// installed is an error where an add would not find a plugin, or a delegate, of
// the plan.
func installed(runs []cni.DryRun, path []string) error {
	var missing []string
	want := func(name string) {
		if _, err := invoke.FindInPath(name, path); err != nil && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	for _, run := range runs {
		want(run.Plugin)
		for _, o := range run.Objects {
			if o.Sort == "delegate" && o.Kind == "delegate" {
				want(o.Key)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("an add would fail: not installed in %s: %s", strings.Join(path, string(os.PathListSeparator)), strings.Join(missing, ", "))
}

// pluginConf is what libcni hands to one plugin of a list.
func pluginConf(list *libcni.NetworkConfigList, p *libcni.PluginConfig, caps map[string]any, prev *current.Result) ([]byte, error) {
	var conf map[string]any
	if err := json.Unmarshal(p.Bytes, &conf); err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", p.Network.Type, err)
	}
	conf["name"], conf["cniVersion"] = list.Name, list.CNIVersion
	if prev != nil {
		result, err := prev.GetAsVersion(list.CNIVersion)
		if err != nil {
			return nil, fmt.Errorf("result for %s: %w", p.Network.Type, err)
		}
		conf["prevResult"] = result
	}
	wanted := map[string]any{}
	for name, value := range caps {
		if p.Network.Capabilities[name] {
			wanted[name] = value
		}
	}
	if len(wanted) > 0 {
		conf["runtimeConfig"] = wanted
	}
	return json.Marshal(conf)
}

func printPlan(out io.Writer, runs []cni.DryRun) error {
	n := 0
	for _, run := range runs {
		if _, err := fmt.Fprintf(out, "%s\n", run.Plugin); err != nil {
			return err
		}
		for _, o := range run.Objects {
			n++
			kind, _, _ := strings.Cut(o.Kind, ".")
			fmt.Fprintf(out, "%4d  %-9s  %s %s", n, o.Sort, kind, o.Key)
			if o.Within != "" {
				fmt.Fprintf(out, "  (goes with %s)", o.Within)
			}
			fmt.Fprintln(out)
			detail, err := details(o)
			if err != nil {
				return err
			}
			if detail != "" {
				fmt.Fprintf(out, "                 %s\n", detail)
			}
		}
	}
	return nil
}

// details is the object in one line, less what the first line has said.
func details(o cni.Planned) (string, error) {
	if o.Unknown != "" {
		return o.Unknown, nil
	}
	if o.Object == nil {
		return "", nil
	}
	data, err := json.Marshal(o.Object)
	if err != nil {
		return "", err
	}
	return string(data), nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/spf13/cobra"

	"github.com/fairlead-net/fairlead/cmd/usage"
)

// runtimeFlags are what the commands that call plugins have in common.
type runtimeFlags struct {
	id, ifname   string
	args         string
	capabilities []string
	path         string
	cacheDir     string
}

func (f *runtimeFlags) register(cmd *cobra.Command, container bool) {
	cmd.Flags().StringVar(&f.path, "path", "", "directories of plugins, as CNI_PATH (default: $CNI_PATH, the directory of this binary if the plugins are there, "+defaultBinDir+")")
	cmd.Flags().StringVar(&f.cacheDir, "cache-dir", "", "where libcni keeps results and arguments between ADD and DEL (default: "+libcni.CacheDir+"; what was added is sought in "+libcni.CacheDir+"/cache too)")
	if !container {
		return
	}
	cmd.Flags().StringVar(&f.id, "id", "", "container ID (default: the last part of NETNS)")
	cmd.Flags().StringVar(&f.ifname, "ifname", "eth0", "interface name in the container")
	cmd.Flags().StringVar(&f.args, "args", "", "CNI_ARGS: KEY=VALUE;KEY=VALUE")
	cmd.Flags().StringArrayVar(&f.capabilities, "capability", nil, "capability argument NAME=JSON; may be repeated")
}

// session is a loaded configuration with a libcni to run it.
type session struct {
	list *libcni.NetworkConfigList
	cni  *libcni.CNIConfig
	conf *libcni.RuntimeConf
	// added tells that libcni's cache has the container's ADD.
	added bool
}

// open loads a configuration list, or a single plugin's configuration.
func (f *runtimeFlags) open(conflist string) (*session, error) {
	list, err := loadList(conflist)
	if err != nil {
		return nil, err
	}
	path := f.pluginPath()
	return &session{list: list, cni: libcni.NewCNIConfigWithCacheDir(path, f.addDir(), nil)}, nil
}

func (f *runtimeFlags) openFor(conflist, netns string) (*session, error) {
	s, err := f.open(conflist)
	if err != nil {
		return nil, err
	}
	s.conf = &libcni.RuntimeConf{ContainerID: f.id, NetNS: netnsPath(netns), IfName: f.ifname}
	if s.conf.ContainerID == "" {
		s.conf.ContainerID = filepath.Base(netns)
	}
	if s.conf.Args, err = splitArgs(f.args); err != nil {
		return nil, err
	}
	if s.conf.CapabilityArgs, err = capabilityArgs(f.capabilities); err != nil {
		return nil, err
	}
	return s, nil
}

// loadList reads a configuration list.
func loadList(path string) (*libcni.NetworkConfigList, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return parseList("configuration "+path, data)
}

// parseList decodes a configuration list. A single plugin's configuration is one
// of a list of one.
func parseList(what string, data []byte) (*libcni.NetworkConfigList, error) {
	var shape map[string]json.RawMessage
	if err := json.Unmarshal(data, &shape); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if shape["plugins"] == nil {
		list := map[string]any{"plugins": []any{shape}}
		for _, key := range []string{"name", "cniVersion"} {
			if value := shape[key]; value != nil {
				list[key] = value
			}
		}
		var err error
		if data, err = json.Marshal(list); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	list, err := libcni.NetworkConfFromBytes(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

func (f *runtimeFlags) pluginPath() []string {
	if f.path != "" {
		return filepath.SplitList(f.path)
	}
	if env := os.Getenv("CNI_PATH"); env != "" {
		return filepath.SplitList(env)
	}
	if self, err := os.Executable(); err == nil {
		dir := filepath.Dir(self)
		if _, err := os.Stat(filepath.Join(dir, "loopback")); err == nil {
			return []string{dir}
		}
	}
	return []string{defaultBinDir}
}

// netnsPath takes a path, or a name as ip-netns(8) knows it.
func netnsPath(netns string) string {
	if netns == "" || strings.ContainsRune(netns, '/') {
		return netns
	}
	return filepath.Join("/run/netns", netns)
}

func splitArgs(args string) ([][2]string, error) {
	var pairs [][2]string
	for part := range strings.SplitSeq(args, ";") {
		if part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" {
			return nil, usage.Errorf("--args %q: wants KEY=VALUE;KEY=VALUE", args)
		}
		pairs = append(pairs, [2]string{key, value})
	}
	return pairs, nil
}

func capabilityArgs(flags []string) (map[string]any, error) {
	caps := make(map[string]any, len(flags))
	for _, flag := range flags {
		name, raw, ok := strings.Cut(flag, "=")
		var value any
		if !ok || json.Unmarshal([]byte(raw), &value) != nil {
			return nil, usage.Errorf("--capability %q: wants NAME=JSON, for example portMappings='[{\"hostPort\":80,\"containerPort\":8080}]'", flag)
		}
		caps[name] = value
	}
	return caps, nil
}

func addCommand() *cobra.Command {
	var f runtimeFlags
	cmd := &cobra.Command{
		Use: "add CONFLIST NETNS", Short: "Give a container its network, as a runtime would", Args: usage.Exactly(2),
		Long: "Add calls the plugins of a configuration list in order and prints the result.\nNETNS is a path, or a name under /run/netns.",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := f.openFor(args[0], args[1])
			if err != nil {
				return err
			}
			result, err := s.cni.AddNetworkList(cmd.Context(), s.list, s.conf)
			if err != nil {
				return explain(err)
			}
			return result.PrintTo(cmd.OutOrStdout())
		},
	}
	f.register(cmd, true)
	return cmd
}

// containerCommand is a command that calls one verb for a container and prints
// nothing.
func containerCommand(use, short string, call func(ctx context.Context, s *session) error) *cobra.Command {
	var f runtimeFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Args: usage.Exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := f.openFor(args[0], args[1])
			if err == nil {
				err = s.recall(&f)
			}
			if err != nil {
				return err
			}
			return explain(call(cmd.Context(), s))
		},
	}
	f.register(cmd, true)
	return cmd
}

func checkCommand() *cobra.Command {
	return containerCommand("check CONFLIST NETNS", "Check that a container's network is as it was made",
		func(ctx context.Context, s *session) error {
			if err := s.mustBeAdded(); err != nil {
				return err
			}
			return s.cni.CheckNetworkList(ctx, s.list, s.conf)
		})
}

// mustBeAdded: a runtime does not call CHECK before ADD, nor after DEL; libcni
// would, without a result to compare with. Nor is success the answer where
// libcni asks nobody.
func (s *session) mustBeAdded() error {
	if s.list.DisableCheck {
		return fmt.Errorf("%s has disableCheck, so libcni checks nothing: it is not known whether all is as it was made", s.list.Name)
	}
	if !s.added {
		return fmt.Errorf("%s of container %s is not added to %s: there is nothing to check", s.conf.IfName, s.conf.ContainerID, s.list.Name)
	}
	return nil
}

func delCommand() *cobra.Command {
	return containerCommand("del CONFLIST NETNS", "Take a container's network away again",
		func(ctx context.Context, s *session) error {
			if !s.added {
				fmt.Fprintf(os.Stderr, "fairlead: libcni keeps nothing of an add of %s of container %s to %s: plugins get no result and no arguments but those given here\n",
					s.conf.IfName, s.conf.ContainerID, s.list.Name)
			}
			return s.cni.DelNetworkList(ctx, s.list, s.conf)
		})
}

func statusCommand() *cobra.Command {
	var f runtimeFlags
	cmd := &cobra.Command{
		Use: "status CONFLIST", Short: "Ask whether an add could work now", Args: usage.Exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := f.open(args[0])
			if err != nil {
				return err
			}
			if lacks(s.list) {
				return fmt.Errorf("cniVersion %s has no STATUS (it is in the protocol since %s), so no plugin was asked", s.list.CNIVersion, since)
			}
			return explain(s.cni.GetStatusNetworkList(cmd.Context(), s.list))
		},
	}
	f.register(cmd, false)
	return cmd
}

// explain adds the code, which libcni's text leaves out.
func explain(err error) error {
	if e := (*types.Error)(nil); errors.As(err, &e) {
		return fmt.Errorf("%w (CNI code %d)", err, e.Code)
	}
	return err
}

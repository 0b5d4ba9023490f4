package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"

	"github.com/fairlead-net/fairlead/attachment"
)

// cachedAdd is what libcni keeps of an ADD, for its DEL. libcni's own reader
// takes a file that can't be read for one that is not there.
type cachedAdd struct {
	Kind           string         `json:"kind"`
	ContainerID    string         `json:"containerId"`
	Config         []byte         `json:"config"`
	IfName         string         `json:"ifName"`
	NetworkName    string         `json:"networkName"`
	NetNS          string         `json:"netns"`
	CniArgs        [][2]string    `json:"cniArgs"`
	CapabilityArgs map[string]any `json:"capabilityArgs"`

	dir string // the cache's
}

func (c *cachedAdd) id() attachment.ID {
	return attachment.ID{Network: c.NetworkName, Container: c.ContainerID, IfName: c.IfName}
}

// runtime is the call as the runtime made it.
func (c *cachedAdd) runtime() *libcni.RuntimeConf {
	return &libcni.RuntimeConf{
		ContainerID: c.ContainerID, NetNS: c.NetNS, IfName: c.IfName,
		Args: c.CniArgs, CapabilityArgs: c.CapabilityArgs,
	}
}

// cacheDirs are the directories in which runtimes have libcni keep results:
// libcni's own, and the one that some have set below it.
func (f *runtimeFlags) cacheDirs() []string {
	if f.cacheDir != "" {
		return []string{f.cacheDir}
	}
	return []string{libcni.CacheDir, filepath.Join(libcni.CacheDir, "cache")}
}

// addDir is where the result of an add goes.
func (f *runtimeFlags) addDir() string { return f.cacheDirs()[0] }

// cachedOf finds what is kept of one ADD; nil where nothing is.
func cachedOf(dirs []string, id attachment.ID) (*cachedAdd, error) {
	for _, dir := range dirs {
		name := fmt.Sprintf("%s-%s-%s", id.Network, id.Container, id.IfName)
		cached, err := readCached(dir, name)
		if cached != nil || err != nil {
			return cached, err
		}
	}
	return nil, nil
}

// readCached reads one file; nil where there is none. One of libcni before 0.8
// is a result alone, and has no arguments.
func readCached(dir, name string) (*cachedAdd, error) {
	path := filepath.Join(dir, "results", name)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what libcni keeps of the add: %w", err)
	}
	cached := cachedAdd{dir: dir}
	if err := json.Unmarshal(data, &cached); err != nil {
		return nil, fmt.Errorf("read what libcni keeps of the add (without that file, nothing is known of it): %s: %w", path, err)
	}
	return &cached, nil
}

// listCached lists what is kept of the ADDs to a network; unread are the files
// that can't be read, of whatever network.
func listCached(dirs []string, network string) (list []*cachedAdd, unread []error) {
	for _, dir := range dirs {
		files, err := os.ReadDir(filepath.Join(dir, "results"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			unread = append(unread, fmt.Errorf("list what libcni keeps of adds: %w", err))
		}
		for _, f := range files {
			cached, err := readCached(dir, f.Name())
			switch {
			case err != nil:
				unread = append(unread, err)
			case cached != nil && cached.Kind == libcni.CNICacheV1 && cached.NetworkName == network:
				list = append(list, cached)
			}
		}
	}
	return list, unread
}

// recall fills in what the runtime told the plugins at ADD and what the flags
// leave open: a mapping of ports, say, that DEL must name to take it away.
func (s *session) recall(f *runtimeFlags) error {
	if f.id == "" {
		if err := s.recallID(f); err != nil {
			return err
		}
	}
	cached, err := cachedOf(f.cacheDirs(), attachment.ID{Network: s.list.Name, Container: s.conf.ContainerID, IfName: s.conf.IfName})
	if err != nil || cached == nil {
		return err
	}
	s.added = true
	s.cni = libcni.NewCNIConfigWithCacheDir(f.pluginPath(), cached.dir, nil)
	if f.args == "" {
		s.conf.Args = cached.CniArgs
	}
	for name, value := range cached.CapabilityArgs {
		if _, given := s.conf.CapabilityArgs[name]; !given {
			s.conf.CapabilityArgs[name] = value
		}
	}
	return nil
}

// recallID finds the container's ID by its namespace: runtimes name the two
// apart, and a DEL by another ID would find nothing, and succeed.
func (s *session) recallID(f *runtimeFlags) error {
	list, _ := listCached(f.cacheDirs(), s.list.Name) // a guess is no reason to fail
	found := map[string]bool{}
	for _, cached := range list {
		if cached.IfName == s.conf.IfName && samePath(cached.NetNS, s.conf.NetNS) {
			found[cached.ContainerID] = true
		}
	}
	if len(found) > 1 {
		return fmt.Errorf("%s is the namespace of %d containers on %s: say which with --id", s.conf.NetNS, len(found), s.list.Name)
	}
	for id := range found {
		s.conf.ContainerID = id
	}
	return nil
}

// samePath compares paths of namespaces: /var/run is /run.
func samePath(a, b string) bool {
	clean := func(path string) string {
		path = filepath.Clean(path)
		if rest, ok := strings.CutPrefix(path, "/var/run/"); ok {
			return "/run/" + rest
		}
		return path
	}
	return a != "" && clean(a) == clean(b)
}

package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

func (h *Host) look(netns, stdin, name string, args ...string) ([]byte, error) {
	c := h.CommandIn(netns, name, args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, stderrOf(err))
	}
	return out, nil
}

// object is one JSON object that a tool printed.
type object map[string]any

func (o object) text(key string) string {
	if v, ok := o[key]; ok && v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// pick renders the named values, in this order, those that are there.
func (o object) pick(keys ...string) string {
	var parts []string
	for _, k := range keys {
		if v, ok := o[k]; ok {
			parts = append(parts, k+"="+compact(v))
		}
	}
	return strings.Join(parts, " ")
}

func compact(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// links tells links, addresses, routes, rules and permanent neighbours.
func (h *Host) links(netns string) (Picture, error) {
	const all = "address show\nroute show table all\nneighbor show nud permanent\nrule show\n"
	out, err := h.look(netns, all, "ip", "-j", "-d", "-batch", "-")
	if err != nil {
		return nil, err
	}
	lists, err := decodeLists(out)
	if err != nil {
		return nil, err
	}
	six := [][]object{nil}
	if hasIPv6() {
		rules6, err := h.look(netns, "", "ip", "-6", "-j", "rule", "show")
		if err != nil {
			return nil, err
		}
		if six, err = decodeLists(rules6); err != nil {
			return nil, err
		}
	}
	if len(lists) != 4 || len(six) != 1 {
		return nil, fmt.Errorf("ip answered %d and %d lists", len(lists), len(six))
	}
	p := linkFacts(lists[0])
	for _, r := range lists[1] {
		if r.text("protocol") == "kernel" && followsFromAddress(r) {
			continue // and comes some time after it
		}
		p = append(p, Fact{"route", r.text("dev"), r.pick("type", "dst", "gateway", "via", "nexthops", "encap", "table", "protocol", "scope", "prefsrc", "metric", "metrics")})
	}
	for _, n := range lists[2] {
		p = append(p, Fact{"neighbour", n.text("dev"), n.pick("dst", "lladdr")})
	}
	for i, rules := range [][]object{lists[3], six[0]} {
		for _, r := range rules {
			p = append(p, Fact{"rule", []string{"inet", "inet6"}[i], compact(r)})
		}
	}
	return p, nil
}

// hasIPv6 tells whether the kernel has it at all.
func hasIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6")
	return err == nil
}

// followsFromAddress is true for a route that the kernel makes for an address,
// or for a link that is up: the address or the link says as much.
func followsFromAddress(route object) bool {
	dst := route.text("dst")
	return route.text("table") == "local" || strings.HasPrefix(dst, "fe80:") || strings.HasPrefix(dst, "ff00:")
}

func linkFacts(list []object) Picture {
	var p Picture
	for _, l := range list {
		name := l.text("ifname")
		flags, _ := l["flags"].([]any)
		// What follows from the other end or from traffic says nothing of
		// this host.
		flags = slices.DeleteFunc(flags, func(f any) bool {
			return f == "NO-CARRIER" || f == "LOWER_UP" || f == "M-DOWN"
		})
		l["flags"] = flags
		info, _ := l["linkinfo"].(map[string]any)
		l["kind"] = object(info).text("info_kind")
		p = append(p, Fact{"link", name, l.pick("kind", "flags", "mtu", "address", "master", "ifalias", "altnames", "txqlen", "qdisc", "promiscuity", "allmulti")})
		addresses, _ := l["addr_info"].([]any)
		for _, a := range addresses {
			a, _ := a.(map[string]any)
			if strings.HasPrefix(object(a).text("local"), "fe80:") {
				continue // likewise
			}
			p = append(p, Fact{"address", name, object(a).pick("local", "prefixlen", "address", "broadcast", "scope", "label")})
		}
	}
	return p
}

// decodeLists reads the lists that ip prints one after the other.
func decodeLists(out []byte) ([][]object, error) {
	var lists [][]object
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	for {
		var l []object
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			return lists, nil
		}
		if err != nil {
			return nil, fmt.Errorf("ip's answer: %w", err)
		}
		lists = append(lists, l)
	}
}

// nftables tells the rule set, without handles and counts.
func (h *Host) nftables(netns string) (Picture, error) {
	out, err := h.look(netns, "", "nft", "-j", "list", "ruleset")
	if err != nil {
		return nil, err
	}
	var set struct {
		Nftables []map[string]object `json:"nftables"`
	}
	if err := json.Unmarshal(out, &set); err != nil {
		return nil, fmt.Errorf("nft's answer: %w", err)
	}
	var p Picture
	for _, item := range set.Nftables {
		for kind, o := range item {
			if kind == "metainfo" {
				continue
			}
			delete(o, "handle")
			where := strings.TrimSpace(o.text("family") + " " + o.text("table") + " " + o.text("chain") + o.text("name"))
			sort := kind
			if kind == "rule" {
				sort = "nft"
			}
			p = append(p, Fact{sort, where, compact(stripCounts(map[string]any(o)))})
		}
	}
	return p, nil
}

// stripCounts takes out what traffic changes.
func stripCounts(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if k == "counter" {
				v[k] = nil
			} else {
				v[k] = stripCounts(v[k])
			}
		}
	case []any:
		for i := range v {
			v[i] = stripCounts(v[i])
		}
	}
	return v
}

// legacy tells the rules in the kernel's old tables, which nft does not show.
func (h *Host) legacy(netns string) (Picture, error) {
	var p Picture
	for _, tool := range []struct{ command, names string }{
		{"iptables-legacy", "ip_tables_names"}, {"ip6tables-legacy", "ip6_tables_names"},
	} {
		names, err := h.tables(netns, tool.names)
		if err != nil {
			return nil, err
		}
		for _, table := range names {
			out, err := h.look(netns, "", tool.command, "-t", table, "-S")
			if err != nil {
				return nil, err
			}
			for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
				p = append(p, Fact{"iptables", tool.command + " " + table, l})
			}
		}
	}
	return p, nil
}

// tables names the old tables that a namespace has: reading a table otherwise
// makes it.
func (h *Host) tables(netns, file string) ([]string, error) {
	var b []byte
	var err error
	read := func() { b, err = os.ReadFile("/proc/thread-self/net/" + file) }
	if netns == "" {
		h.Do(read)
	} else {
		h.Inside(netns, read)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(b)), err
}

// sysctls tells those that forwarding depends on.
func (h *Host) sysctls(netns string) (Picture, error) {
	var p Picture
	var err error
	read := func() {
		for _, name := range []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"} {
			b, e := os.ReadFile("/proc/sys/" + name)
			if errors.Is(e, fs.ErrNotExist) && !hasIPv6() {
				continue
			}
			if e != nil {
				err = e
				return
			}
			p = append(p, Fact{"sysctl", name, strings.TrimSpace(string(b))})
		}
	}
	if netns == "" {
		h.Do(read)
	} else {
		h.Inside(netns, read)
	}
	return p, err
}

// files tells the files under the host's own /run and /var/lib. Directories
// are told by what is in them, but for those of the journal.
func (h *Host) files() (p Picture, err error) {
	h.Do(func() {
		for _, root := range []string{"/run", "/var/lib"} {
			err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				if err != nil {
					return err
				}
				if d.IsDir() {
					// An attachment's directory goes with its last entry.
					if filepath.Dir(path) == "/run/fairlead/attachments" {
						p = append(p, Fact{"file", path, "directory"})
					}
					return nil
				}
				f, err := fileFact(path, d)
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				p = append(p, f)
				return err
			})
			if err != nil {
				return
			}
		}
	})
	return p, err
}

func fileFact(path string, d fs.DirEntry) (Fact, error) {
	if !d.Type().IsRegular() {
		return Fact{"file", path, d.Type().String()}, nil
	}
	if filepath.Dir(path) == netnsDir {
		return Fact{"file", path, "namespace"}, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return Fact{}, err
	}
	if len(b) > 200 || !utf8.Valid(b) {
		sum := sha256.Sum256(b)
		return Fact{"file", path, fmt.Sprintf("%d bytes, %s", len(b), hex.EncodeToString(sum[:6]))}, nil
	}
	return Fact{"file", path, fmt.Sprintf("%q", b)}, nil
}

// mounts tells what has been mounted since the host was made: the named
// namespaces.
func (h *Host) mounts() (p Picture, err error) {
	var table map[string]string
	h.Do(func() { table, err = mountTable() })
	for id, at := range table {
		if _, born := h.born[id]; !born {
			p = append(p, Fact{"mount", at, ""})
		}
	}
	return p, err
}

// mountTable is the calling thread's view of mounts, mount points by ID.
func mountTable() (map[string]string, error) {
	b, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, err
	}
	table := map[string]string{}
	for _, l := range strings.Split(string(b), "\n") {
		if fields := strings.Fields(l); len(fields) > 4 {
			table[fields[0]] = fields[4]
		}
	}
	return table, nil
}

package tuning

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// sysctl is one kernel parameter and its value.
type sysctl struct {
	key   string // as the configuration has it: "net.ipv4.conf.IFNAME.arp_filter"
	name  string // below /proc/sys: "net/ipv4/conf/eth0/arp_filter"
	value string
}

// params is a JSON object of parameters, which keeps what is there twice.
type params []sysctl

// UnmarshalJSON reads the object, and what follows it under the same name.
func (p *params) UnmarshalJSON(data []byte) error {
	values := map[string]string{}
	if err := json.Unmarshal(data, &values); err != nil {
		return err // with the place of what is no text
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t == nil { // null
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		s := sysctl{}
		if err := dec.Decode(&s.value); err != nil {
			return err
		}
		s.key, _ = key.(string)
		*p = append(*p, s)
	}
	return nil
}

// placeholder stands for the interface's name.
const placeholder = "IFNAME"

// merge gives the parameters to be set, in the order of their setting: those of
// args count more.
func merge(conf, args params, ifName string) ([]sysctl, error) {
	list, err := resolve(conf, ifName)
	if err != nil {
		return nil, err
	}
	more, err := resolve(args, ifName)
	if err != nil {
		return nil, err
	}
	for _, s := range more {
		list = slices.DeleteFunc(list, func(o sysctl) bool { return o.name == s.name })
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b sysctl) int {
		return cmp.Or(cmp.Compare(a.reach(), b.reach()), strings.Compare(a.name, b.name))
	})
	return list, nil
}

// resolve finds each parameter's place, and refuses one that is named twice.
func resolve(all params, ifName string) ([]sysctl, error) {
	list := make([]sysctl, 0, len(all))
	for _, s := range all {
		// A name may have dots of its own, so it comes last.
		name := strings.Replace(strings.ReplaceAll(s.key, ".", "/"), placeholder, ifName, 1)
		s.name = path.Clean("/" + name)[1:]
		if !strings.HasPrefix(s.name, "net/") {
			return nil, fmt.Errorf("sysctl %q is none of the network's: only those below net can be set", s.key)
		}
		if slices.ContainsFunc(list, func(o sysctl) bool { return o.name == s.name }) {
			return nil, fmt.Errorf("sysctl %q is there twice", s.key)
		}
		list = append(list, s)
	}
	return list, nil
}

// reach orders parameters: to set one of the whole stack sets or resets those
// of links, and to set one of all links those of single ones.
func (s sysctl) reach() int {
	parts := strings.Split(s.name, "/")
	if len(parts) < 4 || parts[2] != "conf" && parts[2] != "neigh" {
		return 0
	}
	switch parts[3] {
	case "default":
		return 1
	case "all":
		return 2
	}
	return 3
}

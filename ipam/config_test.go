package ipam

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func parseWire(text string) (*Wire, error) {
	w := &Wire{}
	return w, json.Unmarshal([]byte(text), w)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		conf, arg string
		want      string // "sets | requested", or the error's text after "!"
	}{
		"flat": {
			`{"ipam":{"subnet":"10.1.2.0/24","rangeStart":"10.1.2.9","rangeEnd":"10.1.2.20","gateway":"10.1.2.30"}}`, "",
			"[10.1.2.9-10.1.2.20] | []"},
		"sets": {
			`{"ipam":{"ranges":[[{"subnet":"10.1.2.0/24","rangeEnd":"10.1.2.9"},{"subnet":"10.1.4.0/24"}],[{"subnet":"2001:db8::/126"}]]}}`, "",
			"[10.1.2.1-10.1.2.9,10.1.4.1-10.1.4.254 2001:db8::1-2001:db8::3] | []"},
		"the runtime's first, then the flat one": {
			`{"runtimeConfig":{"irrelevant":"a","ipRanges":[[{"subnet":"12.1.3.0/24"}]]},
			  "ipam":{"subnet":"10.1.2.0/24","ranges":[[{"subnet":"11.1.2.0/24"}]]}}`, "",
			"[12.1.3.1-12.1.3.254 10.1.2.1-10.1.2.254 11.1.2.1-11.1.2.254] | []"},
		"only the runtime's": {
			`{"runtimeConfig":{"ipRanges":[[{"subnet":"12.1.3.0/24"}]]},"ipam":{}}`, "",
			"[12.1.3.1-12.1.3.254] | []"},
		"requested by all": {
			`{"args":{"cni":{"ips":["11.1.2.11/8"]}},"runtimeConfig":{"ips":["2001:db8:1::11/64"]},
			  "ipam":{"ranges":[[{"subnet":"10.1.2.0/24"}],[{"subnet":"11.1.2.0/24"}],[{"subnet":"2001:db8:1::/64"}]]}}`, "10.1.2.10",
			"[10.1.2.1-10.1.2.254 11.1.2.1-11.1.2.254 2001:db8:1::1-2001:db8:1:0:ffff:ffff:ffff:ffff] | [10.1.2.10 11.1.2.11 2001:db8:1::11]"},
		"requested twice, the same": {
			`{"args":{"cni":{"ips":["10.1.2.10"]}},"ipam":{"subnet":"10.1.2.0/24","rangeEnd":"10.1.2.10"}}`, "10.1.2.10/24",
			"[10.1.2.1-10.1.2.10] | [10.1.2.10]"},
		"args of others": {
			`{"args":{"labels":[1,2]},"ipam":{"subnet":"10.1.2.0/30"}}`, "", "[10.1.2.1-10.1.2.2] | []"},
		"nulls": {
			`{"args":null,"runtimeConfig":null,"ipam":{"subnet":"10.1.2.0/30","ranges":null,"routes":null}}`, "", "[10.1.2.1-10.1.2.2] | []"},
		"two of a family in 0.3.0": {
			`{"cniVersion":"0.3.0","ipam":{"ranges":[[{"subnet":"10.1.2.0/30"}],[{"subnet":"11.1.2.0/30"}]]}}`, "",
			"[10.1.2.1-10.1.2.2 11.1.2.1-11.1.2.2] | []"},
		"one of each in 0.2.0": {
			`{"cniVersion":"0.2.0","ipam":{"ranges":[[{"subnet":"10.1.2.0/30"}],[{"subnet":"2001:db8::/126"}]]}}`, "",
			"[10.1.2.1-10.1.2.2 2001:db8::1-2001:db8::3] | []"},

		"no ipam":           {`{}`, "", "!no ipam section"},
		"no ranges":         {`{"ipam":{}}`, "", "!no ranges"},
		"empty set":         {`{"ipam":{"ranges":[[]]}}`, "", "!range set 0: it is empty"},
		"bad set":           {`{"ipam":{"ranges":[[{"subnet":"10.1.2.0/24"}],[{"subnet":"10.1.2.3/24"}]]}}`, "", "!range set 1: subnet"},
		"sets overlap":      {`{"ipam":{"ranges":[[{"subnet":"10.1.2.0/24"},{"subnet":"10.2.2.0/24"}],[{"subnet":"10.1.4.0/24"},{"subnet":"10.1.2.0/24"}]]}}`, "", "!range set 0 (10.1.2.1-10.1.2.254,10.2.2.1-10.2.2.254) overlaps set 1"},
		"two in 0.2.0":      {`{"cniVersion":"0.2.0","ipam":{"ranges":[[{"subnet":"10.1.2.0/24"}],[{"subnet":"11.1.2.0/24"}]]}}`, "", "!only one address per family"},
		"no version is old": {`{"ipam":{"ranges":[[{"subnet":"10.1.2.0/24"}],[{"subnet":"11.1.2.0/24"}]]}}`, "", "!only one address per family"},
		"arg":               {`{"ipam":{"subnet":"10.1.2.0/24"}}`, "ten", `!IP in CNI_ARGS: "ten" is not`},
		"runtime's request": {`{"runtimeConfig":{"ips":["10.1.2.3/x"]},"ipam":{"subnet":"10.1.2.0/24"}}`, "", "!runtimeConfig.ips"},
		"args' request":     {`{"args":{"cni":{"ips":["10.1.2"]}},"ipam":{"subnet":"10.1.2.0/24"}}`, "", "!args.cni.ips"},
		"of no range":       {`{"ipam":{"subnet":"10.1.2.0/24","rangeEnd":"10.1.2.20"}}`, "10.1.2.21", "!10.1.2.21 is in none of the ranges"},
		"the gateway":       {`{"ipam":{"subnet":"10.1.2.0/24"}}`, "10.1.2.1", "!10.1.2.1 is the gateway"},
		"route to nowhere":  {`{"ipam":{"subnet":"10.1.2.0/24","routes":[{"dst":"0.0.0.0/0"},{"gw":"10.1.2.1"}]}}`, "", "!routes 1: dst is missing"},
		"no route":          {`{"ipam":{"subnet":"10.1.2.0/24","routes":[null]}}`, "", "!routes 0: dst is missing"},
		"two of one set":    {`{"runtimeConfig":{"ips":["10.1.2.3"]},"ipam":{"subnet":"10.1.2.0/24"}}`, "10.1.2.4", "!which gives one address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := parseWire(tt.conf)
			if err != nil {
				t.Fatal(err)
			}
			if w.CNIVersion == "" && name != "no version is old" {
				w.CNIVersion = "1.1.0"
			}
			c, err := w.Config(tt.arg)
			if want, fails := strings.CutPrefix(tt.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("got %v, want an error with %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%v | %v", c.Ranges, c.Requested); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if c.DataDir != DefaultDataDir {
				t.Errorf("data directory %q", c.DataDir)
			}
		})
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(`{"cniVersion":"1.1.0","ipam":{"ranges":[[{"subnet":"10.1.2.0/24","rangeStart":"10.1.2.9"}],[{"subnet":"2001:db8::/64"}]]}}`, "10.1.2.10")
	f.Add(`{"cniVersion":"0.2.0","ipam":{"subnet":"10.1.2.0/30","gateway":"10.1.2.2"}}`, "")
	f.Add(`{"args":{"cni":{"ips":["::ffff:10.1.2.10/24"]}},"runtimeConfig":{"ips":[""],"ipRanges":[[{}]]},"ipam":{}}`, "fe80::1%eth0")
	f.Fuzz(func(t *testing.T, conf, arg string) {
		w, err := parseWire(conf)
		if err != nil {
			return
		}
		c, err := w.Config(arg)
		if err != nil {
			return
		}
		wanted, err := assign(c.Ranges, c.Requested)
		if err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		for i, set := range c.Ranges {
			for _, r := range set {
				if !r.Subnet.Contains(r.Start) || !r.Subnet.Contains(r.End) || !r.Subnet.Contains(r.Gateway) || r.End.Less(r.Start) {
					t.Errorf("inconsistent range %+v", r)
				}
			}
			if w := wanted[i]; w.IsValid() {
				if r, ok := set.rangeOf(w); !ok || w == r.Gateway {
					t.Errorf("request %s can't be given of %s", w, set)
				}
			}
			n := 0
			for r, a := range set.after(wanted[i]) {
				if a == r.Gateway || !r.Contains(a) {
					t.Errorf("%s offered of %s", a, r)
				}
				if n++; n > 300 {
					break
				}
			}
		}
	})
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{"", "10.0.0.1", "10.0.0.1/24", "fd00::1/64", "fe80::1%lo", "::ffff:1.2.3.4", "1.2.3", "/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		addr, ok, err := ParseRequest(text)
		if ok != (err == nil && text != "") {
			t.Fatalf("ok %t with %v of %q", ok, err, text)
		}
		if !ok {
			return
		}
		if back, isLease := leaseAddr(addr.String()); !isLease || back != addr {
			t.Errorf("%q gives %s, which is no lease's name", text, addr)
		}
	})
}

package cni

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func fullEnv(verb Verb) map[string]string {
	return map[string]string{
		"CNI_COMMAND": string(verb), "CNI_CONTAINERID": "c1", "CNI_NETNS": "/run/netns/c1",
		"CNI_IFNAME": "eth0", "CNI_PATH": "/opt/cni/bin",
	}
}

const goodConf = `{"cniVersion":"1.1.0","name":"net","type":"toy"}`

func TestSpec07WhatEachVerbNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb   Verb
		remove []string
		names  []string // in the message; none: success
	}{
		{Add, nil, nil},
		{Add, []string{"CNI_CONTAINERID"}, []string{"CNI_CONTAINERID"}},
		{Add, []string{"CNI_NETNS", "CNI_IFNAME"}, []string{"CNI_NETNS", "CNI_IFNAME"}},
		{Check, []string{"CNI_NETNS"}, []string{"CNI_NETNS"}},
		{Del, []string{"CNI_NETNS", "CNI_PATH", "CNI_ARGS"}, nil},
		{Del, []string{"CNI_IFNAME"}, []string{"CNI_IFNAME"}},
		{Status, []string{"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"}, nil},
		{GC, []string{"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"}, nil},
		{"FROB", nil, []string{"FROB"}},
	} {
		vars := fullEnv(c.verb)
		for _, name := range c.remove {
			delete(vars, name)
		}
		_, err := readRequest(env(vars), strings.NewReader(goodConf))
		if len(c.names) == 0 {
			if err != nil {
				t.Errorf("%s without %v: %v", c.verb, c.remove, err)
			}
			continue
		}
		if err == nil || Code(err) != CodeEnvironment {
			t.Errorf("%s without %v: code %d, %v", c.verb, c.remove, Code(err), err)
			continue
		}
		for _, name := range c.names {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s without %v: %q does not name %s", c.verb, c.remove, err, name)
			}
		}
	}
}

func TestSpec40NamesAreValidated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, key, value, conf string
		code                   uint
	}{
		{"container with a slash", "CNI_CONTAINERID", "../x", goodConf, CodeEnvironment},
		{"container that begins with a dot", "CNI_CONTAINERID", ".hidden", goodConf, CodeEnvironment},
		{"container too long", "CNI_CONTAINERID", strings.Repeat("a", 256), goodConf, CodeEnvironment},
		{"interface too long", "CNI_IFNAME", "sixteen-chars-xx", goodConf, CodeEnvironment},
		{"interface with a colon", "CNI_IFNAME", "a:b", goodConf, CodeEnvironment},
		{"interface dot dot", "CNI_IFNAME", "..", goodConf, CodeEnvironment},
		{"interface with a blank", "CNI_IFNAME", "a b", goodConf, CodeEnvironment},
		{"network with a slash", "X", "", `{"cniVersion":"1.0.0","name":"a/b","type":"toy"}`, CodeConfig},
		{"network missing", "X", "", `{"cniVersion":"1.0.0","type":"toy"}`, CodeConfig},
		{"version unknown", "X", "", `{"cniVersion":"9.9.9","name":"n","type":"toy"}`, CodeVersion},
		{"no JSON", "X", "", `{`, CodeDecode},
		{"wrong type", "X", "", `{"cniVersion":"1.0.0","name":7}`, CodeDecode},
		{"an array", "X", "", `[]`, CodeDecode},
		{"ipam type with a slash", "X", "", `{"name":"n","ipam":{"type":"../../bin/sh"}}`, CodeConfig},
		{"prevResult of a wrong form", "X", "", `{"cniVersion":"1.0.0","name":"n","prevResult":{"ips":"x"}}`, CodeDecode},
	} {
		vars := fullEnv(Add)
		vars[c.key] = c.value
		_, err := readRequest(env(vars), strings.NewReader(c.conf))
		if err == nil || Code(err) != c.code {
			t.Errorf("%s: code %d (%v), want %d", c.name, Code(err), err, c.code)
		}
	}
}

func TestSpec02DELTakesAnyPrevResult(t *testing.T) {
	t.Parallel()
	for _, prev := range []string{`null`, `{"ips":"x"}`, `{}`, `{"cniVersion":"7"}`} {
		conf := `{"cniVersion":"1.0.0","name":"n","prevResult":` + prev + `}`
		if _, err := readRequest(env(fullEnv(Del)), strings.NewReader(conf)); err != nil {
			t.Errorf("prevResult %s: %v", prev, err)
		}
	}
}

func TestVerbsHaveTheirVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb    Verb
		version string
		ok      bool
	}{
		{Add, "0.1.0", true}, {Del, "0.2.0", true}, {Check, "0.3.1", false}, {Check, "0.4.0", true},
		{GC, "1.0.0", false}, {GC, "1.1.0", true}, {Status, "1.0.0", false}, {Status, "1.1.0", true},
	} {
		err := checkVersion(c.version, c.verb)
		if (err == nil) != c.ok || err != nil && Code(err) != CodeVersion {
			t.Errorf("%s at %s: %v", c.verb, c.version, err)
		}
	}
}

func TestRule22UnknownArgsAreIgnored(t *testing.T) {
	t.Parallel()
	vars := fullEnv(Add)
	vars["CNI_ARGS"] = "FOO=BAR;nonsense;=;IP=10.0.0.1;K8S_POD_NAME=a=b"
	r, err := readRequest(env(vars), strings.NewReader(goodConf))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Arg("ip"); got != "10.0.0.1" {
		t.Errorf("IP is %q", got)
	}
	if got := r.Arg("K8S_POD_NAME"); got != "a=b" {
		t.Errorf("K8S_POD_NAME is %q", got)
	}
	if got := r.Arg("ABSENT"); got != "" {
		t.Errorf("ABSENT is %q", got)
	}
}

// TestRule01HashIgnoresWhatTheRuntimeChanges: the order of keys, prevResult,
// runtimeConfig, args, the version and cni.dev/* leave the hash as it is;
// anything else changes it.
func TestRule01HashIgnoresWhatTheRuntimeChanges(t *testing.T) {
	t.Parallel()
	base, err := hashConf([]byte(`{"name":"n","type":"toy","mtu":1400,"ipam":{"type":"x","a":1,"b":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, same := range []string{
		`{"type":"toy","ipam":{"b":2,"a":1,"type":"x"},"mtu":1400,"name":"n"}`,
		`{"name":"n","type":"toy","mtu":1400,"ipam":{"type":"x","a":1,"b":2},"prevResult":{"x":1},"runtimeConfig":{"mac":"m"},"args":{"cni":{}},"cniVersion":"1.1.0","cni.dev/attachments":[]}`,
	} {
		if got, err := hashConf([]byte(same)); err != nil || got != base {
			t.Errorf("%s: %s, %v; want %s", same, got, err, base)
		}
	}
	for _, other := range []string{
		`{"name":"n","type":"toy","mtu":1401,"ipam":{"type":"x","a":1,"b":2}}`,
		`{"name":"n","type":"toy","mtu":1400,"ipam":{"type":"x","a":1,"b":3}}`,
	} {
		if got, err := hashConf([]byte(other)); err != nil || got == base {
			t.Errorf("%s: %s, %v", other, got, err)
		}
	}
}

func TestNamesAgreeWithTheSpecification(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9_.\-]{0,40}`).Draw(t, "good")
		if err := ValidateContainerID(s); err != nil {
			t.Fatal(err)
		}
		bad := s + rapid.SampledFrom([]string{"/", " ", "\n", ":", "é", "\x00"}).Draw(t, "bad")
		if ValidateContainerID(bad) == nil || ValidateNetworkName(bad) == nil {
			t.Fatalf("%q is accepted", bad)
		}
	})
}

func TestStdinIsBounded(t *testing.T) {
	t.Parallel()
	huge := `{"name":"` + strings.Repeat("x", stdinMax) + `"}`
	if _, err := readRequest(env(fullEnv(Add)), strings.NewReader(huge)); Code(err) != CodeDecode {
		t.Errorf("%v", err)
	}
	if _, err := readRequest(env(fullEnv(Add)), failingReader{}); Code(err) != CodeIO {
		t.Errorf("%v", err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("broken pipe") }

func FuzzStdin(f *testing.F) {
	f.Add([]byte(goodConf))
	f.Add([]byte(`{"cniVersion":"0.2.0","name":"n","prevResult":{"ip4":{"ip":"10.0.0.1/24"}}}`))
	f.Add([]byte(`{"cniVersion":"1.1.0","name":"n","cni.dev/valid-attachments":[{"containerID":"a","ifname":"b"}]}`))
	f.Fuzz(func(t *testing.T, stdin []byte) {
		for _, verb := range []Verb{Add, Del, GC} {
			conf, err := parseConf(stdin, verb)
			if err == nil && !validWord(conf.Name) {
				t.Fatalf("accepted the name %q", conf.Name)
			}
			if err != nil && Code(err) == CodeFailed {
				t.Fatalf("an error without a code: %v", err)
			}
		}
		a, errA := hashConf(stdin)
		b, errB := hashConf(stdin)
		if a != b || (errA == nil) != (errB == nil) {
			t.Fatal("the hash is not a function of its input")
		}
	})
}

func FuzzArgs(f *testing.F) {
	f.Add("IP=10.0.0.1;MAC=02:00:00:00:00:01", "IP")
	f.Add(";;==;a", "a")
	f.Fuzz(func(t *testing.T, args, key string) {
		r := &Request{Args: args}
		if value := r.Arg(key); value != "" && !strings.Contains(args, value) {
			t.Fatalf("%q of %q is %q", key, args, value)
		}
	})
}

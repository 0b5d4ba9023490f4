package cni

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
)

// results are one address, as each form of the protocol says it.
func results() map[string]string {
	const old = `{VERSION"ip4":{"ip":"10.9.0.5/24","gateway":"10.9.0.1","routes":[{"dst":"0.0.0.0/0"}]}}`
	const middle = `{VERSION"ips":[{"version":"4","address":"10.9.0.5/24","gateway":"10.9.0.1"}],"routes":[{"dst":"0.0.0.0/0"}]}`
	const late = `{VERSION"ips":[{"address":"10.9.0.5/24","gateway":"10.9.0.1"}],"routes":[{"dst":"0.0.0.0/0"}]}`
	return map[string]string{
		"0.1.0": old, "0.2.0": old, "0.3.0": middle, "0.3.1": middle, "0.4.0": middle, "1.0.0": late, "1.1.0": late,
	}
}

func wantResult(t *testing.T, r *current.Result, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
		return
	}
	if len(r.IPs) != 1 || r.IPs[0].Address.String() != "10.9.0.5/24" || r.IPs[0].Gateway.String() != "10.9.0.1" || len(r.Routes) != 1 {
		t.Errorf("got %v", r)
	}
}

// A result that names no version has the configuration's: that of every version,
// whether the name is missing, empty or null.
func TestResultWithoutVersionHasTheConfigurations(t *testing.T) {
	t.Parallel()
	for version, text := range results() {
		for _, said := range []string{"", `"cniVersion":"",`, `"cniVersion":null,`} {
			result := strings.Replace(text, "VERSION", said, 1)
			t.Run(version+" "+said, func(t *testing.T) {
				t.Parallel()
				r, err := parseResult([]byte(result), version)
				wantResult(t, r, err)
				for _, verb := range []Verb{Add, Check, Del} {
					if verb == Check && version < "0.4.0" {
						continue
					}
					c, err := parseConf(fmt.Appendf(nil, `{"cniVersion":%q,"name":"n","type":"toy","prevResult":%s}`, version, result), verb)
					wantResult(t, c.PrevResult, err)
				}
				r, err = addBy(t, result, version)
				wantResult(t, r, err)
			})
		}
	}
}

// addBy is an ADD by a plugin of another's that answers so.
func addBy(t *testing.T, result, version string) (*current.Result, error) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\ncat >/dev/null\ncat <<'EOF'\n" + result + "\nEOF\n"
	if err := os.WriteFile(filepath.Join(dir, "another"), []byte(script), 0o755); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	c := &caller{runner: newDesk(t).runner, path: []string{dir}}
	return c.add(t.Context(), "another", filepath.Join(dir, "another"), &Request{
		Verb: Add, ContainerID: "c1", Netns: "/run/netns/c1", IfName: "eth0", Path: []string{dir},
		Stdin: fmt.Appendf(nil, `{"cniVersion":%q,"name":"n","type":"toy"}`, version),
	})
}

// A result that names its version has that one, older or newer than the
// configuration's.
func TestResultHasItsOwnVersion(t *testing.T) {
	t.Parallel()
	for version, text := range results() {
		for other := range results() {
			r, err := parseResult([]byte(strings.Replace(text, "VERSION", fmt.Sprintf(`"cniVersion":%q,`, version), 1)), other)
			wantResult(t, r, err)
		}
	}
	for _, bad := range []string{`{"cniVersion":"9.9.9"}`, `{"cniVersion":3}`, `null`, `[]`, ``, `{"ips":3}`} {
		if r, err := parseResult([]byte(bad), "1.0.0"); err == nil {
			t.Errorf("%s: %v", bad, r)
		}
	}
}

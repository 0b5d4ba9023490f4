package cni

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// delegated is a delegate that keeps what it hears at GC.
func (d *desk) delegated(t *testing.T) (conf string, heard func() map[string]any) {
	t.Helper()
	bin := t.TempDir()
	script := "#!/bin/sh\n" + `[ "$CNI_COMMAND" = GC ] && exec cat > ` + d.dir + "/heard\n" +
		`[ "$CNI_COMMAND" = ADD ] && echo '{"cniVersion":"1.1.0","ips":[{"address":"10.0.0.2/24"}]}'; exit 0` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "recorder"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	d.vars["CNI_PATH"] = bin
	return `{"cniVersion":"1.1.0","name":"net","type":"toy","ipam":{"type":"recorder"}}`, func() map[string]any {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(d.dir, "heard"))
		if err != nil {
			t.Fatal(err)
		}
		var conf map[string]any
		if err := json.Unmarshal(data, &conf); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		return conf
	}
}

// TestRule15GCOfOneNetwork: another network's attachment by the same plugin is
// none of its business, be it forced.
func TestRule15GCOfOneNetwork(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if code, out := d.call(Add, goodConf); code != 0 {
		t.Fatal(out)
	}
	d.vars[forceGC] = "1"
	if code, out := d.call(GC, strings.Replace(goodConf, `"net"`, `"other"`, 1)); code != 0 || !d.made() || len(d.entries(t)) != 1 {
		t.Errorf("GC of another network: %d, %s; made %t", code, out, d.made())
	}
	if code, out := d.call(GC, goodConf); code != 0 || d.made() {
		t.Errorf("GC of its own: %d, %s", code, out)
	}
}

// TestRule15DelegateSparesWhatIsBusy: a call is at work on it, and so may the
// delegate be.
func TestRule15DelegateSparesWhatIsBusy(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	conf, heard := d.delegated(t)
	if code, out := d.call(Add, conf); code != 0 {
		t.Fatal(out)
	}
	entry, err := os.Open(d.entries(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	if err := unix.Flock(int(entry.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	d.vars[forceGC] = "1" // as if the namespace were gone
	if code, out := d.call(GC, conf); code != 0 || !d.made() {
		t.Fatalf("%d, %s; made %t", code, out, d.made())
	}
	for _, key := range []string{"cni.dev/valid-attachments", "cni.dev/attachments"} {
		if valid, _ := heard()[key].([]any); len(valid) != 1 {
			t.Errorf("the delegate is told to keep %v by %s", valid, key)
		}
	}
}

// TestGCTakesBothNames: the specification had the one first, and says the other
// now; libcni passes both.
func TestGCTakesBothNames(t *testing.T) {
	t.Parallel()
	const c1 = `[{"containerID":"c1","ifname":"eth0"}]`
	for name, c := range map[string]struct {
		keys string
		kept bool
	}{
		"valid-attachments":  {`"cni.dev/valid-attachments":` + c1, true},
		"attachments":        {`"cni.dev/attachments":` + c1, true},
		"both":               {`"cni.dev/attachments":` + c1 + `,"cni.dev/valid-attachments":` + c1, true},
		"either has it":      {`"cni.dev/attachments":` + c1 + `,"cni.dev/valid-attachments":[]`, true},
		"both null":          {`"cni.dev/attachments":null,"cni.dev/valid-attachments":null`, false},
		"both are of others": {`"cni.dev/attachments":[],"cni.dev/valid-attachments":[{"containerID":"c2","ifname":"eth0"}]`, false},
	} {
		d := newDesk(t)
		conf, heard := d.delegated(t)
		if code, out := d.call(Add, conf); code != 0 {
			t.Fatal(out)
		}
		d.vars[forceGC] = "1"
		code, out := d.call(GC, strings.TrimSuffix(conf, "}")+","+c.keys+"}")
		if code != 0 || d.made() != c.kept {
			t.Errorf("%s: %d, %s; kept %t", name, code, out, d.made())
		}
		if a, b := heard()["cni.dev/attachments"], heard()["cni.dev/valid-attachments"]; len(a.([]any)) != len(b.([]any)) {
			t.Errorf("%s: the delegate hears %v and %v", name, a, b)
		}
	}
}

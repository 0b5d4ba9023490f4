package hostdevice

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/cni/plantest"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/resource"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

func request(verb cni.Verb, keys string) *cni.Request {
	return &cni.Request{Verb: verb, Stdin: []byte(`{"name": "net", "type": "host-device"` + keys + `}`)}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{
		``:                             "no device is named",
		`, "device": ""`:               "no device is named",
		`, "device": "a/b"`:            "device",
		`, "hwaddr": "fish"`:           "hwaddr",
		`, "kernelpath": "pci0000:00"`: "kernelpath",
		`, "kernelpath": "/sys/devices/../class"`: "kernelpath",
		`, "kernelpath": "/sys/devices"`:          "kernelpath",
		`, "pciBusID": "../../x"`:                 "pciBusID",
		`, "runtimeConfig": {"deviceID": ".."}`:   "deviceID",
		`, "device": 7`:                           "device",
	} {
		_, err := parse(request(cni.Add, keys))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, which does not name %s", keys, err, want)
		}
	}
}

// TestCase07RefusedByADDNotByDEL: DEL without a journal looks for the device in
// the container alone then.
func TestCase07RefusedByADDNotByDEL(t *testing.T) {
	t.Parallel()
	plantest.Refuses(t, Plugin(), true, map[string]plantest.Refusal{
		"none":       {Code: cni.CodeConfig, Says: "no device is named"},
		"device":     {Conf: `, "device": "a/b"`, Code: cni.CodeConfig, Says: "device"},
		"hwaddr":     {Conf: `, "device": "ens5", "hwaddr": "zz"`, Code: cni.CodeConfig, Says: "hwaddr"},
		"kernelpath": {Conf: `, "kernelpath": "pci0000:00"`, Code: cni.CodeConfig, Says: "kernelpath"},
		"pciBusID":   {Conf: `, "pciBusID": "../../x"`, Code: cni.CodeConfig, Says: "pciBusID"},
		"deviceID":   {Conf: `, "runtimeConfig": {"deviceID": ".."}`, Code: cni.CodeConfig, Says: "deviceID"},
		"types":      {Conf: `, "device": 7`, Code: cni.CodeDecode, Says: "device"},
	})
	for _, verb := range []cni.Verb{cni.Del, cni.GC} {
		c, err := parse(request(verb, `, "device": "ens5", "hwaddr": "zz", "useInterfaceNetwork": true`))
		if err != nil || c.wanted() != (resource.DeviceSelector{}) || !c.UseInterfaceNetwork {
			t.Errorf("%s: %+v, %v", verb, c, err)
		}
	}
}

// TestOnlyADDNeedsTheDevice: a runtime that gives a device at ADD need not give
// it again.
func TestOnlyADDNeedsTheDevice(t *testing.T) {
	t.Parallel()
	for _, verb := range []cni.Verb{cni.Del, cni.Check, cni.Status, cni.GC} {
		if _, err := parse(request(verb, "")); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if _, err := parse(request(cni.Add, `, "runtimeConfig": {"deviceID": "0000:03:00.0"}`)); err != nil {
		t.Error(err)
	}
}

// TestDriverOfUserspace: what a program drives itself is neither moved nor
// configured, and DEL without a journal would look for the same.
func TestDriverOfUserspace(t *testing.T) {
	t.Parallel()
	conf := []byte(`{"name": "net", "type": "host-device", "cniVersion": "1.0.0", "pciBusID": "0000:03:00.1",
		"ipam": {"type": "static", "addresses": [{"address": "192.0.2.2/31"}]}}`)
	facts := cni.NewFacts(map[string]json.RawMessage{"host-device": json.RawMessage(`{"driver": "vfio-pci"}`)})
	ipam := cni.Know(&current.Result{IPs: []*current.IPConfig{{Address: net.IPNet{IP: net.IPv4(192, 0, 2, 2), Mask: net.CIDRMask(31, 32)}}}})
	list, err := cni.Plan(Plugin(), plantest.Request(conf), facts, ipam)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range list {
		switch r := r.(type) {
		case *resource.MovedDevice:
			if r.HostDevice.Driver != "vfio-pci" {
				t.Errorf("%+v", r)
			}
		case *resource.DeviceNetwork:
			if r.Driver != "vfio-pci" {
				t.Errorf("%+v", r)
			}
		default:
			if i < 2 || len(list) != 3 {
				t.Errorf("%s is planned", engine.RefOf(r))
			}
		}
	}
	unknown, err := cni.Plan(Plugin(), plantest.Request(conf), cni.Facts{}, cni.Known[*current.Result]{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range list {
		if engine.RefOf(r) != engine.RefOf(unknown[i]) {
			t.Errorf("%s is %s where nothing is known", engine.RefOf(r), engine.RefOf(unknown[i]))
		}
	}
}

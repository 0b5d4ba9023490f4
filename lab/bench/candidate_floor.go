package bench

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// Where the floor's masquerading is.
const (
	masqTable = "floor"
	masqSet   = "masqueraded"
)

// floor is lab/bench/floor. It has no part in a scenario that needs no kernel.
type floor struct{ path string }

func (floor) name() string         { return nameProcess }
func (floor) runs(s scenario) bool { return s.floor != nil }

// prepare makes what the plugins make at their first ADD and then leave.
func (floor) prepare(s scenario) error {
	if err := makeLeases(s.leases); err != nil {
		return err
	}
	if err := withHost(makeBridge); err != nil {
		return fmt.Errorf("the floor's bridge: %w", err)
	}
	return makeMasquerade()
}

func (f floor) process(s scenario, op operation, c *call) process {
	add, del := s.floor(c)
	p := process{path: f.path, args: del, env: c.environment(op, "/nowhere")}
	if op == opAdd {
		p.args = add
	}
	return p
}

// own is the time that the floor says it took itself.
func (floor) own(stdout []byte) (time.Duration, error) {
	ns, err := strconv.ParseInt(string(stdout), 10, 64)
	if err != nil {
		err = fmt.Errorf("the floor's time: %w", err)
	}
	return time.Duration(ns), err
}

// floorCalls gives the floor's arguments for ADD and for DEL.
type floorCalls func(c *call) (add, del []string)

func floorBridge(c *call) (add, del []string) {
	return []string{"bridge-add", bridgeName, c.hostIf, c.netns, "eth0", c.prefix(), gateway().String()},
		[]string{"bridge-del", c.hostIf}
}

func floorBridgeMasq(c *call) (add, del []string) {
	return []string{"bridge-masq-add", bridgeName, c.hostIf, c.netns, "eth0", c.prefix(), gateway().String(), masqTable, masqSet},
		[]string{"bridge-masq-del", c.hostIf, c.prefix(), masqTable, masqSet}
}

func floorPTP(c *call) (add, del []string) {
	return []string{"ptp-add", c.hostIf, c.netns, "eth0", c.prefix(), gateway().String()},
		[]string{"ptp-del", c.hostIf}
}

func floorPTPMasq(c *call) (add, del []string) {
	return []string{"ptp-masq-add", c.hostIf, c.netns, "eth0", c.prefix(), gateway().String(), masqTable, masqSet},
		[]string{"ptp-masq-del", c.hostIf, c.prefix(), masqTable, masqSet}
}

// floorChild is that of a plugin that makes one link in the container, on a
// master or none ("-").
func floorChild(kind, master string) floorCalls {
	return func(c *call) (add, del []string) {
		return []string{"child-add", kind, master, c.netns, "eth0", c.prefix(), gateway().String()},
			[]string{"child-del", c.netns, "eth0"}
	}
}

func floorLoopback(c *call) (add, del []string) {
	return []string{"loopback-add", c.netns}, []string{"loopback-del", c.netns}
}

func floorLease(c *call) (add, del []string) {
	file := filepath.Join(leaseDir, c.address.String())
	return []string{"lease-add", file, c.container, "eth0"}, []string{"lease-del", file}
}

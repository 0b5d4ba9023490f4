package bridge

import (
	"fmt"
	"net"
	"slices"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// vlanMax is the highest VLAN that may be used: 4095 is reserved (IEEE 802.1Q).
const vlanMax = 4094

// config is what the README documents, key by key.
type config struct {
	Bridge                    string      `json:"bridge"`
	IsGateway                 bool        `json:"isGateway"`
	IsDefaultGateway          bool        `json:"isDefaultGateway"`
	ForceAddress              bool        `json:"forceAddress"`
	IPMasq                    bool        `json:"ipMasq"`
	IPMasqBackend             *string     `json:"ipMasqBackend"`
	MTU                       int         `json:"mtu"`
	HairpinMode               bool        `json:"hairpinMode"`
	PromiscMode               bool        `json:"promiscMode"`
	VLAN                      int         `json:"vlan"`
	VLANTrunk                 []trunkItem `json:"vlanTrunk"`
	PreserveDefaultVLAN       bool        `json:"preserveDefaultVlan"`
	MACSpoofCheck             bool        `json:"macspoofchk"`
	EnableDAD                 bool        `json:"enabledad"`
	DisableContainerInterface bool        `json:"disableContainerInterface"`
	PortIsolation             bool        `json:"portIsolation"`

	Args struct {
		CNI struct {
			MAC string `json:"mac"`
		} `json:"cni"`
	} `json:"args"`
	RuntimeConfig struct {
		MAC string `json:"mac"`
	} `json:"runtimeConfig"`

	mac   net.HardwareAddr
	trunk []uint16
}

// trunkItem is one VLAN, or a range of them, or both.
type trunkItem struct {
	MinID *int `json:"minID"`
	MaxID *int `json:"maxID"`
	ID    *int `json:"id"`
}

func parse(req *cni.Request) (*config, error) {
	c := &config{Bridge: "cni0"}
	if err := req.Decode(c); err != nil {
		return nil, err
	}
	if req.Removes() {
		// What ADD refuses, or has come to, must not keep what is there. Nothing
		// that is removed goes by the values that are checked below.
		return c, nil
	}
	if c.IsDefaultGateway {
		c.IsGateway = true
	}
	for _, step := range []func(*cni.Request) error{c.checkNames, c.checkModes, c.readVLANs, c.readMAC} {
		if err := step(req); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *config) checkNames(*cni.Request) error {
	if err := cni.ValidateIfName(c.Bridge); err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	if c.VLAN != 0 && c.IsGateway {
		name := resource.NewVLANGateway(c.Bridge, uint16(c.VLAN), "").Name()
		if err := cni.ValidateIfName(name); err != nil {
			return fmt.Errorf("the gateway of vlan %d: %w", c.VLAN, err)
		}
	}
	return nil
}

func (c *config) checkModes(req *cni.Request) error {
	switch {
	case c.HairpinMode && c.PromiscMode:
		return cni.Errorf(cni.CodeConfig, "hairpinMode and promiscMode can't both be set")
	case c.DisableContainerInterface && req.Conf.IPAM.Type != "":
		return cni.Errorf(cni.CodeConfig, "disableContainerInterface leaves nothing to give an address to: ipam can't be set too")
	}
	if err := cni.ValidateMTU(c.MTU); err != nil {
		return err
	}
	return cni.ValidateMasqBackend(c.IPMasqBackend)
}

func (c *config) readVLANs(*cni.Request) error {
	if c.VLAN < 0 || c.VLAN > vlanMax {
		return cni.Errorf(cni.CodeConfig, "vlan %d is not within 0 and %d", c.VLAN, vlanMax)
	}
	seen := map[uint16]bool{}
	for n, item := range c.VLANTrunk {
		ids, err := item.ids()
		if err != nil {
			return cni.Errorf(cni.CodeConfig, "vlanTrunk[%d]: %w", n, err)
		}
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				c.trunk = append(c.trunk, id)
			}
		}
	}
	slices.Sort(c.trunk)
	return nil
}

func (t trunkItem) ids() ([]uint16, error) {
	var ids []uint16
	switch {
	case t.MinID != nil && t.MaxID != nil:
		if *t.MinID < 1 || *t.MaxID > vlanMax || *t.MinID > *t.MaxID {
			return nil, fmt.Errorf("minID %d to maxID %d is no range within 1 and %d", *t.MinID, *t.MaxID, vlanMax)
		}
		for id := *t.MinID; id <= *t.MaxID; id++ {
			ids = append(ids, uint16(id))
		}
	case t.MinID != nil:
		return nil, fmt.Errorf("minID goes with maxID")
	case t.MaxID != nil:
		return nil, fmt.Errorf("maxID goes with minID")
	}
	if t.ID != nil {
		if *t.ID < 1 || *t.ID > vlanMax {
			return nil, fmt.Errorf("id %d is not within 1 and %d", *t.ID, vlanMax)
		}
		ids = append(ids, uint16(*t.ID))
	}
	return ids, nil
}

// readMAC: the runtime's word counts most, that of CNI_ARGS least.
func (c *config) readMAC(req *cni.Request) error {
	mac := req.Arg("MAC")
	if c.Args.CNI.MAC != "" {
		mac = c.Args.CNI.MAC
	}
	if c.RuntimeConfig.MAC != "" {
		mac = c.RuntimeConfig.MAC
	}
	var err error
	c.mac, err = cni.ParseMAC(mac)
	return err
}

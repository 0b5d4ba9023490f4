package tuning

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// defaultDataDir is where the reference suite keeps the old values of links.
const defaultDataDir = "/run/cni/tuning"

// config is what the README documents, key by key.
type config struct {
	DataDir  string `json:"dataDir"`
	Sysctl   params `json:"sysctl"`
	MAC      string `json:"mac"`
	Promisc  bool   `json:"promisc"`
	MTU      int    `json:"mtu"`
	TxQLen   *int   `json:"txQLen"`
	AllMulti *bool  `json:"allmulti"`

	RuntimeConfig struct {
		MAC string `json:"mac"`
	} `json:"runtimeConfig"`
	Args struct {
		CNI struct {
			Sysctl   params  `json:"sysctl"`
			MAC      *string `json:"mac"`
			Promisc  *bool   `json:"promisc"`
			MTU      *int    `json:"mtu"`
			TxQLen   *int    `json:"txQLen"`
			AllMulti *bool   `json:"allmulti"`
		} `json:"cni"`
	} `json:"args"`

	sysctls []sysctl
	// attrs are the values of the link that are asked for.
	attrs map[resource.Attribute]string
}

func parse(req *cni.Request) (*config, error) {
	c := &config{}
	if err := req.Decode(c); err != nil {
		return nil, err
	}
	if c.DataDir == "" {
		c.DataDir = defaultDataDir
	}
	c.takeArgs(req)
	for _, step := range []func(*cni.Request) error{c.checkDataDir, c.readSysctls, c.readAttrs} {
		// A removal goes by what could be read.
		if err := step(req); err != nil && !req.Removes() {
			return nil, err
		}
	}
	return c, nil
}

// checkDataDir empties one that can't be.
func (c *config) checkDataDir(*cni.Request) error {
	dir := c.DataDir
	if filepath.IsAbs(dir) {
		return nil
	}
	c.DataDir = ""
	return fmt.Errorf("dataDir %q is no absolute path", dir)
}

func (c *config) readSysctls(req *cni.Request) (err error) {
	c.sysctls, err = merge(c.Sysctl, c.Args.CNI.Sysctl, req.IfName)
	return err
}

// takeArgs: what args.cni says counts most; of MAC addresses then the
// runtime's, then that of CNI_ARGS.
func (c *config) takeArgs(req *cni.Request) {
	args := c.Args.CNI
	for _, mac := range []string{req.Arg("MAC"), c.RuntimeConfig.MAC} {
		if mac != "" {
			c.MAC = mac
		}
	}
	override(&c.MAC, args.MAC)
	override(&c.Promisc, args.Promisc)
	override(&c.MTU, args.MTU)
	if args.TxQLen != nil {
		c.TxQLen = args.TxQLen
	}
	if args.AllMulti != nil {
		c.AllMulti = args.AllMulti
	}
}

func override[T any](value, by *T) {
	if by != nil {
		*value = *by
	}
}

func (c *config) readAttrs(*cni.Request) error {
	c.attrs = map[resource.Attribute]string{}
	mac, err := cni.ParseMAC(c.MAC)
	if err != nil {
		return fmt.Errorf("mac: %w", err)
	}
	if mac != nil {
		c.attrs[resource.AttrMAC] = mac.String()
	}
	if c.MTU < 0 || c.MTU > math.MaxInt32 {
		return fmt.Errorf("mtu %d is not within 0 and %d", c.MTU, math.MaxInt32)
	}
	if c.MTU != 0 {
		c.attrs[resource.AttrMTU] = fmt.Sprint(c.MTU)
	}
	if c.Promisc {
		c.attrs[resource.AttrPromisc] = "true"
	}
	if c.AllMulti != nil {
		c.attrs[resource.AttrAllMulti] = fmt.Sprint(*c.AllMulti)
	}
	if c.TxQLen == nil {
		return nil
	}
	if *c.TxQLen < 0 || *c.TxQLen > math.MaxInt32 {
		return fmt.Errorf("txQLen %d is not within 0 and %d", *c.TxQLen, math.MaxInt32)
	}
	c.attrs[resource.AttrTxQLen] = fmt.Sprint(*c.TxQLen)
	return nil
}

package resource

import (
	"fmt"
	"strconv"

	"github.com/fairlead-net/fairlead/kernel"
)

// Attribute is something of a link that has a value, told as text.
type Attribute string

// The attributes, and their values.
const (
	AttrMAC      Attribute = "mac"      // 02:00:00:00:00:01
	AttrMTU      Attribute = "mtu"      // bytes
	AttrPromisc  Attribute = "promisc"  // true or false
	AttrAllMulti Attribute = "allmulti" // true or false
	AttrTxQLen   Attribute = "txqlen"   // packets
)

// Attributes are all of them, in the order in which they are set.
func Attributes() []Attribute {
	return []Attribute{AttrMAC, AttrPromisc, AttrMTU, AttrAllMulti, AttrTxQLen}
}

// words is the attribute in messages.
func (a Attribute) words() string {
	switch a {
	case AttrMAC:
		return "the MAC address"
	case AttrMTU:
		return "the mtu"
	case AttrPromisc:
		return "promiscuous mode"
	case AttrAllMulti:
		return "all-multicast mode"
	case AttrTxQLen:
		return "the transmit queue length"
	}
	return string(a)
}

// of is the link's value.
func (a Attribute) of(link kernel.Link) string {
	switch a {
	case AttrMAC:
		return link.MAC.String()
	case AttrMTU:
		return strconv.Itoa(link.MTU)
	case AttrPromisc:
		return strconv.FormatBool(link.Promisc)
	case AttrAllMulti:
		return strconv.FormatBool(link.AllMulti)
	case AttrTxQLen:
		return strconv.Itoa(link.TxQLen)
	}
	return ""
}

// change is what sets the value.
func (a Attribute) change(value string) (c kernel.LinkChange, err error) {
	number, flag := 0, false
	switch a {
	case AttrMAC:
		c.MAC, err = parseMAC(value)
	case AttrMTU:
		number, err = strconv.Atoi(value)
		c.MTU = &number
	case AttrTxQLen:
		number, err = strconv.Atoi(value)
		c.TxQLen = &number
	case AttrPromisc:
		flag, err = strconv.ParseBool(value)
		c.Promisc = &flag
	case AttrAllMulti:
		flag, err = strconv.ParseBool(value)
		c.AllMulti = &flag
	default:
		err = fmt.Errorf("links have no attribute %q", a)
	}
	return c, err
}

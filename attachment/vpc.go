package attachment

import (
	"crypto/sha256"
	"strings"
)

// vpcNameMax is what is left of IFNAMSIZ for the ID of a VPC.
const vpcNameMax = 15 - len("vpc-")

// VRFOfVPC is the name of the VRF of a VPC on every node: "vpc-" and its ID,
// where that fits, else "vpc_" and a hash of it.
func VRFOfVPC(vpc string) string {
	if len(vpc) <= vpcNameMax {
		return "vpc-" + vpc
	}
	return "vpc_" + hash32(vpc)[:vpcNameMax]
}

// TapOfVPC is the name of the tap device of an attachment of a VPC: it does not
// depend on the container, since a virtual machine outlives its sandbox.
func TapOfVPC(vpc, attachment string) string {
	return "tap" + hash32(vpc, attachment)[:12]
}

// GuestVeth is the name that the guest's end of the attachment's veth pair has
// on the host, where it is made there.
func (o Owner) GuestVeth() string { return "vg" + string(o[:13]) }

// AliasIn is Alias with the attachment of a VPC named as well, as one word
// "VPC/ATTACHMENT".
func (id ID) AliasIn(vpc, attachment string) string {
	alias := aliasPrefix + string(id.Owner()) + " " + id.Container + "/" + id.IfName + " " + vpc + "/" + attachment + " " + id.Network
	return alias[:min(len(alias), aliasMax)]
}

// InVPC tells whether an alias is of the attachment of the VPC, whatever
// container it is in.
func InVPC(alias, vpc, attachment string) bool {
	_, ok := OwnerOfAlias(alias)
	words := strings.Fields(alias)
	return ok && len(words) > 2 && words[2] == vpc+"/"+attachment
}

// Number is a number of 32 bits for a text: a hash, the first bytes of its
// SHA-256.
func Number(text string) uint32 {
	sum := sha256.Sum256([]byte(text))
	return uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
}

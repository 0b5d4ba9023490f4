package kernel

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// NftSupported finds out whether this kernel has nftables and lets us use it:
// nil, or an error that Unsupported may be asked about.
func (n *Namespace) NftSupported() error {
	return n.call("nft.generation", "", func() error {
		return n.nftGet(newNftRequest(unix.NFT_MSG_GETGEN, 0, 0), nil)
	})
}

// NftTable looks a table up.
func (n *Namespace) NftTable(id NftTableID) (NftTable, bool, error) {
	var t NftTable
	ok, err := n.nftLookUp("nft.table", id.String(), ObjectTable, func() error {
		r := newNftRequest(unix.NFT_MSG_GETTABLE, 0, id.Family)
		r.str(unix.NFTA_TABLE_NAME, id.Name)
		return n.nftGet(r, func(b []byte) (err error) {
			t, err = decodeTable(b)
			return err
		})
	})
	return t, ok, err
}

// NftChain looks a chain up.
func (n *Namespace) NftChain(id NftChainID) (NftChain, bool, error) {
	var c NftChain
	ok, err := n.nftLookUp("nft.chain", id.String(), ObjectChain, func() error {
		r := newNftRequest(unix.NFT_MSG_GETCHAIN, 0, id.Table.Family)
		r.str(unix.NFTA_CHAIN_TABLE, id.Table.Name)
		r.str(unix.NFTA_CHAIN_NAME, id.Name)
		return n.nftGet(r, func(b []byte) (err error) {
			c, err = decodeChain(b)
			return err
		})
	})
	return c, ok, err
}

// NftRule looks a rule up by its handle.
func (n *Namespace) NftRule(c NftChainID, handle uint64) (NftRule, bool, error) {
	var rule NftRule
	ok, err := n.nftLookUp("nft.rule", fmt.Sprintf("%s handle %d", c, handle), ObjectNftRule, func() error {
		r := newNftRequest(unix.NFT_MSG_GETRULE, 0, c.Table.Family)
		r.str(unix.NFTA_RULE_TABLE, c.Table.Name)
		r.str(unix.NFTA_RULE_CHAIN, c.Name)
		r.be64(unix.NFTA_RULE_HANDLE, handle)
		return n.nftGet(r, func(b []byte) (err error) {
			rule, _, err = decodeRule(b, nil)
			return err
		})
	})
	return rule, ok, err
}

func (n *Namespace) nftLookUp(op, object string, k Object, f func() error) (bool, error) {
	err := n.call(op, object, f)
	if Absent(k, err) {
		return false, nil
	}
	return err == nil, err
}

// NftRules lists the rules of a chain in their order; a chain that is not there
// has none. With keep, only those whose comment it accepts: the others cost
// little. The list is complete, or there is an error. (The comments of iptables
// extensions are not what keep is shown.)
func (n *Namespace) NftRules(c NftChainID, keep func(comment string) bool) ([]NftRule, error) {
	var rules []NftRule
	err := n.call("nft.rules", c.String(), func() error {
		r := newNftRequest(unix.NFT_MSG_GETRULE, 0, c.Table.Family)
		r.str(unix.NFTA_RULE_TABLE, c.Table.Name)
		r.str(unix.NFTA_RULE_CHAIN, c.Name)
		return n.nftDump(r, func() { rules = nil }, func(b []byte) error {
			rule, kept, err := decodeRule(b, keep)
			if kept {
				rules = append(rules, rule)
			}
			return err
		})
	})
	if Absent(ObjectChain, err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return rules, nil
}

package resource

import (
	"context"
	"fmt"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// SpoofCheck lets through a bridge, from one of its ports, only what has the
// port's MAC address as its source. It is written as the reference's bridge
// plugin writes it, which found it in libvirt and ebtables: a chain for the
// interface, a chain for its address, and a jump to them from a
// SpoofCheckTable.
type SpoofCheck struct {
	Container string `json:"container"`
	IfName    string `json:"ifName"`
	Link      string `json:"link"` // the port: the host's end of the veth
	// MAC is the container's. "": not known.
	MAC string `json:"mac,omitempty"`

	// Handle is the jump that Create made, as the kernel calls it: a hint.
	Handle uint64 `json:"handle,omitempty"`
}

// NewSpoofCheck is the check of an attachment, upon the host's end of its veth.
func NewSpoofCheck(id attachment.ID, link, mac string) *SpoofCheck {
	return &SpoofCheck{Container: id.Container, IfName: id.IfName, Link: link, MAC: mac}
}

const spoofCheckKind = "spoofcheck.1"

func (s *SpoofCheck) Kind() string       { return spoofCheckKind }
func (s *SpoofCheck) Key() string        { return s.id() }
func (s *SpoofCheck) Within() engine.Ref { return "" }

// The longest name that nftables takes for a chain, and what is around the ID
// in one.
const (
	nftNameMax   = 127
	spoofPrefix  = "cni-br-iface-"
	spoofSuffix  = "-mac"
	spoofComment = "macspoofchk-"
)

// id is the reference's name for the attachment. One too long for a chain's
// name the reference refuses; we cut it.
func (s *SpoofCheck) id() string {
	id := s.Container + "-" + s.IfName
	if most := nftNameMax - len(spoofPrefix+spoofSuffix); len(id) > most {
		digest := attachment.Digest(id)
		return id[:most-len(digest)-1] + "-" + digest
	}
	return id
}

func (s *SpoofCheck) comment() string { return spoofComment + s.id() }

func (s *SpoofCheck) ifaceChain() kernel.NftChainID { return spoofTable().Chain(spoofPrefix + s.id()) }
func (s *SpoofCheck) macChain() kernel.NftChainID {
	return spoofTable().Chain(spoofPrefix + s.id() + spoofSuffix)
}

// jump leads from the port to the checks.
func (s *SpoofCheck) jump() kernel.NftRule {
	return kernel.NftRule{
		Comment: s.comment(),
		Match:   kernel.NftMatch{IifName: s.Link},
		Action:  kernel.NftAction{Verb: kernel.NftJump, Chain: s.ifaceChain().Name},
	}
}

// checks are the rules of the two chains.
func (s *SpoofCheck) checks() (iface, mac []kernel.NftRule) {
	rule := func(m kernel.NftMatch, a kernel.NftAction) kernel.NftRule {
		return kernel.NftRule{Comment: s.comment(), Match: m, Action: a}
	}
	iface = []kernel.NftRule{rule(kernel.NftMatch{}, kernel.NftAction{Verb: kernel.NftJump, Chain: s.macChain().Name})}
	return iface, []kernel.NftRule{
		rule(kernel.NftMatch{EtherSource: s.MAC}, kernel.NftAction{Verb: kernel.NftReturn}),
		rule(kernel.NftMatch{}, kernel.NftAction{Verb: kernel.NftDrop}),
	}
}

// Ready tells whether this node has nftables.
func (s *SpoofCheck) Ready(_ context.Context, env Env) error { return env.Host.NftSupported() }

// Create makes all in one transaction, which the chains' names make exclusive.
func (s *SpoofCheck) Create(ctx context.Context, env Env) error {
	if s.MAC == "" || s.Link == "" {
		return fmt.Errorf("nothing to check: interface %q, MAC address %q", s.Link, s.MAC)
	}
	err := s.make(env.Host, &kernel.NftTx{})
	if kernel.Exists(err) {
		// The name is the attachment's, so what is there is left of it.
		if err = s.Remove(ctx, env); err == nil {
			err = s.make(env.Host, &kernel.NftTx{})
		}
	}
	if kernel.Absent(kernel.ObjectChain, err) {
		// Somebody flushed the rule set since the table was made.
		var tx kernel.NftTx
		addSpoofTable(&tx)
		err = s.make(env.Host, &tx)
	}
	return unsure(err)
}

// make adds the chains to what is in tx, and commits it.
func (s *SpoofCheck) make(ns *kernel.Namespace, tx *kernel.NftTx) error {
	iface, mac := s.checks()
	jump := s.jump()
	tx.NewChain(kernel.NftChain{NftChainID: s.ifaceChain()})
	tx.NewChain(kernel.NftChain{NftChainID: s.macChain()})
	tx.AddRule(spoofBase(), &jump)
	for i := range iface {
		tx.AddRule(s.ifaceChain(), &iface[i])
	}
	for i := range mac {
		tx.AddRule(s.macChain(), &mac[i])
	}
	if err := ns.NftCommit(s.comment(), tx); err != nil {
		return err
	}
	s.Handle = jump.Handle
	return nil
}

// findJumps gives the rules that lead to the checks: by its handle the one that
// Create made; else those that carry our mark.
func (s *SpoofCheck) findJumps(ns *kernel.Namespace) ([]kernel.NftRule, error) {
	mine := func(comment string) bool { return comment == s.comment() }
	if s.Handle != 0 {
		// In a table that was made anew the handle may be another's.
		r, ok, err := ns.NftRule(spoofBase(), s.Handle)
		if err != nil {
			return nil, err
		}
		if ok && mine(r.Comment) {
			return []kernel.NftRule{r}, nil
		}
	}
	return ns.NftRules(spoofBase(), mine)
}

func (s *SpoofCheck) Observe(_ context.Context, env Env) (engine.State, error) {
	iface, mac, err := s.chains(env.Host)
	if kernel.Unsupported(err) {
		return engine.Absent(), nil
	}
	if err != nil {
		return engine.State{}, err
	}
	jumps, err := s.findJumps(env.Host)
	if err != nil {
		return engine.State{}, err
	}
	if !iface && !mac && len(jumps) == 0 {
		return engine.Absent(), nil
	}
	var d drift
	if s.Link == "" {
		d.add("it is not known which interface is to be checked")
		return d.state(), nil
	}
	d.nftRules(spoofBase(), jumps, []kernel.NftRule{s.jump()})
	wantIface, wantMAC := s.checks()
	if err := d.nftChain(env.Host, s.ifaceChain(), wantIface, false); err != nil {
		return engine.State{}, err
	}
	if err := d.nftChain(env.Host, s.macChain(), wantMAC, s.MAC == ""); err != nil {
		return engine.State{}, err
	}
	return d.state(), nil
}

// nftChain compares a chain with the rules wanted in it; with anyMAC, whatever
// address it is for.
func (d *drift) nftChain(ns *kernel.Namespace, chain kernel.NftChainID, want []kernel.NftRule, anyMAC bool) error {
	rules, err := ns.NftRules(chain, nil)
	if err != nil {
		return err
	}
	for i := range rules {
		if anyMAC {
			rules[i].Match.EtherSource = ""
		}
	}
	d.nftRules(chain, rules, want)
	return nil
}

// nftRules compares rules of a chain with those wanted, order included.
func (d *drift) nftRules(chain kernel.NftChainID, rules, want []kernel.NftRule) {
	same := len(rules) == len(want)
	for i := 0; same && i < len(want); i++ {
		r := rules[i]
		r.Handle = 0
		same = r == want[i]
	}
	if !same {
		d.add("the rules in %s are not as they were made", chain)
	}
}

// chains tells which of the two chains are there.
func (s *SpoofCheck) chains(ns *kernel.Namespace) (iface, mac bool, err error) {
	if _, iface, err = ns.NftChain(s.ifaceChain()); err != nil {
		return false, false, err
	}
	_, mac, err = ns.NftChain(s.macChain())
	return iface, mac, err
}

// Remove deletes chains and jumps in one transaction. Without the chain nothing
// can jump to it: then there is nothing to seek in the base chain.
func (s *SpoofCheck) Remove(_ context.Context, env Env) error {
	var failed error
	for range tries {
		iface, mac, err := s.chains(env.Host)
		if kernel.Unsupported(err) || err == nil && !iface && !mac {
			return nil
		}
		if err != nil {
			return err
		}
		var tx kernel.NftTx
		if iface {
			jumps, err := s.findJumps(env.Host)
			if err != nil {
				return err
			}
			for _, j := range jumps {
				tx.DeleteRule(spoofBase(), j.Handle)
			}
			tx.DeleteChain(s.ifaceChain())
		}
		if mac {
			tx.DeleteChain(s.macChain())
		}
		failed = env.Host.NftCommit(s.comment(), &tx)
		if !kernel.Busy(failed) && !kernel.Absent(kernel.ObjectChain, failed) {
			return failed
		}
		// Another call was at it meanwhile, or another rule jumps there than
		// the hint says.
		s.Handle = 0
	}
	return failed
}

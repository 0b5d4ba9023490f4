package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// NftTx is a transaction: what is in it is done by NftCommit wholly, or not at
// all. The zero value is an empty one.
type NftTx struct {
	steps []nftStep
	err   error
}

type nftStep struct {
	what string // for errors
	req  *request
	rule *NftRule // gets the handle
}

// Empty tells whether nothing is in it.
func (t *NftTx) Empty() bool { return len(t.steps) == 0 }

func (t *NftTx) add(what string, msg, flags uint16, f NftFamily, put func(r *request) error) {
	r := newNftRequest(msg, flags, f)
	if err := put(r); err != nil && t.err == nil {
		t.err = fmt.Errorf("%s: %w", what, err)
	}
	t.steps = append(t.steps, nftStep{what: what, req: r})
}

// AddTable makes a table if there is none of that name.
func (t *NftTx) AddTable(tb NftTable) {
	t.add("add table", unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE, tb.Family, func(r *request) error {
		r.str(unix.NFTA_TABLE_NAME, tb.Name)
		r.be32(unix.NFTA_TABLE_FLAGS, tb.Flags)
		if tb.Comment == "" {
			return nil
		}
		return r.comment(nftaTableUserdata, tb.Comment)
	})
}

// AddChain makes a chain if there is none of that name. One that is there with
// another hook is an error (EOPNOTSUPP where it has none); its rules stay.
func (t *NftTx) AddChain(c NftChain) { t.addChain(c, 0) }

// NewChain makes a chain that must not be there (EEXIST).
func (t *NftTx) NewChain(c NftChain) { t.addChain(c, unix.NLM_F_EXCL) }

func (t *NftTx) addChain(c NftChain, flags uint16) {
	t.add("add chain "+c.Name, unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE|flags, c.Table.Family, func(r *request) error {
		r.str(unix.NFTA_CHAIN_TABLE, c.Table.Name)
		r.str(unix.NFTA_CHAIN_NAME, c.Name)
		if h := c.Hook; h != nil {
			r.nest(unix.NFTA_CHAIN_HOOK|unix.NLA_F_NESTED, func() {
				r.be32(unix.NFTA_HOOK_HOOKNUM, h.Number)
				r.be32(unix.NFTA_HOOK_PRIORITY, uint32(h.Priority))
			})
			r.be32(unix.NFTA_CHAIN_POLICY, h.Policy)
			r.str(unix.NFTA_CHAIN_TYPE, h.Type)
		}
		if c.Comment == "" {
			return nil
		}
		return r.comment(nftaChainUserdata, c.Comment)
	})
}

// AddRule puts a rule at the end of a chain. NftCommit fills in its handle.
func (t *NftTx) AddRule(c NftChainID, rule *NftRule) {
	flags := uint16(unix.NLM_F_CREATE | unix.NLM_F_APPEND | unix.NLM_F_ECHO)
	t.add("add rule in "+c.Name, unix.NFT_MSG_NEWRULE, flags, c.Table.Family, func(r *request) error {
		putChain(r, c)
		return r.rule(c.Table.Family, *rule)
	})
	t.steps[len(t.steps)-1].rule = rule
}

// DeleteRule deletes a rule, which must be there.
func (t *NftTx) DeleteRule(c NftChainID, handle uint64) {
	t.add("delete rule in "+c.Name, unix.NFT_MSG_DELRULE, 0, c.Table.Family, func(r *request) error {
		if handle == 0 {
			return fmt.Errorf("no handle") // the kernel would delete all
		}
		putChain(r, c)
		r.be64(unix.NFTA_RULE_HANDLE, handle)
		return nil
	})
}

// FlushChain deletes all rules of a chain, which must be there.
func (t *NftTx) FlushChain(c NftChainID) {
	t.add("flush chain "+c.Name, unix.NFT_MSG_DELRULE, 0, c.Table.Family, func(r *request) error {
		putChain(r, c)
		return nil
	})
}

func putChain(r *request, c NftChainID) {
	r.str(unix.NFTA_RULE_TABLE, c.Table.Name)
	r.str(unix.NFTA_RULE_CHAIN, c.Name)
}

// DeleteChain deletes a chain with its rules. It must be there, and none may
// jump to it (EBUSY).
func (t *NftTx) DeleteChain(c NftChainID) { t.deleteChain(c, 0) }

// DeleteEmptyChain deletes a chain that must have no rules, and that none may
// jump to (EBUSY).
func (t *NftTx) DeleteEmptyChain(c NftChainID) { t.deleteChain(c, unix.NLM_F_NONREC) }

func (t *NftTx) deleteChain(c NftChainID, flags uint16) {
	t.add("delete chain "+c.Name, unix.NFT_MSG_DELCHAIN, flags, c.Table.Family, func(r *request) error {
		r.str(unix.NFTA_CHAIN_TABLE, c.Table.Name)
		r.str(unix.NFTA_CHAIN_NAME, c.Name)
		return nil
	})
}

// DeleteEmptyTable deletes a table that must have nothing in it (EBUSY).
func (t *NftTx) DeleteEmptyTable(id NftTableID) {
	t.add("delete table", unix.NFT_MSG_DELTABLE, unix.NLM_F_NONREC, id.Family, func(r *request) error {
		r.str(unix.NFTA_TABLE_NAME, id.Name)
		return nil
	})
}

// NftCommit carries a transaction out. about names it in errors. If the answer
// is lost (Unanswered) it may have been done.
func (n *Namespace) NftCommit(about string, t *NftTx) error {
	return n.call("nft.commit", about, func() error {
		if t.err != nil {
			return t.err
		}
		if t.Empty() {
			return nil
		}
		return n.withNft(t.commit)
	})
}

// commit sends all in one message, between a begin and an end. Only the last
// step asks for an acknowledgement: the kernel answers in order, and to others
// only if they fail.
func (t *NftTx) commit(s *socket) (clean bool, err error) {
	last := t.steps[len(t.steps)-1].req
	binary.NativeEndian.PutUint16(last.b[6:], last.flags()|unix.NLM_F_ACK)
	first := s.seq + 1
	var out []byte
	put := func(r *request) {
		s.seq++
		binary.NativeEndian.PutUint32(r.b[0:], uint32(len(r.b)))
		binary.NativeEndian.PutUint32(r.b[8:], s.seq)
		binary.NativeEndian.PutUint32(r.b[12:], s.pid)
		out = append(out, r.b...)
	}
	put(newRequest(unix.NFNL_MSG_BATCH_BEGIN, 0, nfgenmsg(0, unix.NFNL_SUBSYS_NFTABLES)))
	for _, step := range t.steps {
		put(step.req)
	}
	put(newRequest(unix.NFNL_MSG_BATCH_END, 0, nfgenmsg(0, unix.NFNL_SUBSYS_NFTABLES)))
	if err := s.send(out); err != nil {
		return true, err
	}
	a := nftAnswer{tx: t, first: first, pid: s.pid}
	for !a.done {
		b, err := s.receive()
		if err == nil {
			err = a.read(b)
		}
		if err != nil {
			return false, unanswered(err)
		}
	}
	return !a.refused, a.err
}

// nftAnswer collects what comes back for a transaction.
type nftAnswer struct {
	tx         *NftTx
	first, pid uint32 // sequence number of the begin
	done       bool
	refused    bool // as a whole; answers to single steps may follow
	err        error
}

func (a *nftAnswer) read(b []byte) error {
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(b[0:]))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return errMalformed
		}
		seq, pid := binary.NativeEndian.Uint32(b[8:]), binary.NativeEndian.Uint32(b[12:])
		step := int64(seq) - int64(a.first) - 1
		if pid == a.pid && step >= -1 && step < int64(len(a.tx.steps)) {
			err := a.message(int(step), binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint16(b[6:]), b[unix.SizeofNlMsghdr:size])
			if err != nil {
				return err
			}
		}
		b = b[min(align(size), len(b)):]
	}
	return nil
}

func (a *nftAnswer) message(step int, typ, flags uint16, b []byte) error {
	switch typ {
	case unix.NLMSG_ERROR:
		if len(b) < 4 {
			return errMalformed
		}
		err := verdict(typ, flags, b)
		var e *Error
		if errors.As(err, &e) && step >= 0 {
			e.Message = joinWords(a.tx.steps[step].what, e.Message)
		}
		if a.err == nil {
			a.err = err
		}
		a.refused = a.refused || step < 0 && err != nil
		a.done = a.done || a.refused || step == len(a.tx.steps)-1
	case nftType(unix.NFT_MSG_NEWRULE):
		if step < 0 || a.tx.steps[step].rule == nil {
			return nil
		}
		echo, _, err := decodeRule(b, func(string) bool { return false })
		a.tx.steps[step].rule.Handle = echo.Handle
		return err
	}
	return nil
}

func joinWords(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}

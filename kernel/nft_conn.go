package kernel

import (
	"encoding/binary"
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// nftDumpTries is how often an interrupted list of rules is begun anew: each
// commit of anybody in the namespace interrupts those being read.
const nftDumpTries = 64

// nftConn is the NETLINK_NETFILTER socket of a namespace. It is kept, not
// opened for each call: closing one waits until the kernel has freed what was
// deleted before, which takes as long as an RCU grace period.
type nftConn struct {
	mu     sync.Mutex // held through an exchange
	sock   *socket    // opened by the first call
	closed bool
}

// nfgenmsg is the fixed part of a message; res is big endian.
func nfgenmsg(f NftFamily, res uint16) []byte {
	return []byte{byte(f), unix.NFNETLINK_V0, byte(res >> 8), byte(res)}
}

func nftType(msg uint16) uint16 { return unix.NFNL_SUBSYS_NFTABLES<<8 | msg }

func newNftRequest(msg, flags uint16, f NftFamily) *request {
	return newRequest(nftType(msg), flags, nfgenmsg(f, 0))
}

// withNft calls f with the socket, and drops the socket where f left answers
// in it.
func (n *Namespace) withNft(f func(s *socket) (clean bool, err error)) error {
	n.nft.mu.Lock()
	defer n.nft.mu.Unlock()
	if n.nft.closed {
		return errors.New("the namespace was closed")
	}
	if n.nft.sock == nil {
		err := n.do(func() (err error) {
			n.nft.sock, err = openSocket(unix.NETLINK_NETFILTER)
			return err
		})
		if err != nil {
			return err
		}
	}
	clean, err := f(n.nft.sock)
	if !clean {
		n.nft.sock.close()
		n.nft.sock = nil
	}
	return err
}

// closeNft closes the socket for good; Close calls it.
func (n *Namespace) closeNft() {
	n.nft.mu.Lock()
	defer n.nft.mu.Unlock()
	n.nft.closed = true
	if n.nft.sock != nil {
		n.nft.sock.close()
		n.nft.sock = nil
	}
}

// nftExchange sends a request that is no transaction and reads the answer.
func (n *Namespace) nftExchange(r *request, each func(b []byte) error) error {
	return n.withNft(func(s *socket) (bool, error) { return s.exchange(r, each) })
}

// nftGet asks for one object. A kernel that has nfnetlink without nf_tables
// says EINVAL to whatever is asked; that is made plain as EOPNOTSUPP.
func (n *Namespace) nftGet(r *request, each func(b []byte) error) error {
	err := n.nftExchange(r, each)
	if errnoOf(err) != unix.EINVAL || Unanswered(err) {
		return err
	}
	// This one can't be wrong in itself.
	return nftMeaning(err, n.nftExchange(newNftRequest(unix.NFT_MSG_GETGEN, 0, 0), nil))
}

// nftMeaning judges an EINVAL by the answer to a question that is surely valid.
func nftMeaning(err, probe error) error {
	if errnoOf(probe) == unix.EINVAL && !Unanswered(probe) {
		return &Error{Errno: unix.EOPNOTSUPP, Message: "this kernel has no nf_tables"}
	}
	return err
}

// nftDump calls each for all objects, from the start again if the list changed
// while it was read: begin is called before each try.
func (n *Namespace) nftDump(r *request, begin func(), each func(b []byte) error) error {
	binary.NativeEndian.PutUint16(r.b[6:], r.flags()|unix.NLM_F_DUMP)
	for try := 1; ; try++ {
		begin()
		err := n.nftGet(r, each)
		if !Interrupted(err) || try == nftDumpTries {
			return err
		}
	}
}

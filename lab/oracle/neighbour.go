package oracle

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// neighbour is an entry of a neighbour or forwarding table.
type neighbour struct {
	index int32
	state uint16
	flags byte
	attrs table
}

func decodeNeighbour(data []byte) (neighbour, error) {
	head, t, err := headed(data, unix.SizeofNdMsg)
	if err != nil {
		return neighbour{}, err
	}
	return neighbour{int32(native32(head, 4)), native16(head, 8), head[10], t}, nil
}

// neighbours tells those that somebody has set: the permanent, the proxied, the
// forwarding tables.
func (ns *netns) neighbours() error {
	for _, flags := range []byte{0, unix.NTF_PROXY} {
		body := make([]byte, unix.SizeofNdMsg)
		body[10] = flags
		answer, err := ns.conn.dump(unix.RTM_GETNEIGH, body)
		if err != nil {
			return fmt.Errorf("neighbours: %w", err)
		}
		for _, m := range answer {
			n, err := decodeNeighbour(m.data)
			if err != nil {
				return fmt.Errorf("neighbours: %w", err)
			}
			ns.tellNeighbour(n)
		}
	}
	return ns.forwarding()
}

func (ns *netns) tellNeighbour(n neighbour) {
	var value []string
	switch {
	case n.flags&unix.NTF_PROXY != 0:
		value = []string{"proxy"}
	case n.state&unix.NUD_PERMANENT != 0:
		value = []string{mac(n.attrs[unix.NDA_LLADDR])}
	default:
		return // learned, and forgotten again
	}
	if n.flags&unix.NTF_ROUTER != 0 {
		value = append(value, "router")
	}
	ns.tell("neighbour", n.attrs.addr(unix.NDA_DST)+" dev "+ns.linkName(n.index), strings.Join(value, " "))
}

package oracle

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/fairlead-net/fairlead/lab/host"
)

// mount is one line of mountinfo.
type mount struct {
	id, root, at string
	kind, source string
}

// mountsOf lists the mounts of a host, in the order of their making.
func mountsOf(h *host.Host) (list []mount, err error) {
	var b []byte
	h.Do(func() { b, err = os.ReadFile("/proc/thread-self/mountinfo") })
	if err != nil {
		return nil, fmt.Errorf("mounts: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		m, ok := parseMount(line)
		if !ok {
			return nil, fmt.Errorf("mounts: can't read %q", line)
		}
		list = append(list, m)
	}
	return list, nil
}

func parseMount(line string) (m mount, ok bool) {
	head, tail, ok := strings.Cut(line, " - ")
	fields, of := strings.Fields(head), strings.Fields(tail)
	if !ok || len(fields) < 6 || len(of) < 2 {
		return m, false
	}
	return mount{
		id: fields[0], root: unescape(fields[3]), at: unescape(fields[4]),
		kind: of[0], source: unescape(of[1]),
	}, true
}

// unescape reads the octal numbers that stand for blanks and the like.
func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		n, err := strconv.ParseUint(after[:min(3, len(after))], 8, 8)
		if err != nil {
			b.WriteByte('\\')
			s = after
			continue
		}
		b.WriteByte(byte(n))
		s = after[3:]
	}
}

// mountFacts tells what was mounted since the host was made, but for network
// namespaces, which tell it themselves, and what of its first mounts is gone.
func mountFacts(h *host.Host, mounts []mount) []fact {
	born := h.Born()
	var facts []fact
	tell := func(at, value string) {
		facts = append(facts, fact{Item: Item{Kind: "mount", Where: hostName, Name: at, Value: value}})
	}
	for _, m := range mounts {
		if at, ok := born[m.id]; ok && unescape(at) == m.at {
			delete(born, m.id)
			continue
		}
		_, network := netnsInode(m.root)
		switch {
		case m.kind == "nsfs" && network:
		case m.kind == "nsfs":
			kind, _, _ := strings.Cut(m.root, ":")
			tell(m.at, kind+" namespace")
		default:
			tell(m.at, fmt.Sprintf("%s of %s from %s", m.root, m.kind, m.source))
		}
	}
	for _, at := range born {
		tell(unescape(at), "unmounted")
	}
	return facts
}

// holdNamespaces are the mount points of namespaces: they are told as such, and
// are no files.
func holdNamespaces(mounts []mount) map[string]bool {
	at := map[string]bool{}
	for _, m := range mounts {
		if m.kind == "nsfs" {
			at[m.at] = true
		}
	}
	return at
}

package inject

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// manyMessages is how many of a batch are spelled out in its line.
const manyMessages = 24

// decodeSocket decodes sends and receives.
func (c *Call) decodeSocket(e *Event) error {
	e.Kind, e.Text = KindSocket, e.Call+" socket"
	fd, err := c.duplicate(int(int32(c.Args[0])))
	if err != nil {
		e.Text = e.Call // of no descriptor: the kernel will say so
		return nil
	}
	defer unix.Close(fd)
	socket, err := c.session.socket(fd)
	if err != nil {
		return err
	}
	e.Netns, e.Protocol = socket.Cookie, socket.Protocol
	if !socket.netlink() {
		e.Text = e.Call + " " + domainName(socket.Domain)
		return nil
	}
	e.Kind = KindNetlink
	if e.Receive {
		e.Netlink = c.session.requests[socket.self]
		e.Text = strings.TrimSpace("receive " + netlinkText(socket.Protocol, e.Netlink))
		return nil
	}
	sent, err := c.sent()
	if err != nil {
		return c.because(err)
	}
	e.Size = len(sent)
	e.Netlink = Messages(sent)
	d := describer{
		link:   func(index int) string { return c.linkName(fd, socket.Cookie, index) },
		family: c.session.familyName,
	}
	for i := range e.Netlink {
		d.describe(&e.Netlink[i], socket.Protocol)
	}
	for _, m := range e.Netlink {
		if socket.Protocol == unix.NETLINK_ROUTE && m.changesLink() {
			c.session.renamed(socket.Cookie, m.LinkIndex())
		}
	}
	if len(c.session.requests) > 1<<12 {
		clear(c.session.requests) // of sockets long closed, most of them
	}
	c.session.requests[socket.self] = e.Netlink
	e.Text = netlinkText(socket.Protocol, e.Netlink)
	return nil
}

// netlinkText joins what messages say; the ends of a batch say nothing.
func netlinkText(protocol int, all []Message) string {
	var texts []string
	more := 0
	for _, m := range all {
		switch {
		case m.Text == "":
		case len(texts) == manyMessages:
			more++
		default:
			texts = append(texts, m.Text)
		}
	}
	if len(texts) == 0 && len(all) > 0 {
		texts = []string{"empty batch"}
	}
	text := protocolName(protocol) + " " + strings.Join(texts, "; ")
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return strings.TrimSpace(text)
}

func protocolName(p int) string {
	name, ok := map[int]string{
		unix.NETLINK_ROUTE: "route", unix.NETLINK_NETFILTER: "netfilter", unix.NETLINK_GENERIC: "generic",
		unix.NETLINK_SOCK_DIAG: "sock_diag", unix.NETLINK_XFRM: "xfrm", unix.NETLINK_AUDIT: "audit",
		unix.NETLINK_KOBJECT_UEVENT: "uevent",
	}[p]
	if !ok {
		return fmt.Sprintf("netlink-%d", p)
	}
	return name
}

func domainName(d int) string {
	name, ok := map[int]string{
		unix.AF_UNIX: "unix", unix.AF_INET: "inet", unix.AF_INET6: "inet6", unix.AF_PACKET: "packet", unix.AF_VSOCK: "vsock",
	}[d]
	if !ok {
		return fmt.Sprintf("socket-%d", d)
	}
	return name
}

// A describer says what messages mean.
type describer struct {
	link   func(index int) string
	family func(id uint16) string
}

// describe fills in what an Event knows of a message.
func (d describer) describe(m *Message, protocol int) {
	switch {
	case m.Type < unix.NLMSG_MIN_TYPE:
		m.Name = fmt.Sprintf("control-%d", m.Type)
		m.Text = m.Name
	case protocol == unix.NETLINK_ROUTE:
		d.route(m)
	case protocol == unix.NETLINK_NETFILTER:
		netfilter(m)
	case protocol == unix.NETLINK_GENERIC:
		d.generic(m)
	default:
		m.Name = fmt.Sprintf("type-%d", m.Type)
		m.Text = m.Name
	}
}

// generic describes a message of generic netlink: family and command.
func (d describer) generic(m *Message) {
	const size = 4 // struct genlmsghdr
	if len(m.Body) < size {
		return
	}
	m.Name = fmt.Sprintf("%s-%d", d.family(m.Type), m.Body[0])
	if m.Type == unix.GENL_ID_CTRL && m.Body[0] == unix.CTRL_CMD_GETFAMILY {
		m.Name = "CTRL_CMD_GETFAMILY"
	}
	m.Text = m.Name
	if name, ok := m.Attributes(size)[unix.CTRL_ATTR_FAMILY_NAME]; ok && m.Type == unix.GENL_ID_CTRL {
		m.Text += " name=" + cString(name)
	}
	if m.Flags&unix.NLM_F_DUMP == unix.NLM_F_DUMP {
		m.Text += " dump"
	}
}

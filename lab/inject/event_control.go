package inject

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// replaceTable is IPT_SO_SET_REPLACE, and IP6T_SO_SET_REPLACE.
const replaceTable = 64

// deviceRequests are the ioctls that change devices.
func deviceRequests() []bit {
	return []bit{
		{unix.TUNSETIFF, "TUNSETIFF"}, {unix.TUNSETPERSIST, "TUNSETPERSIST"},
		{unix.TUNSETOWNER, "TUNSETOWNER"}, {unix.TUNSETGROUP, "TUNSETGROUP"},
		{unix.SIOCSIFFLAGS, "SIOCSIFFLAGS"}, {unix.SIOCSIFMTU, "SIOCSIFMTU"},
		{unix.SIOCSIFNAME, "SIOCSIFNAME"}, {unix.SIOCSIFHWADDR, "SIOCSIFHWADDR"}, {unix.SIOCSIFADDR, "SIOCSIFADDR"},
		{unix.SIOCBRADDBR, "SIOCBRADDBR"}, {unix.SIOCBRDELBR, "SIOCBRDELBR"},
		{unix.SIOCBRADDIF, "SIOCBRADDIF"}, {unix.SIOCBRDELIF, "SIOCBRDELIF"},
	}
}

// decodeControl decodes ioctl and setsockopt.
func (c *Call) decodeControl(e *Event) {
	e.Kind = KindControl
	if c.Number == unix.SYS_SETSOCKOPT {
		e.Flags = int(c.Args[2])
		e.Text = fmt.Sprintf("setsockopt level %d option %d", c.Args[1], c.Args[2])
		if c.Args[1] == unix.SOL_IP || c.Args[1] == unix.SOL_IPV6 {
			// struct ipt_replace begins with the table's name
			e.Text = map[bool]string{true: "iptables", false: "ip6tables"}[c.Args[1] == unix.SOL_IP] +
				" replace table=" + c.text(c.Args[3])
		}
		return
	}
	e.Flags, e.Path = int(c.Args[1]), c.leadsTo(int(int32(c.Args[0])))
	e.Text = "ioctl"
	for _, r := range deviceRequests() {
		if r.value != e.Flags {
			continue
		}
		e.Text += " " + r.name
		switch r.value {
		case unix.TUNSETPERSIST, unix.TUNSETOWNER, unix.TUNSETGROUP:
			e.Text += fmt.Sprintf(" %d", int32(c.Args[2]))
		default: // struct ifreq begins with the name
			if name, err := c.read(c.Args[2], unix.IFNAMSIZ); err == nil {
				e.Text += " name=" + cString(name)
			}
		}
	}
}

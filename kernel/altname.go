package kernel

import "golang.org/x/sys/unix"

// AddAltName gives a link another name. It is an error (Exists) when a link of
// the namespace, this one too, has it.
func (n *Namespace) AddAltName(index int, name string) error {
	return n.call("altname.add", name, func() error {
		return n.change(altName(unix.RTM_NEWLINKPROP, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_APPEND, index, name))
	})
}

// DelAltName takes another name away. It is false when the link had none such.
func (n *Namespace) DelAltName(index int, name string) (bool, error) {
	err := n.call("altname.del", name, func() error {
		return n.change(altName(unix.RTM_DELLINKPROP, 0, index, name))
	})
	// EINVAL: the name is another link's, or the one that this one goes by.
	if errno, ok := answered(err); ok && (errno == unix.ENOENT || errno == unix.EINVAL) {
		return false, nil
	}
	return err == nil, err
}

func altName(typ, flags uint16, index int, name string) *request {
	r := newRequest(typ, flags, ifInfo(index, 0, 0))
	r.nest(unix.IFLA_PROP_LIST|unix.NLA_F_NESTED, func() { r.str(unix.IFLA_ALT_IFNAME, name) })
	return r
}

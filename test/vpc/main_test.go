package vpc

import (
	"strings"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// conf is an attachment of a VPC, without addresses.
func conf(vpc, attachment string, pairs ...any) host.Config {
	return host.Config{
		"cniVersion": "1.1.0", "name": "net-" + vpc, "type": "vpc", "vpc": vpc, "attachment": attachment,
	}.With(pairs...)
}

// addresses are given by static, each with the first of its network as gateway.
func addresses(all ...string) map[string]any {
	var list, routes []any
	for _, a := range all {
		gateway, _, _ := strings.Cut(a, "/")
		sep, dst := ".", "0.0.0.0/0"
		if strings.Contains(a, ":") {
			sep, dst = ":", "::/0"
		}
		gateway = gateway[:strings.LastIndex(gateway, sep)+1] + "1"
		list = append(list, map[string]any{"address": a, "gateway": gateway})
		routes = append(routes, map[string]any{"dst": dst})
	}
	return map[string]any{"type": "static", "addresses": list, "routes": routes}
}

// stays is what an attachment leaves: what the kernel makes with the first VRF
// of a namespace.
func stays(f host.Fact) bool {
	return host.Standing(f) || f.Sort == "rule" && strings.Contains(f.Detail, "l3mdev")
}

// attach is an attachment to be made, with Fairlead's own delegates.
func attach(t testing.TB, h *host.Host, c host.Config) host.Attachment {
	t.Helper()
	return h.Attach(host.Build(t), c, "eth0")
}

func healthy(t testing.TB, a host.Attachment, r host.Result) {
	t.Helper()
	if o := a.Check(r); !o.OK() {
		t.Errorf("CHECK of %s: %s%s", a.Container, o.Stdout, o.Stderr)
	}
}

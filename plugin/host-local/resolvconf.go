package hostlocal

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/fairlead-net/fairlead/resource"
)

const (
	factResolvConf = "resolv.conf"
	// maxResolvConf bounds what is read of a file of the administrator's, in
	// bytes.
	maxResolvConf = 1 << 20
)

// resolvConf is the fact that resolvConf names: the node's DNS settings.
type resolvConf struct{ path string }

func (f resolvConf) Name() string { return factResolvConf }
func (f resolvConf) Lock() string { return "" }

func (f resolvConf) Find(context.Context, resource.Env) (any, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("resolvConf: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxResolvConf))
	if err != nil {
		return nil, fmt.Errorf("resolvConf: %w", err)
	}
	return parseResolvConf(string(data)), nil
}

// parseResolvConf reads resolv.conf(5). Of several domain lines the last one
// counts; the others add up. What it does not know it passes over.
func parseResolvConf(text string) types.DNS {
	var dns types.DNS
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0][0] == '#' || words[0][0] == ';' {
			continue
		}
		switch words[0] {
		case "nameserver":
			dns.Nameservers = append(dns.Nameservers, words[1])
		case "domain":
			dns.Domain = words[1]
		case "search":
			dns.Search = append(dns.Search, words[1:]...)
		case "options":
			dns.Options = append(dns.Options, words[1:]...)
		}
	}
	return dns
}

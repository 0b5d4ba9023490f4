package cni

import (
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/resource"
)

// ValidateMasqBackend checks ipMasqBackend; nil leaves the choice to us.
func ValidateMasqBackend(backend *string) error {
	if backend == nil || *backend == resource.BackendNftables || *backend == resource.BackendIPTables {
		return nil
	}
	return Errorf(CodeUnsupportedField, "ipMasqBackend %q is neither %s nor %s", *backend, resource.BackendNftables, resource.BackendIPTables)
}

// Masquerade states what ipMasq means for an IPAM result: by nftables, unless
// iptables is asked for by name (rule 20).
func Masquerade(req *Request, backend *string, ipam Known[*current.Result]) ([]resource.Resource, error) {
	m := resource.NewMasquerade(req.ID())
	if result, known := ipam.Get(); known {
		var err error
		if m.Addresses, err = prefixes(result.IPs); err != nil {
			return nil, err
		}
	}
	if backend != nil {
		m.Backend = *backend
	}
	if m.Backend == resource.BackendIPTables {
		return []resource.Resource{m}, nil
	}
	return []resource.Resource{&resource.MasqueradeTable{}, m}, nil
}

package resource

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// The backends of Masquerade, by the names that ipMasqBackend has for them.
const (
	BackendNftables = "nftables"
	BackendIPTables = "iptables"
)

// Masquerade gives what an attachment sends beyond its networks the address of
// the interface that it leaves the host by. It is written as the reference
// plugins write it, so that either suite removes what the other made (rule 13);
// with nftables, beside a MasqueradeTable.
type Masquerade struct {
	Network   string `json:"network"`
	Container string `json:"container"`
	IfName    string `json:"ifName"`
	// Backend is BackendNftables or BackendIPTables; "" is the former.
	Backend string `json:"backend,omitempty"`
	// Addresses are the attachment's, each with the length of its network's
	// prefix. None: not known.
	Addresses []netip.Prefix `json:"addresses,omitempty"`

	// Handles are the rules that Create made, as the kernel calls them: a hint.
	Handles []uint64 `json:"handles,omitempty"`
}

// NewMasquerade is an attachment's masquerading by nftables.
func NewMasquerade(id attachment.ID, addresses ...netip.Prefix) *Masquerade {
	return &Masquerade{Network: id.Network, Container: id.Container, IfName: id.IfName, Addresses: addresses}
}

const masqueradeKind = "masquerade.1"

func (m *Masquerade) Kind() string       { return masqueradeKind }
func (m *Masquerade) Key() string        { return m.Network + "/" + m.Container + "/" + m.IfName }
func (m *Masquerade) Within() engine.Ref { return "" }

// AnySuites implements AnySuites: the rules are in the reference's format.
func (m *Masquerade) AnySuites() {}

// Ready tells whether this node has what the backend needs.
func (m *Masquerade) Ready(_ context.Context, env Env) error {
	if m.Backend == BackendIPTables {
		return kernel.IPTablesInstalled()
	}
	return needNft(env.Host.NftSupported())
}

// needNft says what to do about a kernel without nftables.
func needNft(err error) error {
	if kernel.Unsupported(err) {
		return fmt.Errorf("this kernel has no nftables (ipMasqBackend may say iptables): %w", err)
	}
	return err
}

// Create does not look first: nobody else makes rules with this owner's mark.
func (m *Masquerade) Create(ctx context.Context, env Env) error {
	switch m.Backend {
	case "", BackendNftables:
		return m.createNft(env.Host)
	case BackendIPTables:
		return m.createIPTables(ctx, env.Host)
	}
	return fmt.Errorf("no such masquerading backend: %q", m.Backend)
}

// Observe looks for both backends' rules, whichever is asked for now: the
// reference chooses another one than we do.
func (m *Masquerade) Observe(ctx context.Context, env Env) (engine.State, error) {
	rules, _, err := m.findNft(env.Host)
	if err != nil && !kernel.Unsupported(err) {
		return engine.State{}, err
	}
	if len(rules) > 0 {
		return m.compareNft(rules), nil
	}
	return m.observeIPTables(ctx, env.Host)
}

// Remove takes away both backends' rules. If those that Create made are found
// by their handles, these are all.
func (m *Masquerade) Remove(ctx context.Context, env Env) error {
	sure, err := m.removeNft(env.Host)
	if sure {
		return err
	}
	return errors.Join(err, m.removeIPTables(ctx, env.Host))
}

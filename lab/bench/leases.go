package bench

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
)

// leaseAddress is the address number i that host-local hands out; the subnet's
// own and the gateway's are left out.
func leaseAddress(i int) netip.Addr {
	a := subnet().Addr().As4()
	n := i + 2
	a[2], a[3] = byte(n>>8), byte(n)
	return netip.AddrFrom4(a)
}

// makeLeases writes n leases of other containers as host-local keeps them: a
// file for each address, with the container and the interface in it, and the
// address that was given out last, after which the search for the next begins.
func makeLeases(n int) error {
	if err := os.MkdirAll(leaseDir, 0o755); err != nil {
		return err
	}
	for i := range n {
		content := fmt.Sprintf("%064x\r\neth0", i)
		if err := os.WriteFile(filepath.Join(leaseDir, leaseAddress(i).String()), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	last := leaseAddress(n - 1).String()
	return os.WriteFile(filepath.Join(leaseDir, "last_reserved_ip.0"), []byte(last), 0o600)
}

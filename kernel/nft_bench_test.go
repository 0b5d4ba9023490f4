package kernel

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkNft measures the calls that ADD and DEL make, beside others' rules:
// what grows with them is the kernel's own work (a chain is laid out anew by
// each commit, and a handle is sought along it).
func BenchmarkNft(b *testing.B) {
	for _, others := range []int{0, 1000, 10000} {
		n := nftNamespace(b)
		fill(b, n, others)
		b.Run(fmt.Sprintf("others=%d/add+get+delete", others), func(b *testing.B) {
			for b.Loop() {
				r := NftRule{Comment: "ours", Action: NftAction{Verb: NftMasquerade}, Match: NftMatch{Source: NftWithin(prefix("10.0.0.1/32"))}}
				commit(b, n, func(tx *NftTx) { tx.AddRule(testChain, &r) })
				if _, ok, err := n.NftRule(testChain, r.Handle); !ok || err != nil {
					b.Fatal(ok, err)
				}
				commit(b, n, func(tx *NftTx) { tx.DeleteRule(testChain, r.Handle) })
			}
		})
		b.Run(fmt.Sprintf("others=%d/chain", others), func(b *testing.B) {
			for b.Loop() {
				if _, ok, err := n.NftChain(testChain); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
		b.Run(fmt.Sprintf("others=%d/walk", others), func(b *testing.B) {
			for b.Loop() {
				if _, err := n.NftRules(testChain, func(c string) bool { return c == "ours" }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("socket", func(b *testing.B) {
		n := nftNamespace(b)
		for b.Loop() {
			n.nft.sock = nil
			if err := n.NftSupported(); err != nil {
				b.Fatal(err)
			}
			n.nft.sock.close()
		}
		n.nft.sock = nil
	})
}

func fill(b *testing.B, n *Namespace, rules int) {
	b.Helper()
	commit(b, n, func(tx *NftTx) {
		tx.AddTable(NftTable{NftTableID: testTable})
		tx.AddChain(NftChain{NftChainID: testChain})
		base := NftChain{NftChainID: testTable.Chain("base"), Hook: &NftHook{Type: "nat", Number: unix.NF_INET_POST_ROUTING, Priority: 100, Policy: 1}}
		tx.AddChain(base)
		tx.AddRule(base.NftChainID, &NftRule{Action: NftAction{Verb: NftGoto, Chain: testChain.Name}})
	})
	for done := 0; done < rules; {
		commit(b, n, func(tx *NftTx) {
			for range 200 {
				done++
				tx.AddRule(testChain, &NftRule{
					Comment: fmt.Sprintf("%0100d", done),
					Match:   NftMatch{Source: NftWithin(prefix("10.0.0.1/32")), Destination: NftOutside(prefix("10.0.0.0/24"))},
					Action:  NftAction{Verb: NftMasquerade},
				})
			}
		})
	}
}

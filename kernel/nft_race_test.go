package kernel

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
)

// Lists are complete, or an error, while others add and delete at the list's head
// and tail.
func TestNftRulesWhileOthersCommit(t *testing.T) {
	t.Parallel()
	const steady = 500
	n := nftNamespace(t)
	commit(t, n, func(tx *NftTx) {
		tx.AddTable(NftTable{NftTableID: testTable})
		tx.AddChain(NftChain{NftChainID: testChain})
		for i := range steady {
			if i == steady/2 {
				tx.AddRule(testChain, &NftRule{Comment: "sought"})
			}
			tx.AddRule(testChain, &NftRule{Comment: fmt.Sprint("steady ", i)})
		}
	})
	stop := make(chan struct{})
	var churn sync.WaitGroup
	for range 4 {
		churn.Go(func() {
			// A view of its own, so that commits and lists overlap.
			other, _, err := Open(n.Path())
			if err != nil {
				t.Error(err)
				return
			}
			defer other.Close()
			for {
				select {
				case <-stop:
					return
				default:
				}
				r := NftRule{Comment: "churn"}
				var add, del NftTx
				add.AddRule(testChain, &r)
				if err := other.NftCommit("churn", &add); err != nil {
					t.Error(err)
				}
				del.DeleteRule(testChain, r.Handle)
				if err := other.NftCommit("churn", &del); err != nil {
					t.Error(err)
				}
			}
		})
	}
	complete := 0
	for range 50 {
		got, err := n.NftRules(testChain, func(c string) bool { return c != "churn" })
		switch {
		case Interrupted(err) && len(got) == 0: // the others were quicker, each time
		case err != nil || len(got) != steady+1:
			t.Errorf("%d rules, %v; want %d", len(got), err, steady+1)
		default:
			complete++
		}
	}
	close(stop)
	churn.Wait()
	if complete == 0 {
		t.Error("no list was read in peace, of 50")
	}
}

func TestNftManyAtOnce(t *testing.T) {
	t.Parallel()
	n := nftNamespace(t)
	var all sync.WaitGroup
	handles := make([]uint64, 32)
	for i := range handles {
		all.Go(func() {
			r := NftRule{Comment: fmt.Sprint("rule ", i), Action: NftAction{Verb: NftAccept}}
			var tx NftTx
			tx.AddTable(NftTable{NftTableID: testTable})
			tx.AddChain(NftChain{NftChainID: testChain})
			tx.AddRule(testChain, &r)
			if err := n.NftCommit("test", &tx); err != nil {
				t.Error(err)
			}
			handles[i] = r.Handle
			if got, ok, err := n.NftRule(testChain, r.Handle); !ok || err != nil || got != r {
				t.Errorf("%+v, %v, %v; want %+v", got, ok, err, r)
			}
		})
	}
	all.Wait()
	seen := map[uint64]bool{}
	for _, h := range handles {
		if h == 0 || seen[h] {
			t.Errorf("handles %v", handles)
		}
		seen[h] = true
	}
}

func FuzzNftDecode(f *testing.F) {
	var e encoder
	for _, tc := range vocabulary() {
		e.b = nfgenmsg(tc.family, 0)
		_ = e.rule(tc.family, tc.rule)
		f.Add(bytes.Clone(e.b))
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _, _ = decodeRule(b, nil)
		_, _ = decodeChain(b)
		_, _ = decodeTable(b)
		a := nftAnswer{tx: &NftTx{steps: []nftStep{{rule: &NftRule{}}}}}
		_ = a.read(b)
	})
}

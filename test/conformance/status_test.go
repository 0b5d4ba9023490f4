package conformance

import (
	"context"
	"slices"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

func spec22(tr *trial) {
	a := tr.attach()
	before := tr.before()
	silent(tr, "STATUS", a.Status())
	silent(tr, "STATUS without CNI_PATH", a.WithEnv("CNI_PATH", host.Unset).Status())
	if err := tr.h.Libcni(tr.dir).GetStatusNetworkList(context.Background(), a.List(tr)); err != nil {
		tr.Errorf("STATUS through libcni: %v", err)
	}
	tr.clean(before)
	if !tr.delegates {
		return
	}
	none := a.WithConfig("ipam", map[string]any{"type": "no-such-plugin"})
	mustFail(tr, "STATUS with a delegate that is nowhere", none.Status())
	mustFail(tr, "ADD with a delegate that is nowhere", none.Call("ADD"))
	tr.clean(before)
}

// small is a range of one address.
func (tr *trial) small() host.Attachment {
	return tr.attach("ipam", map[string]any{
		"type": "host-local",
		"ranges": []any{[]any{map[string]any{
			"subnet": "10.99.0.0/24", "rangeStart": "10.99.0.9", "rangeEnd": "10.99.0.9",
		}}},
	})
}

func spec23(tr *trial) {
	a := tr.small()
	silent(tr, "STATUS of an empty range", a.Status())
	a.MustAdd(tr)
	mustFail(tr, "STATUS of a range that is used up", a.Status())
	mustFail(tr, "ADD to a range that is used up", tr.small().Call("ADD"))
	a.MustDel(tr)
	silent(tr, "STATUS of a range that is free again", a.Status())
}

func spec24(tr *trial) {
	a := tr.small()
	a.MustAdd(tr)
	mustFail(tr, "STATUS of a range that is used up", a.Status(), 50, 51)
	if tr.delegates {
		none := a.WithConfig("ipam", map[string]any{"type": "no-such-plugin"})
		mustFail(tr, "STATUS with a delegate that is nowhere", none.Status(), 50, 51)
	}
}

func spec25(tr *trial) {
	a, records := tr.recorded(refuses("STATUS")...)
	contains(tr, mustFail(tr, "STATUS whose delegate fails", a.Status(), 113), "the recorder refuses STATUS")
	if n := len(host.Records(tr, records, "STATUS")); n != 1 {
		tr.Errorf("the delegate got %d STATUSes, want 1", n)
	}
}

func spec26(tr *trial) {
	a := tr.attach()
	before := tr.before()
	a.MustAdd(tr)
	a.MustDel(tr)
	tr.clean(before)
	tr.Run("STATUS fails", func(t *testing.T) {
		if !slices.Contains([]bool{tr.delegates, tr.leases}, true) {
			return // such a plugin is always ready
		}
		tr := tr.again(t)
		before := tr.before()
		a := tr.small()
		a.MustAdd(t)
		_ = a.Status()
		a.MustDel(t)
		tr.h.DeleteNetns(a.Netns)
		tr.clean(before)
	})
}

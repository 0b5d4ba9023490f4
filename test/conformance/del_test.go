package conformance

import (
	"context"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// unset names variables that a call leaves out.
func unset(names ...string) []string {
	var pairs []string
	for _, n := range names {
		pairs = append(pairs, n, host.Unset)
	}
	return pairs
}

func spec01(tr *trial) {
	for _, v := range since(versions, tr.oldest) {
		tr.Run(v, func(t *testing.T) {
			t.Parallel()
			tr := tr.again(t)
			before := tr.before()
			a := tr.attach("cniVersion", v)
			c, list, ctx := tr.h.Libcni(tr.dir), a.List(t), context.Background()
			if _, err := c.AddNetworkList(ctx, list, a.Runtime()); err != nil {
				t.Fatalf("ADD: %v", err)
			}
			for n := range 3 {
				if err := c.DelNetworkList(ctx, list, a.Runtime()); err != nil {
					t.Errorf("DEL number %d: %v", n+1, err)
				}
			}
			tr.h.DeleteNetns(a.Netns)
			tr.clean(before)
			if err := c.DelNetworkList(ctx, list, a.Runtime()); err != nil {
				t.Errorf("DEL without the namespace: %v", err)
			}
			tr.clean(before)
		})
	}
}

func spec02(tr *trial) {
	a := tr.attach()
	before := tr.before()
	a.MustAdd(tr)
	a.MustDel(tr)
	tr.clean(before)
	a.MustAdd(tr)
	a.WithConfig("prevResult", map[string]any{"cniVersion": "1.1.0"}).MustDel(tr)
	tr.clean(before)
}

func spec03(tr *trial) {
	for _, tc := range []struct {
		name string
		lose func(host.Attachment) host.Attachment
	}{
		{"state is missing", func(a host.Attachment) host.Attachment {
			for _, dir := range []string{"/run/fairlead", "/run/cni", "/var/lib/cni"} {
				a.Host.RemoveAll(dir)
			}
			return a
		}},
		{"namespace is missing", func(a host.Attachment) host.Attachment {
			a.Host.DeleteNetns(a.Netns)
			return a
		}},
		{"namespace and state are missing", func(a host.Attachment) host.Attachment {
			a.Host.RemoveAll("/run/fairlead")
			a.Host.DeleteNetns(a.Netns)
			return a
		}},
		{"namespace path is a plain file", func(a host.Attachment) host.Attachment {
			a.Host.DeleteNetns(a.Netns)
			a.Host.WriteFile(a.Netns, "")
			return a
		}},
		{"namespace is unknown", func(a host.Attachment) host.Attachment {
			a.Host.DeleteNetns(a.Netns)
			return a.WithEnv("CNI_NETNS", "")
		}},
	} {
		tr.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := tr.again(t)
			before := tr.before()
			a := tr.attach()
			a.MustAdd(t)
			gone := tc.lose(a)
			gone.MustDel(t)
			gone.MustDel(t)
			tr.h.RemoveNetns(a.Netns)
			tr.cleanSoon(before)
		})
	}
	tr.Run("never added", func(t *testing.T) {
		t.Parallel()
		tr := tr.again(t)
		a := tr.attach()
		before := tr.before()
		a.MustDel(t)
		tr.clean(before)
	})
}

func spec04(tr *trial) {
	for _, netns := range []string{"", host.Unset, "/run/netns/none"} {
		a := tr.attach()
		before := tr.before()
		a.MustAdd(tr)
		a.WithEnv("CNI_NETNS", netns).MustDel(tr)
		tr.clean(before)
	}
}

func spec06(tr *trial) {
	for _, tc := range []struct {
		name string
		lose func(host.Attachment, host.Result) host.Attachment
	}{
		{"all is there", func(a host.Attachment, _ host.Result) host.Attachment { return a }},
		{"no namespace given", func(a host.Attachment, _ host.Result) host.Attachment {
			return a.WithEnv("CNI_NETNS", "")
		}},
		{"namespace gone", func(a host.Attachment, _ host.Result) host.Attachment {
			a.Host.DeleteNetns(a.Netns)
			return a
		}},
		{"interface gone", func(a host.Attachment, r host.Result) host.Attachment {
			tr.loseLink(a, r)
			return a
		}},
	} {
		tr.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := tr.again(t)
			before := tr.before()
			a, records := tr.recorded()
			r := a.MustAdd(t)
			tc.lose(a, r).MustDel(t)
			if n := len(host.Records(t, records, "DEL")); n != 1 {
				t.Errorf("the delegate got %d DELs, want 1", n)
			}
			tr.h.RemoveNetns(a.Netns)
			tr.cleanSoon(before)
		})
	}
}

func spec07(tr *trial) {
	a := tr.attach()
	before := tr.before()
	a.MustAdd(tr)
	a.WithEnv(unset("CNI_NETNS", "CNI_ARGS", "CNI_PATH")...).MustDel(tr)
	tr.clean(before)
	a.WithEnv(unset("CNI_NETNS", "CNI_ARGS", "CNI_PATH")...).MustDel(tr)
	for _, name := range []string{"CNI_CONTAINERID", "CNI_IFNAME"} {
		mustFail(tr, "DEL without "+name, a.WithEnv(unset(name)...).Call("DEL"), 4)
	}
}

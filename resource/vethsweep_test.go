package resource

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/kernel"
)

var _ Sweeper = (*Veth)(nil)

// Without a journal the marks tell whose a pair is.
func TestRule15VethsWithoutJournal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	strange(t, env, "veth1a2b3c4d")
	stale := attachment.ID{Network: "net", Container: "c2", IfName: "eth2"}
	valid := attachment.ID{Network: "net", Container: "c2", IfName: "eth1"}
	others := attachment.ID{Network: "net2", Container: "c2", IfName: "eth3"}
	made(t, env, NewVeth(valid), NewVeth(others))
	before := picture(t, env)
	made(t, env, NewVeth(stale))
	sweep := Sweep{Network: "net", Valid: map[attachment.ID]bool{valid: true}, Force: true}

	refuse := Env{Host: env.Host.WithFaults(kernel.FailNth("link.list", 1, false, unix.EPERM))}
	if removed, kept, err := testVeth().Sweep(ctx, refuse, sweep); err == nil || removed != nil || kept != nil {
		t.Errorf("%v, %v, %v", removed, kept, err)
	}
	refuse.Host = env.Host.WithFaults(kernel.FailNth("link.del", 1, false, unix.EPERM))
	if removed, _, err := testVeth().Sweep(ctx, refuse, sweep); !errors.Is(err, unix.EPERM) || removed != nil {
		t.Errorf("%v, %v", removed, err)
	}

	removed, kept, err := testVeth().Sweep(ctx, env, sweep)
	noError(t, err)
	if len(removed) != 1 || !strings.Contains(removed[0], "c2/eth2 on net") || kept != nil {
		t.Errorf("removed %q, kept %q", removed, kept)
	}
	wantPicture(t, env, before)
}

package resource

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// eth0 is where tuning's things are: in no link of its own.
func eth0() On { return On{Side: Container, Link: "eth0", In: Sandbox} }

func testAttr(a Attribute) *LinkAttr {
	return &LinkAttr{On: eth0(), Attr: a, Value: map[Attribute]string{
		AttrMAC: "02:00:00:00:00:77", AttrMTU: "1300", AttrPromisc: "true", AttrAllMulti: "true", AttrTxQLen: "77",
	}[a]}
}

func TestLinkAttr(t *testing.T) {
	t.Parallel()
	for _, a := range Attributes() {
		t.Run(string(a), func(t *testing.T) {
			t.Parallel()
			testRestored(t, restoredTest{
				setup: withVeth,
				fresh: func() engine.Restored[Env] { return testAttr(a) },
				value: func(t *testing.T, env Env) string { t.Helper(); return a.of(link(t, env.Container, "eth0")) },
			})
		})
	}
}

// tuned has eth0 with one attribute changed and journaled.
func tuned(t *testing.T, a Attribute) (Env, *LinkAttr) {
	t.Helper()
	env := newEnv(t)
	withVeth(t, env)
	r := testAttr(a)
	noError(t, r.Save(context.Background(), env))
	noError(t, r.Create(context.Background(), env))
	return env, journaled(t, r).(*LinkAttr)
}

func TestLinkAttrDrift(t *testing.T) {
	t.Parallel()
	for a, c := range map[Attribute]struct {
		change kernel.LinkChange
		want   string
	}{
		AttrMAC:      {kernel.LinkChange{MAC: []byte{2, 0, 0, 0, 0, 9}}, "the MAC address of eth0 is 02:00:00:00:00:09, want 02:00:00:00:00:77"},
		AttrMTU:      {kernel.LinkChange{MTU: ptr(1400)}, "the mtu of eth0 is 1400, want 1300"},
		AttrPromisc:  {kernel.LinkChange{Promisc: ptr(false)}, "promiscuous mode of eth0 is false, want true"},
		AttrAllMulti: {kernel.LinkChange{AllMulti: ptr(false)}, "all-multicast mode of eth0 is false, want true"},
		AttrTxQLen:   {kernel.LinkChange{TxQLen: ptr(88)}, "the transmit queue length of eth0 is 88, want 77"},
	} {
		t.Run(string(a), func(t *testing.T) {
			t.Parallel()
			env, r := tuned(t, a)
			set(t, env.Container, "eth0", c.change)
			if s := observe(t, env, r); s.Is != engine.IsDrifted || s.Detail != c.want {
				t.Errorf("%+v, want %s", s, c.want)
			}
			// What another set since is left to them.
			now := a.of(link(t, env.Container, "eth0"))
			noError(t, r.Remove(context.Background(), env))
			if got := a.of(link(t, env.Container, "eth0")); got != now {
				t.Errorf("%s, want %s", got, now)
			}
		})
	}
}

// Nothing is put back on a link that is gone, nor on another one of its name.
func TestLinkAttrOfALinkThatIsGone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, r := tuned(t, AttrMTU)
	noError(t, testVeth().Remove(ctx, env))
	wantState(t, env, r, engine.IsAbsent)
	noError(t, r.Remove(ctx, env))
	noError(t, env.Container.AddLink(kernel.LinkSpec{Name: "eth0", Kind: kernel.BridgeKind{}, MTU: 1300, Index: r.Index + 50}))
	noError(t, r.Remove(ctx, env))
	if mtu := link(t, env.Container, "eth0").MTU; mtu != 1300 {
		t.Error(mtu)
	}
	if err := testAttr(AttrTxQLen).Save(ctx, newEnv(t)); !errors.Is(err, errNoLink) {
		t.Error(err)
	}
	// It goes between the look and the change.
	env, r = tuned(t, AttrMTU)
	gone := env
	gone.Container = env.Container.WithFaults(kernel.FailNth("link.set", 1, false, unix.ENODEV))
	noError(t, r.Remove(ctx, gone))
	// The kernel does not take the old value any more.
	gone.Container = env.Container.WithFaults(kernel.FailNth("link.set", 1, false, unix.EINVAL))
	noError(t, r.Remove(ctx, gone))
}

func TestLinkAttrRefused(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVeth(t, env)
	before := picture(t, env)
	for _, r := range []*LinkAttr{
		{On: eth0(), Attr: AttrMTU, Value: "70000"},
		{On: eth0(), Attr: AttrMTU, Value: "many"},
		{On: eth0(), Attr: AttrMAC, Value: "02"},
		{On: eth0(), Attr: AttrTxQLen, Value: ""},
		{On: eth0(), Attr: AttrPromisc, Value: "maybe"},
		{On: eth0(), Attr: AttrAllMulti, Value: "maybe"},
		{On: eth0(), Attr: "colour", Value: "red"},
	} {
		noError(t, r.Save(context.Background(), env))
		if err := r.Create(context.Background(), env); err == nil || engine.IsPartial(err) {
			t.Errorf("%s %q: %v", r.Attr, r.Value, err)
		}
		wantPicture(t, env, before)
	}
}

// Whoever made the link, and tuned it before, is held against the new values.
func TestRule14LinkAttrAmends(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	v := testVeth()
	v.MTU = 1400
	first := testAttr(AttrMTU)
	first.Value = "1350"
	made(t, env, v)
	for _, r := range []*LinkAttr{first, testAttr(AttrMTU), testAttr(AttrMAC), testAttr(AttrTxQLen)} {
		noError(t, r.Save(context.Background(), env))
		noError(t, r.Create(context.Background(), env))
	}
	var earlier []Resource
	for _, r := range []Resource{v, first} {
		wantState(t, env, r, engine.IsDrifted)
		for _, a := range []Attribute{AttrMTU, AttrMAC, AttrTxQLen} {
			r = testAttr(a).Amend(r)
		}
		wantState(t, env, r, engine.IsPresent)
		earlier = append(earlier, r)
	}
	// A prevResult that says nothing of the MTU leaves it at that.
	earlier[0].(Expectant).ExpectLink("eth0", "02:00:00:00:00:77", 0)
	wantState(t, env, earlier[0], engine.IsPresent)
	// One that does, counts.
	earlier[1].(Expectant).ExpectLink("eth0", "", 1200)
	wantState(t, env, earlier[1], engine.IsDrifted)
	set(t, env.Container, "eth0", kernel.LinkChange{MAC: mac(t, "02:00:00:00:00:09")})
	m := testAttr(AttrMAC)
	m.ExpectLink("eth1", "02:00:00:00:00:08", 0)
	m.ExpectLink("eth0", "", 1200)
	wantState(t, env, m, engine.IsDrifted)
	m.ExpectLink("eth0", "02:00:00:00:00:09", 0)
	wantState(t, env, m, engine.IsPresent)
	// The host may have a bridge of that name.
	b := newBridge()
	b.Name = "eth0"
	if testAttr(AttrMAC).Amend(b) != Resource(b) || b.expectMAC != "" {
		t.Error("a bridge was amended")
	}
}

func testBackup(t *testing.T, attrs ...Attribute) *LinkBackup {
	t.Helper()
	return &LinkBackup{Path: filepath.Join(t.TempDir(), "tuning", "c1_eth0.json"), Link: "eth0", Attrs: attrs}
}

// fileOf is the backup's content, as the reference suite reads it.
func fileOf(t *testing.T, b *LinkBackup) map[string]any {
	t.Helper()
	data, err := os.ReadFile(b.Path)
	noError(t, err)
	var m map[string]any
	noError(t, json.Unmarshal(data, &m))
	return m
}

func TestLinkBackup(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	withVeth(t, env)
	eth0 := link(t, env.Container, "eth0")
	b := testBackup(t, Attributes()...)
	wantState(t, env, b, engine.IsAbsent)
	made(t, env, b)
	wantState(t, env, journaled(t, b), engine.IsPresent)
	want := map[string]any{
		"mac": eth0.MAC.String(), "promisc": false, "mtu": float64(eth0.MTU), "allmulti": false, "txQLen": float64(eth0.TxQLen),
	}
	got := fileOf(t, b)
	delete(got, "fairlead")
	if index := got["fairleadIndex"]; index != float64(eth0.Index) {
		t.Errorf("index %v, want %d", index, eth0.Index)
	}
	delete(got, "fairleadIndex")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(b.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	used, err := b.InUse(ctx, env)
	if used || err != nil || b.Within() != "" {
		t.Errorf("in use: %v, %v; within %q", used, err, b.Within())
	}
	// The namespace may be gone by now (case 13).
	for range 2 {
		noError(t, b.Remove(ctx, Env{Host: env.Host}))
		wantState(t, env, b, engine.IsAbsent)
	}
	if left, err := os.ReadDir(filepath.Dir(b.Path)); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// What the first call of a container found stays; what an earlier container
// left does not count.
func TestLinkBackupOfAnEarlierCall(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVeth(t, env)
	old := link(t, env.Container, "eth0")
	b := testBackup(t, AttrMTU)
	noError(t, os.MkdirAll(filepath.Dir(b.Path), 0o700))
	noError(t, os.WriteFile(b.Path, []byte(`{"mtu": 4000, "txQLen": 5, "fairlead": "1"}`), 0o600))
	made(t, env, b)
	set(t, env.Container, "eth0", kernel.LinkChange{MTU: ptr(1300), TxQLen: ptr(9)})
	b.Attrs = []Attribute{AttrMTU, AttrTxQLen}
	made(t, env, b)
	got := fileOf(t, b)
	if got["mtu"] != float64(old.MTU) || got["txQLen"] != 9.0 {
		t.Errorf("%v", got)
	}
}

func TestLinkBackupFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	withVeth(t, env)
	for n, mode := 1, faultModes[0]; ; n++ {
		b := testBackup(t, AttrMTU)
		faulty, fired := mode.failing(env, n)
		err := b.Create(ctx, faulty)
		if !fired() {
			noError(t, err)
			break
		}
		if _, statErr := os.Stat(b.Path); err == nil || !errors.Is(statErr, fs.ErrNotExist) {
			t.Errorf("call %d failed: %v, and the file: %v", n, err, statErr)
		}
	}
	b := testBackup(t, AttrMTU)
	noError(t, os.Symlink(filepath.Dir(b.Path), filepath.Dir(b.Path))) // leads to itself
	for what, err := range map[string]error{"Create": b.Create(ctx, env), "Remove": b.Remove(ctx, env)} {
		if err == nil {
			t.Errorf("%s in a loop succeeded", what)
		}
	}
	if _, err := b.Observe(ctx, env); err == nil {
		t.Error("Observe in a loop succeeded")
	}
	if err := (&LinkAttr{On: eth0(), Attr: AttrMTU, Backup: b.Path}).Remove(ctx, env); err == nil {
		t.Error("what could not be read was taken for nothing")
	}
}

// Without a journal, the file says what to put back: the reference suite wrote
// it, or we did.
func TestRule13LinkAttrsFromTheFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	withVeth(t, env)
	before := link(t, env.Container, "eth0")
	b := testBackup(t)
	plan := []Resource{b}
	for _, a := range Attributes() {
		plan = append(plan, &LinkAttr{On: eth0(), Attr: a, Backup: b.Path})
	}
	for _, text := range []string{
		`{"mac": "` + before.MAC.String() + `", "promisc": false, "mtu": 1500, "allmulti": false, "txQLen": 1000}`,
		`{"mtu": 1500}`, `{"mac": "nonsense", "mtu": -5}`, `nonsense`, "",
	} {
		noError(t, os.MkdirAll(filepath.Dir(b.Path), 0o700))
		noError(t, os.WriteFile(b.Path, []byte(text), 0o600))
		set(t, env.Container, "eth0", kernel.LinkChange{
			MAC: mac(t, "02:00:00:00:00:77"), MTU: ptr(1300), Promisc: ptr(true), AllMulti: ptr(true), TxQLen: ptr(77),
		})
		e := &engine.Engine[Env]{}
		noError(t, e.RemovePlan(ctx, env, engine.Scope{Ref: Sandbox}, plan))
		wantState(t, env, b, engine.IsAbsent)
		after := link(t, env.Container, "eth0")
		for _, a := range Attributes() {
			restored := strings.HasPrefix(text, `{"mac": "`+before.MAC.String()) || text == `{"mtu": 1500}` && a == AttrMTU
			if (a.of(after) == a.of(before)) != restored {
				t.Errorf("%s: %s of %s", text, a, a.of(after))
			}
		}
	}
	noError(t, (&engine.Engine[Env]{}).RemovePlan(ctx, env, engine.Scope{Ref: Sandbox}, plan))
}

// A late DEL may meet the interface of the container that came after (case 15).
func TestCase15LinkAttrOfAnotherOwner(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	withVeth(t, env)
	b := testBackup(t)
	noError(t, os.MkdirAll(filepath.Dir(b.Path), 0o700))
	noError(t, os.WriteFile(b.Path, []byte(`{"mtu": 1300}`), 0o600))
	for owner, want := range map[attachment.Owner]int{"another": 1500, testVeth().Owner: 1300} {
		set(t, env.Container, "eth0", kernel.LinkChange{MTU: ptr(1500)})
		a := &LinkAttr{On: eth0(), Attr: AttrMTU, Backup: b.Path, Owner: owner}
		for n := 1; ; n++ {
			faulty, fired := faultModes[0].failing(env, n)
			err := a.Remove(context.Background(), faulty)
			if !fired() {
				noError(t, err)
				break
			}
			if err == nil {
				t.Errorf("call %d failed, and Remove says success", n)
			}
		}
		if mtu := link(t, env.Container, "eth0").MTU; mtu != want {
			t.Errorf("%s: %d, want %d", owner, mtu, want)
		}
	}
}

// The file stays while a value is not back.
func TestRule04LinkBackupStaysWhileItIsNeeded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := newEnv(t)
	withVeth(t, env)
	b := testBackup(t, AttrMTU)
	made(t, env, b)
	a := testAttr(AttrMTU)
	a.Backup = b.Path
	noError(t, a.Save(ctx, env))
	noError(t, a.Create(ctx, env))
	e := &engine.Engine[Env]{}
	faulty := env
	faulty.Container = env.Container.WithFaults(kernel.FailNth("link.set", 1, false, unix.EBUSY))
	plan := []Resource{b, journaled(t, a)}
	if err := e.RemovePlan(ctx, faulty, engine.Scope{Ref: Sandbox}, plan); err == nil {
		t.Error("success")
	}
	wantState(t, env, b, engine.IsPresent)
	// A namespace that can't be found out about is not a gone one.
	if err := e.RemovePlan(ctx, Env{Host: env.Host}, engine.Scope{Ref: Sandbox}, plan); err == nil {
		t.Error("success")
	}
	wantState(t, env, b, engine.IsPresent)
	noError(t, e.RemovePlan(ctx, Env{Host: env.Host}, engine.Scope{Ref: Sandbox, Gone: true}, plan))
	wantState(t, env, b, engine.IsAbsent)
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/attachment"
)

// world is the toy that the tests' resources act upon: things that live in
// things, and scopes that vanish. With a path it is kept in a file, for several
// processes.
type world struct {
	mu   sync.Mutex
	path string
	mem  state
}

type state struct {
	Things map[string]thingAt `json:"things"`
	Scopes map[string]string  `json:"scopes"` // id: alive, gone or unknown
	Index  int                `json:"index"`
}

type thingAt struct {
	Owner string `json:"owner,omitempty"`
	In    string `json:"in,omitempty"`
	Value string `json:"value,omitempty"`
}

func newWorld() *world {
	return &world{mem: state{Things: map[string]thingAt{}, Scopes: map[string]string{}}}
}

// do runs f on the world; nobody else is at it meanwhile.
func (w *world) do(f func(s *state) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.path == "" {
		return f(&w.mem)
	}
	lock, err := os.OpenFile(w.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := retryEINTR(func() error { return unix.Flock(int(lock.Fd()), unix.LOCK_EX) }); err != nil {
		return err
	}
	s := newWorld().mem
	data, err := os.ReadFile(w.path)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := f(&s); err != nil {
		return err
	}
	data, err = json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.path+".tmp", data, 0o600); err != nil {
		return err
	}
	return os.Rename(w.path+".tmp", w.path)
}

// things is a copy of all that there is, without what is in one of the kinds.
func (w *world) things(without ...string) map[string]thingAt {
	var all map[string]thingAt
	_ = w.do(func(s *state) error { all = maps.Clone(s.Things); return nil })
	maps.DeleteFunc(all, func(key string, _ thingAt) bool {
		kind, _, _ := strings.Cut(key, " ")
		return slices.Contains(without, kind)
	})
	return all
}

func (w *world) put(key string, x thingAt) {
	_ = w.do(func(s *state) error { s.Things[key] = x; return nil })
}

// setScope makes a scope, or ends it: then all that is in it goes.
func (w *world) setScope(id, what string) {
	_ = w.do(func(s *state) error {
		s.Scopes[id] = what
		if what == "gone" {
			s.removeIn("scope@" + id)
		}
		return nil
	})
}

// remove takes a thing away with all that lives in it.
func (s *state) remove(key string) {
	delete(s.Things, key)
	s.removeIn(key)
}

func (s *state) removeIn(key string) {
	for k, x := range s.Things {
		if x.In == key {
			s.remove(k)
		}
	}
}

// env is the toys' Env: the world, the scope, and what is to go wrong.
type env struct {
	w     *world
	scope string
	plan  *mishaps
}

// mode is how a call goes wrong.
type mode int

const (
	fine mode = iota
	before
	after
	crashBefore
	crashAfter
)

func (m mode) String() string {
	return [...]string{"fine", "before", "after", "crash before", "crash after"}[m]
}

// mishaps says which calls go wrong, and writes down which were made.
type mishaps struct {
	mu    sync.Mutex
	at    map[int]mode           // by number of the call, from 0
	on    map[string]mode        // by "op ref"
	watch func(op string, r Ref) // called before the effect
	calls []string
}

var errToy = errors.New("toy failure")

// crashed is what a toy panics with, in place of SIGKILL.
type crashed struct{}

func (m *mishaps) next(op string, ref Ref) mode {
	if m == nil {
		return fine
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name := op + " " + string(ref)
	n := len(m.calls)
	m.calls = append(m.calls, name)
	if how, ok := m.on[name]; ok {
		return how
	}
	return m.at[n]
}

// act is every call of every toy.
func (e env) act(op string, r Resource[env], f func(s *state) error) error {
	how := e.plan.next(op, RefOf(r))
	if e.plan != nil && e.plan.watch != nil {
		e.plan.watch(op, RefOf(r))
	}
	switch how {
	case crashBefore:
		panic(crashed{})
	case before:
		return fmt.Errorf("%s %s: %w", op, RefOf(r), errToy)
	default:
	}
	if err := e.w.do(f); err != nil {
		return err
	}
	switch how {
	case crashAfter:
		panic(crashed{})
	case after:
		return fmt.Errorf("%s %s, after it was done: %w", op, RefOf(r), errToy)
	default:
		return nil
	}
}

// base has what all toys are made of.
type base struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
	In    Ref    `json:"in,omitempty"`
	Need  []Ref  `json:"need,omitempty"`
	// Scoped: another scope has another of this name.
	Scoped bool   `json:"scoped,omitempty"`
	Value  string `json:"value,omitempty"`
	Index  int    `json:"index,omitempty"`
}

// node is a world with an engine on it.
type node struct {
	*Engine[env]
	w *world
	// plan is of the calls that Enter opens the places for.
	plan *mishaps
}

func newNode(root string, w *world) *node {
	n := &node{w: w}
	n.Engine = &Engine[env]{Journal: OpenJournal(root, "boot"), Codec: toyKinds(), Enter: n.enter}
	return n
}

// testNode is a node with an empty world and an empty state directory.
func testNode(t testing.TB) *node {
	t.Helper()
	return newNode(tmpRoot(t), newWorld())
}

// tmpBase is where state directories are made: on a tmpfs, as in use, if there
// is one.
func tmpBase() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

func tmpRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(tmpBase(), "engine-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (n *node) enter(_ context.Context, h Header) (env, Scope, func(), error) {
	what := ""
	_ = n.w.do(func(s *state) error { what = s.Scopes[h.Scope]; return nil })
	if what == "unknown" {
		return env{}, Scope{}, nil, errToy
	}
	if h.Boot != n.Journal.Boot {
		what = ""
	}
	scope := Scope{Ref: toyScope, ID: h.Scope, Gone: what != "alive"}
	return env{w: n.w, scope: h.Scope, plan: n.plan}, scope, func() {}, nil
}

// attach names an attachment by its container and scope.
func attach(container, scope string) Header {
	return Header{
		ID:     attachment.ID{Network: "net", Container: container, IfName: "eth0"},
		Plugin: "toy", Hash: "h1", Scope: scope,
	}
}

func (n *node) begin(h Header, plan *mishaps) (*Call[env], error) {
	scope := Scope{Ref: toyScope, ID: h.Scope}
	return n.Begin(context.Background(), env{w: n.w, scope: h.Scope, plan: plan}, scope, h)
}

// add is a whole ADD; on failure it is rolled back, and rolled says how that
// went.
func (n *node) add(h Header, plan *mishaps, stages ...[]Resource[env]) (err, rolled error) {
	call, err := n.begin(h, plan)
	if err != nil {
		return err, nil
	}
	for _, stage := range stages {
		if err := call.Apply(context.Background(), stage); err != nil {
			return err, call.Rollback(context.Background())
		}
	}
	if err := call.Commit(); err != nil {
		return err, call.Rollback(context.Background())
	}
	return nil, nil
}

// del is a whole DEL, by the journal or else by the plan.
func (n *node) del(h Header, list []Resource[env]) error {
	ctx := context.Background()
	entry, err := n.Journal.Take(ctx, h.ID, h.Plugin, h.Hash)
	if err != nil {
		return err
	}
	if entry != nil {
		return n.RemoveEntry(ctx, entry)
	}
	e, scope, leave, err := n.enter(ctx, Header{Scope: h.Scope, Boot: n.Journal.Boot})
	if err != nil {
		return err
	}
	defer leave()
	return n.RemovePlan(ctx, e, scope, list)
}

// files lists all files of the state directory, and directories that are not
// always there.
func stateFiles(t tester, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if !slices.Contains([]string{".", "attachments", "locks", "shared"}, rel) {
			found = append(found, rel)
		}
		return err
	})
	if err != nil {
		t.Fatalf("walk: %v", err)
	}
	return found
}

// wantClean fails where the state directory is not as empty as before.
func (n *node) wantClean(t tester) {
	t.Helper()
	if left := stateFiles(t, n.Journal.Root()); len(left) > 0 {
		t.Errorf("left in the state directory: %q", left)
	}
}

// tester is testing.TB, as far as rapid's T has it.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func wantThings(t tester, got, want map[string]thingAt) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("in the world: %v\nwant: %v", got, want)
	}
}

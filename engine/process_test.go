package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/program"
)

// The test binary runs itself for what needs processes of its own: this
// variable names the part.
const childEnv = "ENGINE_TEST_CHILD"

func TestMain(m *testing.M) {
	part := os.Getenv(childEnv)
	if part == "" {
		os.Exit(m.Run())
	}
	parts := map[string]func(args []string) error{
		"call":   childCall,
		"crowd":  childCrowd,
		"hold":   childHold,
		"limits": childLimits,
		"log":    childLog,
	}
	if err := parts[part](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(ctx context.Context, part string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Env = childEnviron(part)
	cmd.Stderr = os.Stderr
	return cmd
}

func childEnviron(part string) []string {
	return append(os.Environ(), childEnv+"="+part, "GOMAXPROCS=2")
}

// nodeAt is the node of a directory, world and state, for several processes.
func nodeAt(dir string) (*node, error) {
	w := newWorld()
	w.path = filepath.Join(dir, "world.json")
	root, err := FindStateDir([]string{filepath.Join(dir, "state")})
	if err != nil {
		return nil, err
	}
	return newNode(root, w), nil
}

// mark is a call that the engine never makes: a tracer sees where the part
// that counts begins, and where it ends.
func mark() { _, _ = unix.Getpgid(0) }

// childCall is one traced ADD or DEL: DIR add|del OWNER.
func childCall(args []string) error {
	n, err := nodeAt(args[0])
	if err != nil {
		return err
	}
	_, list := wholePlan(args[2])
	h := attach(args[2], "1")
	mark()
	switch args[1] {
	case "add":
		err = n.addWithFacts(h, list)
	case "del":
		err = n.del(h, list)
	}
	mark()
	return err
}

func (n *node) addWithFacts(h Header, list []Resource[env]) error {
	call, err := n.begin(h, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	_, err = call.Facts(ctx, []Fact[env]{toyFact{value: 7}})
	if err == nil {
		err = call.Apply(ctx, list)
	}
	if err == nil {
		err = call.Commit()
	}
	if err != nil {
		return errors.Join(err, call.Rollback(ctx))
	}
	return nil
}

// childHold takes the lock of an entry, or of a thing, says so, and waits to be
// killed: DIR entry|thing. With a script, that is executed under the lock, and
// says so instead.
func childHold(args []string) error {
	n, err := nodeAt(args[0])
	if err != nil {
		return err
	}
	ctx := context.Background()
	var lock *Lock
	if args[1] == "thing" {
		lock, err = n.Journal.Lock(ctx, "common table in 1", true)
	} else {
		var entry *Entry
		if entry, err = n.Journal.Take(ctx, attach("me", "1").ID, "toy", "h1"); err == nil {
			lock = entry.lock
		}
	}
	if err != nil {
		return err
	}
	if len(args) > 2 {
		cmd := program.Command(lock.keep(ctx), "/bin/sh", "-c", args[2])
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		return cmd.Run()
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// A lock ends with its process, however that ends.
func TestRule02LocksOfTheKilledAreFree(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"entry", "thing"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := tmpRoot(t)
			n, err := nodeAt(dir)
			if err != nil {
				t.Fatal(err)
			}
			first := furnish(n.w, "me")
			_, list := wholePlan("me")
			n.mustAdd(t, attach("me", "1"), list...)

			cmd := child(t.Context(), "hold", dir, what)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
				t.Fatalf("child says %q, %v", line, err)
			}
			if what == "entry" {
				if _, err := n.begin(attach("me", "1"), nil); !errors.Is(err, ErrBusy) {
					t.Errorf("ADD while it lives: %v, want ErrBusy", err)
				}
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			n.mustDel(t, attach("me", "1"))
			wantThings(t, n.w.things("ensured"), first)
			n.wantClean(t)
		})
	}
}

// furnish puts into the world what the plans of the owners rest on.
func furnish(w *world, owners ...string) map[string]thingAt {
	for i, owner := range owners {
		there, _ := wholePlan(owner)
		for key, x := range there {
			w.put(key, x)
		}
		w.setScope(strconv.Itoa(i+1), "alive")
	}
	return w.things("ensured")
}

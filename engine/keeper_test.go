package engine

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestCase30ProgramsKeepTheLock: a lock is that of the programs that were
// executed under it, when who took it is killed; but not that of a daemon that
// one of them left behind.
func TestCase30ProgramsKeepTheLock(t *testing.T) {
	t.Parallel()
	const (
		works  = "echo held; read x"
		daemon = "exec 9>&1 >/dev/null 2>&1; echo held >&9; exec 9>&-; read x"
		both   = "(" + daemon + ") & read x"
	)
	for _, what := range []string{"entry", "thing"} {
		for name, script := range map[string]string{"works": works, "daemon": daemon, "daemon and its parent": both} {
			t.Run(what+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := tmpRoot(t)
				n, err := nodeAt(dir)
				if err != nil {
					t.Fatal(err)
				}
				furnish(n.w, "me")
				_, list := wholePlan("me")
				n.mustAdd(t, attach("me", "1"), list...)
				killedUnder(t, dir, what, script)
				err = n.takeAndLetGo(t, what)
				if busy := name != "daemon"; errors.Is(err, ErrBusy) != busy || !busy && err != nil {
					t.Errorf("%v; want busy: %v", err, busy)
				}
				if err != nil && !strings.Contains(err.Error(), "(sh) has it") {
					t.Errorf("%v; want who has it", err)
				}
				if name == "daemon" {
					if err := n.del(attach("me", "1"), list); err != nil {
						t.Errorf("DEL beside the daemon: %v", err)
					}
					n.wantClean(t)
				}
			})
		}
	}
}

// killedUnder has a child execute the script under a lock, and kills the child.
func killedUnder(t *testing.T, dir, what, script string) {
	t.Helper()
	in, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keep.Close() }) // which ends the script
	cmd := child(context.Background(), "hold", dir, what, script)
	cmd.Stdin = in
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	cmd.Stdout = w
	err = cmd.Start()
	_, _ = in.Close(), w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

func (n *node) takeAndLetGo(t *testing.T, what string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if what == "thing" {
		lock, err := n.Journal.Lock(ctx, "common table in 1", true)
		lock.Unlock()
		return err
	}
	e, err := n.Journal.Take(ctx, attach("me", "1").ID, "toy", "h1")
	if err == nil {
		e.Close()
	}
	return err
}

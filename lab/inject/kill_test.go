package inject

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestKillProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		call        int // which of its sends
		kill        Kill
		want        string
		outstanding int
	}{
		{"before", 2, KillProcessBefore, "sent 1\nsignal: killed\n", 0},
		{"after", 1, KillProcessAfter, "signal: killed\n", 0}, // before it can say so
		{"after, in the end", 2, KillProcessAfter, "sent 1\nsignal: killed\n", 0},
		{"tree before", 2, KillTreeBefore, "sent 1\nsignal: killed\n", 0},
		{"tree after", 1, KillTreeAfter, "signal: killed\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			out, s := under(t, nil, target("sends"), func(k *Call) Verdict {
				if e, err := k.Event(); err != nil {
					t.Error(err)
				} else if e.Call == "sendto" {
					n++
					if n == c.call {
						return Verdict{Kill: c.kill}
					}
				}
				return Verdict{}
			})
			if out != c.want || len(s.Outstanding()) != c.outstanding {
				t.Errorf("%q, want %q; %q", out, c.want, s.Outstanding())
			}
		})
	}
}

// TestKillAfterTheLast kills nobody, and tells.
func TestKillAfterTheLast(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	hook := once(t, "mkdir", Verdict{Kill: KillProcessAfter})
	out, s := under(t, nil, exec.Command("mkdir", file), func(c *Call) Verdict {
		if e, err := c.Event(); err != nil || e.Kind != KindFile {
			return Verdict{}
		}
		return hook(c)
	})
	if _, err := os.Stat(file); err != nil || out != "" || len(s.Outstanding()) != 1 {
		t.Errorf("%v, %q, %q", err, out, s.Outstanding())
	}
}

// relatives makes a child, an orphan and itself wait in a file each, once all are
// there.
const relatives = `cd "$1"; (sh -c 'echo $$ >orphan; read x <never' &); sh -c 'echo $$ >child; read x <never' & echo $$ >self; while ! [ -s orphan ] || ! [ -s child ]; do :; done; mkdir all; read x <never`

func pids(t *testing.T, dir string) []int {
	t.Helper()
	var all []int
	for _, name := range []string{"orphan", "child", "self"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

func gone(t *testing.T, all []int) {
	t.Helper()
	for _, pid := range all {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if !ended(fd, endTimeout) {
			t.Errorf("%d lives", pid)
		}
		unix.Close(fd)
	}
}

func familyDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "never"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestKillTree kills those as well that were orphaned, and that never called.
func TestKillTree(t *testing.T) {
	t.Parallel()
	for _, calls := range [][]int{All(), {unix.SYS_MKDIRAT, numberOf("mkdir")}} {
		dir := familyDir(t)
		cmd := exec.Command("sh", "-c", relatives, "sh", dir)
		err := Run(cmd, calls, once(t, "mkdir", Verdict{Kill: KillTreeBefore}))
		if err == nil || err.Error() != "signal: killed" {
			t.Error(err)
		}
		all := pids(t, dir)
		if len(all) != 3 {
			t.Errorf("%d", all)
		}
		gone(t, all)
		if _, err := os.Stat(filepath.Join(dir, "all")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the call was made: %v", err)
		}
	}
}

// numberOf is a call's number on this architecture; of one that it has not, that
// of another call.
func numberOf(name string) int {
	for n, k := range byNumber() {
		if k.name == name {
			return n
		}
	}
	return unix.SYS_MKDIRAT
}

// TestProcessLeftBehind is seen, and can be killed.
func TestProcessLeftBehind(t *testing.T) {
	t.Parallel()
	dir := familyDir(t)
	cmd := exec.Command("sh", "-c", `sh -c 'echo $$ >child; read x <never' & until [ -s child ]; do :; done`)
	cmd.Dir = dir
	s, err := Prepare(cmd, Files(), func(*Call) Verdict { return Verdict{} })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cmd.Start(), s.Attach(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	all := pids(t, dir)
	if a := s.Alive(); len(a) != 1 || len(all) != 1 || a[0].PID != all[0] || a[0].Program != "sh" {
		t.Errorf("%+v, want %d", a, all)
	}
	s.Kill()
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if a := s.Alive(); len(a) != 0 {
		t.Errorf("%+v", a)
	}
	gone(t, all)
}

// TestSupervisorDies: with it goes everybody, also whoever waits in a call.
func TestSupervisorDies(t *testing.T) {
	t.Parallel()
	dir := familyDir(t)
	script := `cd ` + dir + `; set -- ` + dir + `; ` + relatives
	cmd := target("supervise", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "heard\n" {
		t.Fatalf("%q, %v", line, err)
	}
	tree := waitFor(t, func() []int {
		if _, err := os.Stat(filepath.Join(dir, "all")); err != nil {
			return nil
		}
		return below(cmd.Process.Pid)
	})
	if len(tree) < 4 { // the launcher too
		t.Errorf("%d", tree)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	gone(t, tree)
}

// TestLauncherDies: a caller who kills the process that it started kills the
// command.
func TestLauncherDies(t *testing.T) {
	t.Parallel()
	dir := familyDir(t)
	cmd := exec.Command("sh", "-c", `echo $$ >self; mkdir all; read x <never`)
	cmd.Dir = dir
	s, err := Prepare(cmd, Files(), func(*Call) Verdict { return Verdict{} })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cmd.Start(), s.Attach()); err != nil {
		t.Fatal(err)
	}
	all := waitFor(t, func() []int {
		if _, err := os.Stat(filepath.Join(dir, "all")); err != nil {
			return nil
		}
		return pids(t, dir)
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	gone(t, all)
}

// waitFor asks until there is something.
func waitFor(t *testing.T, ask func() []int) []int {
	t.Helper()
	for t.Context().Err() == nil {
		if all := ask(); len(all) > 0 {
			return all
		}
	}
	t.Fatal("nothing")
	return nil
}

// TestEndings: status, signals, and signals on their way.
func TestEndings(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"exit 3", "kill -TERM $$", "kill -SEGV $$", "kill -KILL $$", "trap 'echo term; exit 4' TERM; kill -TERM $PPID; while :; do :; done"} {
		run := func(run func(*exec.Cmd) error) string {
			cmd := exec.Command("sh", "-c", script)
			var both bytes.Buffer
			cmd.Stdout, cmd.Stderr = &both, &both
			if err := run(cmd); err != nil {
				both.WriteString(err.Error())
			}
			return both.String()
		}
		want := "term\nexit status 4"
		if !strings.Contains(script, "PPID") { // that is us
			want = run((*exec.Cmd).Run)
		}
		got := run(func(cmd *exec.Cmd) error { return Run(cmd, All(), func(*Call) Verdict { return Verdict{} }) })
		if got = strings.TrimSuffix(got, " (core dumped)"); got != strings.TrimSuffix(want, " (core dumped)") {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

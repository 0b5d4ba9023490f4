package inject

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/kernel"
	"github.com/fairlead-net/fairlead/test/host"
)

// started runs a command in the host, under the filter.
func started(t *testing.T, cmd *host.Cmd, hook Hook) (stderr string, err error) {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	s, err := Prepare(cmd.Cmd, Sends(), hook)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if e := s.Wait(); e != nil {
		t.Error(e)
	}
	return errs.String(), err
}

// scene is a host with a veth pair, whose deletion is trapped.
type scene struct {
	h     *host.Host
	ns    *kernel.Namespace
	index int
}

func newScene(t *testing.T) *scene {
	t.Helper()
	h := host.New(t)
	h.MustRun("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
	ns, absence, err := kernel.Open(h.NetnsPath())
	if err != nil || absence != "" {
		t.Fatal(absence, err)
	}
	t.Cleanup(func() { _ = ns.Close() })
	l, _, err := ns.Link("v0")
	if err != nil {
		t.Fatal(err)
	}
	return &scene{h, ns, l.Index}
}

// del runs ip link del, with f called when it asks the kernel to.
func (s *scene) del(t *testing.T, f Hook) (stderr string, err error) {
	t.Helper()
	cookie, err := s.ns.Cookie()
	if err != nil {
		t.Fatal(err)
	}
	hits := 0
	stderr, err = started(t, s.h.Command("ip", "link", "del", "v0"), func(c *Call) Verdict {
		sent, err := c.Sent()
		if err != nil {
			t.Error(err)
		}
		for _, m := range Messages(sent) {
			if m.Type != unix.RTM_DELLINK {
				continue
			}
			name := string(bytes.TrimRight(m.Attributes(unix.SizeofIfInfomsg)[unix.IFLA_IFNAME], "\x00"))
			if m.LinkIndex() != s.index && name != "v0" {
				t.Errorf("link %d %q is deleted, want %d", m.LinkIndex(), name, s.index)
			}
			socket, err := c.Socket(int(c.Args[0]))
			if want := (Socket{unix.AF_NETLINK, unix.NETLINK_ROUTE, cookie}); err != nil || socket != want {
				t.Errorf("%+v, %v, want %+v", socket, err, want)
			}
			hits++
			return f(c)
		}
		return Verdict{}
	})
	if hits != 1 {
		t.Errorf("the deletion was seen %d times", hits)
	}
	return stderr, err
}

func (s *scene) there(t *testing.T) bool {
	t.Helper()
	_, ok, err := s.ns.Link("v0")
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestCallGoesOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	stderr, err := s.del(t, func(*Call) Verdict {
		if !s.there(t) {
			t.Error("it was done before the hook has spoken")
		}
		return Verdict{}
	})
	if err != nil || s.there(t) {
		t.Errorf("%v, %s", err, stderr)
	}
}

func TestCallFails(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if stderr, err := s.del(t, func(*Call) Verdict { return Verdict{Errno: unix.EPERM} }); err == nil || !s.there(t) {
		t.Errorf("%v, %s", err, stderr)
	}
}

// TestRace: what is deleted just before is gone for the caller.
func TestRace(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	stderr, err := s.del(t, func(*Call) Verdict {
		if ok, err := s.ns.DelLink(s.index); !ok || err != nil {
			t.Errorf("%t, %v", ok, err)
		}
		return Verdict{}
	})
	if err == nil || !strings.Contains(stderr, "Cannot find device") && !strings.Contains(stderr, "No such device") {
		t.Errorf("%v, %q", err, stderr)
	}
}

func TestCallerIsKilled(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	_, err := s.del(t, func(c *Call) Verdict {
		pid, err := c.Process()
		if err == nil {
			err = unix.Kill(pid, unix.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
		for !errors.Is(err, ErrGone) { // the kernel takes its time
			_, err = c.Memory(c.Args[1], 1)
		}
		return Verdict{}
	})
	if err == nil || !s.there(t) {
		t.Errorf("%v", err)
	}
}

// TestEveryCallIsSeen: of all threads, and of children.
func TestEveryCallIsSeen(t *testing.T) {
	t.Parallel()
	cmd := target("crowd")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	var own, children atomic.Int64
	first := 0
	err := Run(cmd, Sends(), func(c *Call) Verdict {
		pid, err := c.Process()
		if err != nil {
			t.Error(err)
		}
		if first == 0 {
			first = pid
		}
		sent, err := c.Sent()
		switch {
		case err != nil:
			t.Error(err)
		case pid == first && string(sent) == "x":
			own.Add(1)
		case pid != first && len(Messages(sent)) > 0:
			children.Add(1)
		}
		return Verdict{}
	})
	if err != nil {
		t.Errorf("%v: %s", err, errs.String())
	}
	if own.Load() != threads*perThread || children.Load() < threads {
		t.Errorf("saw %d calls of the process, want %d, and %d of its children", own.Load(), threads*perThread, children.Load())
	}
}

// TestCommandSeesNothing: standard streams, environment, directory, descriptors
// and status are as without.
func TestCommandSeesNothing(t *testing.T) {
	t.Parallel()
	script := `cat; echo "$0 $1 $X"; pwd; ls /proc/$$/fd; exit 7`
	run := func(under bool) (string, int) {
		cmd := exec.Command("sh", "-c", script, "name", "a b")
		cmd.Env, cmd.Dir = []string{"X=1", "PATH=" + os.Getenv("PATH")}, "/"
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in\n"), &out, &out
		var err error
		if under {
			err = Run(cmd, Sends(), func(*Call) Verdict { return Verdict{} })
		} else {
			err = cmd.Run()
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatalf("%v: %s", err, out.String())
		}
		return out.String(), exit.ExitCode()
	}
	want, wantCode := run(false)
	if got, code := run(true); got != want || code != wantCode {
		t.Errorf("status %d, %q; without %d, %q", code, got, wantCode, want)
	}
}

func TestCommandThatIsNotThere(t *testing.T) {
	t.Parallel()
	hook := func(*Call) Verdict { return Verdict{} }
	if err := Run(exec.Command("no-such-command-anywhere"), Sends(), hook); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v", err)
	}
	cmd := exec.Command("/no/such/command")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := Run(cmd, Sends(), hook)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitLauncher || !strings.Contains(errs.String(), "/no/such/command") {
		t.Errorf("%v, %q", err, errs.String())
	}
	cmd = exec.Command("true")
	cmd.Dir = "/no/such/directory"
	if err := Run(cmd, Sends(), hook); err == nil {
		t.Error("no error")
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	const del = "\x28\x00\x00\x00\x11\x00\x05\x00\x01\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "\x06\x00\x03\x80ab\x00\x00"
	all := Messages([]byte(del + del))
	if len(all) != 2 {
		t.Fatalf("%d messages", len(all))
	}
	for _, m := range all {
		if m.Type != unix.RTM_DELLINK || m.Flags != 5 || m.Seq != 1 || m.LinkIndex() != 7 {
			t.Errorf("%+v", m)
		}
		if a := m.Attributes(unix.SizeofIfInfomsg); string(a[unix.IFLA_IFNAME]) != "ab" {
			t.Errorf("%v", a)
		}
	}
	for cut := range len(del) {
		for _, m := range Messages([]byte(del)[:cut]) {
			t.Errorf("of %d bytes: %+v", cut, m)
		}
		for _, m := range Messages([]byte{byte(16 + cut), 15: 0}) {
			_, _ = m.LinkIndex(), m.Attributes(unix.SizeofIfInfomsg)
		}
	}
}

package cases

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// A slow is a program that says that it has begun, and goes on when it is let.
type slow struct {
	dir         string
	begun, goOn string
}

// newSlow writes a program of that name, which runs the script after it was let
// go on. It is slow once; and in a call of that CNI_COMMAND, unless verb is "".
func newSlow(t *testing.T, name, verb, script string) *slow {
	t.Helper()
	dir := t.TempDir()
	p := &slow{dir, filepath.Join(dir, "begun"), filepath.Join(dir, "go-on")}
	for _, fifo := range []string{p.begun, p.goOn} {
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := "mkdir " + filepath.Join(dir, "once") + " 2>/dev/null"
	if verb != "" {
		first = `[ "$CNI_COMMAND" = ` + verb + " ] && " + first
	}
	text := "#!/bin/sh\nif " + first + "; then echo begun >" + p.begun + "; read x <" + p.goOn + "; fi\n" + script
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// leaser is the script of an IPAM plugin that has one lease: a file.
func leaser(lease string) string {
	return `case "$CNI_COMMAND" in
ADD) echo lease >` + lease + `; echo '{"cniVersion":"1.1.0","ips":[{"address":"10.55.0.5/24"}]}';;
DEL) rm -f ` + lease + `;;
esac
`
}

// await returns once the program has begun.
func (p *slow) await(t *testing.T) {
	t.Helper()
	if _, err := os.ReadFile(p.begun); err != nil {
		t.Fatal(err)
	}
}

// free lets the program go on.
func (p *slow) free(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(p.goOn, []byte("on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// killed starts a call, and kills it alone once the slow program has begun.
func (p *slow) killed(t *testing.T, a host.Attachment, verb string) {
	t.Helper()
	c := a.Prepare(verb)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p.await(t)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
}

// waits starts a call that must not get through before the slow program is let
// go on, and must succeed after.
func (p *slow) waits(t *testing.T, a host.Attachment, verb string) {
	t.Helper()
	c := a.Prepare(verb)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for !waiting(t, c.Process.Pid) {
		select {
		case err := <-ended:
			p.free(t)
			t.Fatalf("%s did not wait: %v, %s", verb, err, out.String())
		default:
			runtime.Gosched()
		}
	}
	p.free(t)
	if err := <-ended; err != nil {
		t.Errorf("%s: %v: %s", verb, err, out.String())
	}
}

// waiting tells whether a process waits for a lock.
func waiting(t *testing.T, pid int) bool {
	t.Helper()
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(locks)) {
		words := strings.Fields(line)
		if len(words) > 5 && words[1] == "->" && words[5] == strconv.Itoa(pid) {
			return true
		}
	}
	return false
}

// TestCase30DelegateOutlivesItsCaller: what a killed call executed goes on. The
// next DEL waits for it, and takes what it made.
func TestCase30DelegateOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	for _, killed := range []string{"ADD", "DEL"} {
		t.Run(killed, func(t *testing.T) {
			each(t, interfaces()[:1], func(s *scene) {
				before := s.h.Snapshot()
				lease := filepath.Join(s.TempDir(), "lease")
				p := newSlow(s.T, "leaser", killed, leaser(lease))
				a := s.attach().WithConfig("ipam", map[string]any{"type": "leaser"})
				a.Path += ":" + p.dir
				if killed == "DEL" {
					a.MustAdd(s)
				}
				p.killed(s.T, a, killed)
				p.waits(s.T, a, "DEL")
				if _, err := os.Stat(lease); !os.IsNotExist(err) {
					s.Errorf("the lease of the killed call is there: %v", err)
				}
				s.h.DeleteNetns(a.Netns)
				s.clean(before)
			})
		})
	}
}

// TestCase30IPTablesOutlivesItsCaller: the same with what writes rules.
func TestCase30IPTablesOutlivesItsCaller(t *testing.T) {
	each(t, []network{
		{"IPv4", bridge("ipMasq", true, "ipMasqBackend", "iptables"), "eth0"},
		{"IPv6", bridge("ipMasq", true, "ipMasqBackend", "iptables", "ipam", hostLocal("fd00:55::/64")), "eth0"},
	}, func(s *scene) {
		before := s.h.Snapshot()
		tool := "iptables-restore"
		if s.name == "IPv6" {
			tool = "ip6tables-restore"
		}
		p := newSlow(s.T, tool, "", "exec /usr/sbin/"+tool+` "$@"`)
		a := s.attach().WithEnv("PATH", p.dir+":/usr/sbin:/usr/bin:/sbin:/bin")
		p.killed(s.T, a, "ADD")
		p.waits(s.T, a, "DEL")
		s.h.DeleteNetns(a.Netns)
		s.clean(before)
	})
}

// TestCase30DaemonOfADelegate: what a delegate leaves running on purpose keeps
// no lock from the next call.
func TestCase30DaemonOfADelegate(t *testing.T) {
	each(t, interfaces()[:1], func(s *scene) {
		before := s.h.Snapshot()
		dir := s.TempDir()
		end := filepath.Join(dir, "end")
		if err := syscall.Mkfifo(end, 0o600); err != nil {
			s.Fatal(err)
		}
		script := "#!/bin/sh\n[ \"$CNI_COMMAND\" = ADD ] && (read x <" + end + ") </dev/null >/dev/null 2>&1 &\n" +
			leaser(filepath.Join(dir, "lease"))
		if err := os.WriteFile(filepath.Join(dir, "leaser"), []byte(script), 0o755); err != nil {
			s.Fatal(err)
		}
		a := s.attach().WithConfig("ipam", map[string]any{"type": "leaser"})
		a.Path += ":" + dir
		a.MustAdd(s)
		c := a.Prepare("DEL")
		if err := c.Start(); err != nil {
			s.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		for done := false; !done; runtime.Gosched() {
			select {
			case err := <-ended:
				if done = true; err != nil {
					s.Errorf("DEL: %v", err)
				}
			default:
				if waiting(s.T, c.Process.Pid) {
					s.Fatal("DEL waits for the daemon")
				}
			}
		}
		if err := os.WriteFile(end, []byte("end\n"), 0o600); err != nil {
			s.Error(err)
		}
		s.h.DeleteNetns(a.Netns)
		s.clean(before)
	})
}

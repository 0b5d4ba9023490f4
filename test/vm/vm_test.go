//go:build vmhost

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// These tests boot the virtual machine; make vmtest runs them.

// tool is the harness, built as test/vm/run builds it.
type tool struct{ path string }

func build(t *testing.T) tool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vm")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return tool{path}
}

type outcome struct {
	status         int
	stdout, stderr string
}

func (v tool) do(t *testing.T, dir, stdin string, args ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), v.path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "FAIRLEAD_TEST_WORD=two words")
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func TestVM(t *testing.T) {
	t.Parallel()
	vm := build(t)
	// The first boot on a machine fetches the kernel, and says so on stderr.
	if got := vm.do(t, "/", "", "run", "true"); got.status != 0 {
		t.Fatalf("%+v", got)
	}

	t.Run("all passes through", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		got := vm.do(t, dir, "some input\n", "run", "-e", "EXTRA=e", "sh", "-c",
			`cat; pwd; echo here >file; cat file; echo "$FAIRLEAD_TEST_WORD $FAIRLEAD_VM $EXTRA"; head -c 1000000 /dev/zero | tr '\0' x; echo wrong >&2; exit 7`)
		want := outcome{7, "some input\n" + dir + "\nhere\ntwo words 1 e\n" + strings.Repeat("x", 1000000), "wrong\n"}
		if got != want {
			t.Errorf("status %d, %d bytes, stderr %q", got.status, len(got.stdout), got.stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, "file")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("what was written in the guest is on the host: %v", err)
		}
	})

	t.Run("the kernel has every kind", func(t *testing.T) {
		t.Parallel()
		got := vm.do(t, "/", "", "run", "sh", "-ec", everyKind)
		if got.status != 0 {
			t.Errorf("%+v", got)
		}
	})

	t.Run("a panic of the kernel", func(t *testing.T) {
		t.Parallel()
		got := vm.do(t, "/", "", "run", "sh", "-c", "echo before; echo c >/proc/sysrq-trigger; sleep 60")
		if got.status != exitMachine || !strings.Contains(got.stderr, "kernel panicked: sysrq triggered crash") {
			t.Errorf("%+v", got)
		}
	})

	t.Run("a guest that hangs", func(t *testing.T) {
		t.Parallel()
		// Real-time loops on every processor: nothing else runs any more.
		got := vm.do(t, "/", "", "run", "-hang", "10s", "sh", "-c", `echo -1 >/proc/sys/kernel/sched_rt_runtime_us
			for i in 1 2 3 4; do chrt -f 99 sh -c 'while :; do :; done' & done; sleep 600`)
		if got.status != exitMachine || !strings.Contains(got.stderr, "hung") {
			t.Errorf("%+v", got)
		}
	})

	t.Run("a command that takes too long", func(t *testing.T) {
		t.Parallel()
		got := vm.do(t, "/", "", "run", "-timeout", "1s", "sleep", "600")
		if got.status != exitTimeout || !strings.Contains(got.stderr, "stopped after 1s") {
			t.Errorf("%+v", got)
		}
	})

	t.Run("qemu dies with the harness", func(t *testing.T) {
		t.Parallel()
		vm.dies(t)
	})

	t.Run("go test", func(t *testing.T) {
		t.Parallel()
		vm.testGoTest(t)
	})
}

// everyKind makes what the machine at hand may lack.
const everyKind = `
ip link add dummy0 type dummy
ip link add vrf0 type vrf table 100
ip link add wg0 type wireguard
ip link add bridge0 type bridge vlan_filtering 1
ip link set dummy0 master bridge0
bridge vlan add dev dummy0 vid 7
ip link add link eth0 name vlan0 type vlan id 7
ip link add link eth0 name ipvlan0 type ipvlan mode l2
ip link add geneve0 type geneve id 1 remote 192.0.2.1
ip link add ipip0 type ipip remote 192.0.2.1 local 192.0.2.2
ip link add gre0x type gretap remote 192.0.2.1 local 192.0.2.2
ip link add bond0x type bond
ip tuntap add dev tap0 mode tap
tc qdisc add dev dummy0 root netem delay 1ms
sysctl -qw net.vrf.strict_mode=1
nft add table inet t
iptables -t nat -S >/dev/null
`

// dies starts a run, kills the harness, and wants qemu gone.
func (v tool) dies(t *testing.T) {
	t.Helper()
	cmd := exec.Command(v.path, "run", "sh", "-c", "echo up; sleep 600")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, new(string)); err != nil {
		t.Fatal(err)
	}
	qemu := childrenOf(t, cmd.Process.Pid)
	if len(qemu) != 1 {
		t.Fatalf("children of the harness: %v", qemu)
	}
	ended := pidfd(t, qemu[0])
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the harness reports success")
	}
	// A pidfd is readable when its process has ended.
	n, err := retry(func() (int, error) {
		return unix.Poll([]unix.PollFd{{Fd: int32(ended), Events: unix.POLLIN}}, 60_000)
	})
	if n != 1 || err != nil {
		t.Errorf("qemu lives on: %d, %v", n, err)
	}
}

func pidfd(t *testing.T, pid string) int {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(n, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// retry repeats a call that a signal interrupted.
func retry(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func childrenOf(t *testing.T, pid int) []string {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range files {
		list, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Fields(string(list))...)
	}
	return all
}

// testGoTest runs the tests of a module made for it.
func (v tool) testGoTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module example.org/m\n\ngo 1.26\n",
		"kernel/a_test.go":     "package kernel\nimport (\"os\"; \"testing\")\nfunc TestIn(t *testing.T) { if os.Getenv(\"FAIRLEAD_VM\") != \"1\" { t.Fatal(\"not inside\") } }\n",
		"resource/p/p_test.go": "//go:build vmtest\n\npackage p\nimport \"testing\"\nfunc TestBad(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Error(\"so bad\") }) }\n",
		"other/o.go":           "// Package other.\n//\n//fairlead:vmtest\npackage other\n",
		"other/o_test.go":      "package other\nimport \"testing\"\nfunc TestSkip(t *testing.T) { t.Skip(\"not today\") }\n",
		"hidden/h_test.go":     "package hidden\nimport \"testing\"\nfunc TestHidden(t *testing.T) { t.Error(\"ran\") }\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	got := v.do(t, dir, "", "test")
	for _, want := range []string{
		"ok  \texample.org/m/kernel\t", "--- FAIL: TestBad", "so bad", "FAIL\texample.org/m/resource/p\t",
		"--- SKIP: TestSkip", "vmtest: 1 tests passed, 2 failed, 1 skipped",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in:\n%s", want, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "hidden") || got.status != 1 {
		t.Errorf("status %d\n%s%s", got.status, got.stdout, got.stderr)
	}
	got = v.do(t, dir, "", "test", "-run=None", "./kernel")
	if got.status != 1 || !strings.Contains(got.stderr, "no test ran") {
		t.Errorf("%+v", got)
	}
}

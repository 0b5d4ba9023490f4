package ipam

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/test/host"
)

// The test binary is also the process that allocates: FAIRLEAD_TEST_IPAM has
// what it does, where, and for which owners.
const childEnv = "FAIRLEAD_TEST_IPAM"

func TestMain(m *testing.M) {
	if job := os.Getenv(childEnv); job != "" {
		if err := child(strings.Split(job, " ")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child does "add|del|both DATADIR BOOTFILE FROM TO", "both" without end, and
// prints what it got.
func child(job []string) error {
	s, err := Open(job[1], testNet)
	if err != nil {
		return err
	}
	s.bootFile = job[2]
	from, _ := strconv.Atoi(job[3])
	to, _ := strconv.Atoi(job[4])
	set, err := ParseRangeSet([]WireRange{{Subnet: "10.0.0.0/24"}})
	if err != nil {
		return err
	}
	for {
		if job[0] != "del" {
			if err := addAll(s, from, to, set); err != nil {
				return err
			}
		}
		if job[0] != "add" {
			for i := from; i < to; i++ {
				if err := s.Release(context.Background(), owner(i), nil); err != nil {
					return err
				}
			}
		}
		if job[0] != "both" {
			return nil
		}
	}
}

func addAll(s *Store, from, to int, set RangeSet) error {
	for i := from; i < to; i++ {
		got, err := s.Allocate(context.Background(), owner(i), []RangeSet{set}, nil)
		if err != nil {
			return err
		}
		fmt.Println(got[0].Address.Addr())
	}
	return nil
}

func (b *bench) child(job string, from, to int) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %d %d", childEnv, job, b.dataDir, b.boot, from, to))
	return cmd
}

// together runs every call at once and gives their output, line by line.
func together(tb testing.TB, n int, call func(i int) ([]byte, error)) []string {
	tb.Helper()
	var mu sync.Mutex
	var lines []string
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			out, err := call(i)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				tb.Errorf("process %d: %v: %s", i, err, out)
			}
			lines = append(lines, strings.Fields(string(out))...)
		})
	}
	wg.Wait()
	return lines
}

func unique(tb testing.TB, addrs []string, want int) {
	tb.Helper()
	seen := map[string]bool{}
	for _, a := range addrs {
		if seen[a] {
			tb.Errorf("%s was given twice", a)
		}
		seen[a] = true
	}
	if len(seen) != want {
		tb.Errorf("%d addresses, want %d", len(seen), want)
	}
}

func TestSpec39ParallelProcesses(t *testing.T) {
	t.Parallel()
	const processes, each = 32, 7
	b := benchIn(t, t.TempDir())
	addrs := together(t, processes, func(i int) ([]byte, error) {
		return b.child("add", i*each, (i+1)*each).CombinedOutput()
	})
	unique(t, addrs, processes*each)
	b.checkIndex()
	together(t, processes, func(i int) ([]byte, error) {
		return b.child("del", i*each, (i+1)*each).CombinedOutput()
	})
	b.expect(nil)
	b.checkIndex()
}

// SIGKILL at random instants: no lease is ever empty or half written, and the
// next DEL leaves nothing.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	b := benchIn(t, t.TempDir())
	for range 60 {
		cmd := b.child("both", 1, 4)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It is at work when it has printed; then at any instant.
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		b.wholeLeases()
		b.checkIndex()
		for i := 1; i < 4; i++ {
			b.del(owner(i))
		}
		b.expect(nil)
	}
}

// referenceCall runs a verb of the reference on the same leases.
func (b *bench) referenceCall(bin, verb string, id attachment.ID) ([]byte, error) {
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+verb, "CNI_CONTAINERID="+id.Container,
		"CNI_IFNAME="+id.IfName, "CNI_NETNS=/proc/self/ns/net", "CNI_NETNS_OVERRIDE=true", "CNI_PATH="+filepath.Dir(bin))
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"cniVersion":"1.1.0","name":%q,"type":"host-local",
		"ipam":{"type":"host-local","dataDir":%q,"subnet":"10.0.0.0/24"},
		"cni.dev/valid-attachments":[{"containerID":"container-2","ifname":"eth0"}]}`, testNet, b.dataDir))
	cmd.Stderr = io.Discard
	return cmd.Output()
}

func referenceAddr(out []byte) (string, error) {
	var r struct {
		IPs []struct {
			Address string `json:"address"`
		} `json:"ips"`
	}
	if err := json.Unmarshal(out, &r); err != nil || len(r.IPs) != 1 {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	addr, _, _ := strings.Cut(r.IPs[0].Address, "/")
	return addr, nil
}

func TestReferencePlugin(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(host.Reference(t), "host-local")
	set := mustSet(t, WireRange{Subnet: "10.0.0.0/24"})
	must := func(t *testing.T, b *bench, verb string, n int) []byte {
		t.Helper()
		out, err := b.referenceCall(bin, verb, owner(n))
		if err != nil {
			t.Fatalf("%s: %v: %s", verb, err, out)
		}
		return out
	}
	t.Run("Rule13 theirs, then ours", func(t *testing.T) {
		t.Parallel()
		b := benchIn(t, t.TempDir())
		addr, err := referenceAddr(must(t, b, "ADD", 1))
		if err != nil {
			t.Fatal(err)
		}
		if held, err := b.Find(context.Background(), owner(1)); err != nil || len(held) != 1 || held[0].String() != addr {
			t.Errorf("got %v, %v, want %s", held, err, addr)
		}
		if got := b.add(owner(2), set); got[0] != "10.0.0.3" {
			t.Errorf("after theirs: %v", got)
		}
		b.del(owner(1))
		b.expect(map[string]string{"10.0.0.3": "container-2\r\neth0"})
		b.checkIndex()
	})
	t.Run("Rule13 ours, then theirs", func(t *testing.T) {
		t.Parallel()
		b := benchIn(t, t.TempDir())
		b.add(owner(1), set)
		must(t, b, "CHECK", 1)
		if out, err := b.referenceCall(bin, "ADD", owner(1)); err == nil {
			t.Errorf("it added what is ours: %s", out)
		}
		addr, err := referenceAddr(must(t, b, "ADD", 2))
		if err != nil || addr != "10.0.0.3" {
			t.Errorf("got %s, %v", addr, err)
		}
		must(t, b, "DEL", 1)
		b.expect(map[string]string{"10.0.0.3": "container-2\r\neth0"})
		if _, err := b.referenceCall(bin, "CHECK", owner(1)); err == nil {
			t.Error("it finds a lease after DEL: in the index?")
		}
		must(t, b, "DEL", 2)
		b.expect(nil)
		if got := b.add(owner(3), set); got[0] != "10.0.0.4" {
			t.Errorf("got %v", got)
		}
		b.checkIndex()
	})
	t.Run("Rule13 their GC", func(t *testing.T) {
		t.Parallel()
		b := benchIn(t, t.TempDir())
		b.add(owner(1), set)
		b.add(owner(2), set)
		must(t, b, "GC", 0)
		b.expect(map[string]string{"10.0.0.3": "container-2\r\neth0"})
		b.del(owner(1))
		b.add(owner(3), set)
		b.checkIndex()
	})
	t.Run("in parallel", func(t *testing.T) {
		t.Parallel()
		const processes, each = 16, 3
		b := benchIn(t, t.TempDir())
		addrs := together(t, 2*processes, func(i int) ([]byte, error) {
			if i < processes {
				return b.child("add", i*each, (i+1)*each).CombinedOutput()
			}
			out, err := b.referenceCall(bin, "ADD", owner(1000+i))
			if err != nil {
				return out, err
			}
			addr, err := referenceAddr(out)
			return []byte(addr), err
		})
		unique(t, addrs, processes*each+processes)
		together(t, 2*processes, func(i int) ([]byte, error) {
			// Each takes away some of the other's.
			if i < processes {
				return b.child("del", 1000+processes+i, 1000+processes+i+1).CombinedOutput()
			}
			for n := range each {
				if out, err := b.referenceCall(bin, "DEL", owner((i-processes)*each+n)); err != nil {
					return out, err
				}
			}
			return nil, nil
		})
		b.expect(nil)
	})
}

package inject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// This program is its own target: argv[0] says which.
const targetPrefix = "inject-test-"

func targets() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"crowd": crowd, "storm": storm, "write": writeOnce, "ask": ask, "dump": dump,
		"listen": listen, "supervise": supervise, "sends": sendTwice, "forward": forward,
		"family": func([]string) error { _, err := askFamily(unix.GENL_ID_CTRL); return err },
	}
}

func TestMain(m *testing.M) {
	Launch()
	if name, ok := strings.CutPrefix(os.Args[0], targetPrefix); ok {
		status := 0
		if err := targets()[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
		unix.Exit(status) // at once: Go waits a second when built with -race
	}
	os.Exit(m.Run())
}

// target is this program as a target.
func target(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{targetPrefix + name}, args...)
	return cmd
}

// Of the crowd: how many threads there are, and how often each of them sends.
const (
	threads   = 8
	perThread = 50
)

// chat sends to itself.
func chat(times int) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	for range times {
		if err == nil {
			err = unix.Sendto(pair[0], []byte("x"), 0, nil)
		}
		if err == nil {
			_, err = unix.Read(pair[1], make([]byte, 1))
		}
	}
	return err
}

// crowd sends from many threads, and has children that do.
func crowd([]string) error {
	var wg sync.WaitGroup
	errs := make([]error, threads)
	for i := range threads {
		wg.Go(func() {
			errs[i] = chat(perThread)
			if errs[i] == nil {
				errs[i] = exec.Command("ip", "link", "show", "dev", "lo").Run()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// storm sends while all its threads are hit by signals.
func storm([]string) error {
	hits := make(chan os.Signal, 1)
	signal.Notify(hits, unix.SIGUSR1)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			all, err := os.ReadDir("/proc/self/task")
			if err != nil {
				panic(err)
			}
			for _, t := range all {
				if tid, err := strconv.Atoi(t.Name()); err == nil && tid != unix.Gettid() {
					_ = unix.Tgkill(unix.Getpid(), tid, unix.SIGUSR1) // it may have ended
				}
			}
		}
	}()
	defer close(done)
	return chat(threads * perThread)
}

// sendTwice sends once, and again if it may, and says so.
func sendTwice([]string) error {
	for i := range 2 {
		if err := chat(1); err != nil {
			return err
		}
		fmt.Println("sent", i+1)
	}
	return nil
}

// forwards is how often forwarding is switched.
const forwards = 300

// forward switches forwarding on and off.
func forward([]string) error {
	fd, err := unix.Open("/proc/sys/net/ipv4/ip_forward", unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	values := [][]byte{[]byte("1"), []byte("0")}
	for i := range forwards {
		if _, err := unix.Pwrite(fd, values[i%2], 0); err != nil {
			return err
		}
	}
	return nil
}

// writeOnce writes to a file, as its arguments say: path, call, text.
func writeOnce(args []string) error {
	fd, err := unix.Open(args[0], unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	b, n := []byte(args[2]), 0
	switch args[1] {
	case "write":
		n, err = unix.Write(fd, b)
	case "writev":
		n, err = unix.Writev(fd, [][]byte{b[:1], b[1:]})
	}
	fmt.Println(n, err)
	return nil
}

// netlinkSocket is one of NETLINK_ROUTE, bound, or not.
func netlinkSocket(bind bool) (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err == nil && bind {
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	return fd, err
}

// request is a message about a link, by name.
func request(kind, flags uint16, seq uint32, name string) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN+unix.SizeofIfInfomsg, 128)
	if name != "" {
		b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofNlAttr+len(name)+1))
		b = binary.NativeEndian.AppendUint16(b, unix.IFLA_IFNAME)
		b = append(b, name...)
		b = append(b, make([]byte, align(len(name)+1)-len(name))...)
	}
	nlHeader(b, kind, flags|unix.NLM_F_REQUEST, seq)
	return b
}

// ask requests that a link be deleted that is not there, waits for the answer as
// its arguments say, and prints what it is told, and from whom.
func ask(args []string) error {
	fd, err := netlinkSocket(args[0] != "unbound")
	if err != nil {
		return err
	}
	switch args[0] {
	case "capped":
		err = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	case "credentials":
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	}
	if err != nil {
		return err
	}
	kernel := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	sent := request(unix.RTM_DELLINK, unix.NLM_F_ACK, 77, "nobody")
	if err := unix.Sendto(fd, sent, 0, kernel); err != nil {
		return err
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, 5000); err != nil || n != 1 {
		return fmt.Errorf("not pollable: %d, %w", n, err)
	}
	size := 4096
	if args[0] == "peek" {
		if size, _, _, _, err = unix.Recvmsg(fd, nil, nil, unix.MSG_PEEK|unix.MSG_TRUNC); err != nil {
			return err
		}
	}
	b, oob := make([]byte, size), make([]byte, 64)
	var n, oobn, flags int
	var from unix.Sockaddr
	if args[0] == "recvfrom" {
		n, from, err = unix.Recvfrom(fd, b, 0)
	} else {
		n, oobn, flags, from, err = unix.Recvmsg(fd, b, oob, 0)
	}
	if err != nil {
		return err
	}
	m := Messages(b[:n])
	if len(m) != 1 || len(m[0].Body) < 20 {
		return fmt.Errorf("%d messages in %d bytes", len(m), n)
	}
	echoed := string(m[0].Body[4:]) == string(sent) || args[0] == "capped" && string(m[0].Body[4:]) == string(sent[:16])
	fmt.Printf("type %d flags %#x seq %d errno %d echoed %t control %d msgflags %#x from %d\n",
		m[0].Type, m[0].Flags, m[0].Seq, -int32(binary.NativeEndian.Uint32(m[0].Body)), echoed, oobn, flags,
		from.(*unix.SockaddrNetlink).Pid)
	if _, _, err = unix.Recvfrom(fd, b, unix.MSG_DONTWAIT); !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("and then: %w", err)
	}
	return nil
}

// dump lists all links, and prints how many there were and whether the kernel
// said that they had changed meanwhile.
func dump(args []string) error {
	fd, err := netlinkSocket(true)
	if err != nil {
		return err
	}
	sent := request(unix.RTM_GETLINK, unix.NLM_F_DUMP, 5, "")
	if err := unix.Sendto(fd, sent, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	entries, interrupted := 0, false
	for {
		b := make([]byte, 1<<16)
		if args[0] == "peek" {
			n, _, err := unix.Recvfrom(fd, nil, unix.MSG_PEEK|unix.MSG_TRUNC)
			if err != nil {
				return err
			}
			b = b[:n]
		}
		n, _, err := unix.Recvfrom(fd, b, 0)
		if err != nil {
			return err
		}
		for _, m := range Messages(b[:n]) {
			interrupted = interrupted || m.Flags&unix.NLM_F_DUMP_INTR != 0
			if m.Type == unix.NLMSG_DONE {
				fmt.Println("links", entries, "interrupted", interrupted)
				return nil
			}
			entries++
		}
	}
}

// listen tries to put a filter with a listener of its own on.
func listen([]string) error {
	_, err := install([]int{unix.SYS_PRCTL})
	fmt.Println(errors.Is(err, unix.EBUSY))
	return nil
}

// supervise is a supervisor: it runs a shell's words under the filter, and says
// when the first call came.
func supervise(args []string) error {
	cmd := exec.Command("sh", "-c", args[0])
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	said := false
	return Run(cmd, Files(), func(*Call) Verdict {
		if !said {
			said = true
			fmt.Println("heard")
		}
		return Verdict{}
	})
}

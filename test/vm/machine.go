package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// machineConfig says what to boot and how patient to be.
type machineConfig struct {
	Kernel   kernel
	Append   []string      // more kernel parameters
	Memory   string        // as qemu's -m
	CPUs     string        // as qemu's -smp
	BootTime time.Duration // until the guest must be ready
	HangTime time.Duration // silence after which the guest counts as hung
}

// machine is a running virtual machine.
type machine struct {
	link    *link
	console *console
	qemu    *exec.Cmd
	cancel  context.CancelFunc
	ready   chan struct{} // closed when the guest has greeted
	down    chan struct{} // closed when the machine is gone, after err is set
	err     error
	heard   chan struct{} // a frame came

	mu   sync.Mutex
	next int
	runs map[int]*hostRun
}

// hostRun is a command in the guest, as the host sees it.
type hostRun struct {
	stdout, stderr io.Writer
	status         chan int
}

// boot starts a machine and returns when it takes commands. The machine dies
// with ctx, with this process, and when it hangs.
func boot(ctx context.Context, c machineConfig) (*machine, error) {
	ctx, cancel := context.WithCancel(ctx)
	m := &machine{
		console: &console{},
		cancel:  cancel,
		ready:   make(chan struct{}),
		down:    make(chan struct{}),
		heard:   make(chan struct{}, 1),
		runs:    map[int]*hostRun{},
	}
	ours, err := m.start(ctx, c)
	if err != nil {
		cancel()
		return nil, err
	}
	m.link = newLink(ours)
	go m.receive()
	go m.wait(ours)
	go m.watch(c.HangTime)

	late := time.NewTimer(c.BootTime)
	defer late.Stop()
	select {
	case <-m.ready:
		return m, nil
	case <-m.down:
		return nil, m.err
	case <-late.C:
		m.stop(fmt.Errorf("the guest was not up after %s", c.BootTime))
		<-m.down
		return nil, m.err
	}
}

// start starts qemu and returns the host's end of the port.
func (m *machine) start(ctx context.Context, c machineConfig) (*os.File, error) {
	qemu, err := findTool("qemu-system-x86_64")
	if err != nil {
		return nil, err
	}
	initramfs, err := os.CreateTemp("", "fairlead-vm-*.cpio")
	if err != nil {
		return nil, err
	}
	defer initramfs.Close()
	// qemu reads it by the descriptor that it inherits.
	defer os.Remove(initramfs.Name())
	if err := writeInitramfs(ctx, initramfs, c.Kernel); err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "port"), os.NewFile(uintptr(pair[1]), "port")
	defer theirs.Close()

	m.qemu = exec.CommandContext(ctx, qemu, qemuArgs(c, "/dev/fd/4", "3")...)
	m.qemu.ExtraFiles = []*os.File{theirs, initramfs} // descriptors 3 and 4
	m.qemu.Stdout = m.console
	m.qemu.Stderr = m.console
	// qemu must not outlive this process, however that ends. The signal is
	// tied to the thread that starts qemu: main keeps it (see main).
	m.qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := m.qemu.Start(); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return ours, nil
}

// qemuArgs are qemu's arguments: no KVM, no disk, two 9p shares, one port for
// frames, the console on standard output, and a network card without a network.
func qemuArgs(c machineConfig, initramfs, portFD string) []string {
	share := func(path, tag string) []string {
		path = strings.ReplaceAll(path, ",", ",,")
		return []string{"-virtfs", "local,path=" + path + ",mount_tag=" + tag +
			",security_model=none,readonly=on,multidevs=remap"}
	}
	args := []string{
		"-accel", "tcg,thread=multi", "-cpu", processor, "-smp", c.CPUs, "-m", c.Memory,
		"-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot", "-nodefaults", "-no-user-config",
		"-kernel", c.Kernel.Image, "-initrd", initramfs,
		"-append", strings.Join(append(kernelParameters(), c.Append...), " "),
		"-device", "virtio-serial-pci", "-chardev", "socket,id=port,fd=" + portFD,
		"-device", "virtserialport,chardev=port,name=" + portName,
		"-nic", "user,model=virtio,restrict=on",
	}
	args = append(args, share("/", tagRoot)...)
	if c.Kernel.Modules != "" {
		args = append(args, share(c.Kernel.Modules, tagModules)...)
	}
	return args
}

// processor has all that qemu can emulate, but for the claim to copy and clear
// memory quickly by single bytes: the kernel takes that at its word, and a page
// takes eight times as long as by words.
const processor = "max,-erms,-fsrm"

// kernelParameters are what the guest's kernel is started with. The clock is the
// HPET: the TSC is quicker to read, but its frequency is guessed wrongly, by a
// factor, when the host is busy during the boot.
func kernelParameters() []string {
	return []string{
		"console=ttyS0", "quiet", "net.ifnames=0",
		"panic=-1", "oops=panic", // an end that the host sees, not a wait
		// Emulated, these only cost time: guards against the processor, and
		// leisurely grace periods, by which namespaces and links die.
		"mitigations=off", "rcupdate.rcu_expedited=1",
		// As does clearing memory that nobody looks at.
		"transparent_hugepage=never", "init_on_alloc=0",
	}
}

// receive hands the guest's frames to whom they concern.
func (m *machine) receive() {
	for {
		f, err := m.link.receive()
		if err != nil {
			// qemu is going; wait tells why.
			return
		}
		select {
		case m.heard <- struct{}{}:
		default:
		}
		m.mu.Lock()
		run := m.runs[f.Run]
		m.mu.Unlock()
		switch {
		case f.Kind == frameHello:
			close(m.ready)
		case run == nil:
		case f.Kind == frameStdout:
			_, _ = run.stdout.Write(f.Data)
		case f.Kind == frameStderr:
			_, _ = run.stderr.Write(f.Data)
		case f.Kind == frameNotFound:
			_, _ = fmt.Fprintln(run.stderr, string(f.Data))
			run.status <- f.Status
		case f.Kind == frameExit:
			run.status <- f.Status
		}
	}
}

// wait waits for qemu's end, which is never a good sign unless close caused it.
func (m *machine) wait(ours *os.File) {
	err := m.qemu.Wait()
	m.mu.Lock()
	if m.err == nil {
		m.err = m.console.explain(err)
	}
	m.mu.Unlock()
	close(m.down)
	ours.Close()
}

// watch stops a guest that says nothing any more.
func (m *machine) watch(limit time.Duration) {
	select {
	case <-m.ready:
	case <-m.down:
		return
	}
	silence := time.NewTimer(limit)
	defer silence.Stop()
	for {
		select {
		case <-m.heard:
			silence.Reset(limit)
		case <-m.down:
			return
		case <-silence.C:
			m.stop(fmt.Errorf("the guest hung: nothing was heard from it for %s", limit))
			return
		}
	}
}

// stop ends the machine for the given reason.
func (m *machine) stop(reason error) {
	m.mu.Lock()
	if m.err == nil {
		m.err = m.console.withTail(reason)
	}
	m.mu.Unlock()
	m.cancel()
}

// close ends the machine and waits until it is gone.
func (m *machine) close() {
	m.stop(errClosed)
	<-m.down
}

var errClosed = errors.New("the virtual machine was shut down")

// run runs c in the guest. The status is as a shell says it; an error means
// that the machine failed, not the command. When ctx ends the command is killed.
func (m *machine) run(ctx context.Context, c command, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	r := &hostRun{stdout: stdout, stderr: stderr, status: make(chan int, 1)}
	m.mu.Lock()
	m.next++
	n := m.next
	m.runs[n] = r
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.runs, n)
		m.mu.Unlock()
	}()

	if err := m.link.send(frame{Run: n, Kind: frameStart, Command: &c}); err != nil {
		<-m.down
		return 0, m.err
	}
	go m.link.sendInput(n, stdin)
	done := ctx.Done()
	for {
		select {
		case status := <-r.status:
			return status, nil
		case <-m.down:
			return 0, m.err
		case <-done:
			done = nil
			_ = m.link.send(frame{Run: n, Kind: frameKill})
		}
	}
}

// console keeps the end of what the guest's kernel and qemu say.
type console struct {
	mu   sync.Mutex
	text []byte
}

const consoleKept = 64 << 10 // bytes

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	if excess := len(c.text) - consoleKept; excess > 0 {
		c.text = c.text[excess:]
	}
	return len(p), nil
}

// explain says why the machine ended by itself; err is qemu's.
func (c *console) explain(err error) error {
	reason := "qemu ended"
	if err != nil {
		reason += ": " + err.Error()
	}
	c.mu.Lock()
	text := string(c.text)
	c.mu.Unlock()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if _, said, ok := strings.Cut(line, consolePrefix); ok {
			reason = "the guest's init failed: " + said
			break
		}
		if _, said, ok := strings.Cut(line, "Kernel panic - not syncing: "); ok {
			reason = "the guest's kernel panicked: " + said
			break
		}
	}
	return c.withTail(errors.New(reason))
}

// withTail adds the last lines of the console to the reason.
func (c *console) withTail(reason error) error {
	if errors.Is(reason, errClosed) {
		return reason
	}
	const tail = 60
	c.mu.Lock()
	lines := strings.Split(strings.TrimSpace(string(c.text)), "\n")
	c.mu.Unlock()
	if len(lines) > tail {
		lines = lines[len(lines)-tail:]
	}
	for i, l := range lines {
		lines[i] = "  | " + strings.TrimRight(l, "\r")
	}
	return fmt.Errorf("%w\n%s", reason, strings.Join(lines, "\n"))
}

// defaultMachine is what tests run in unless told otherwise.
func defaultMachine(ctx context.Context, getenv func(string) string) (machineConfig, error) {
	if runtime.GOARCH != "amd64" {
		return machineConfig{}, fmt.Errorf("the virtual machine needs an amd64 host, this is %s", runtime.GOARCH)
	}
	cache, err := cacheDir(getenv)
	if err != nil {
		return machineConfig{}, err
	}
	k, err := findKernel(ctx, getenv("FAIRLEAD_VM_KERNEL"), filepath.Clean(cache))
	if err != nil {
		return machineConfig{}, err
	}
	return machineConfig{Kernel: k, Append: strings.Fields(getenv("FAIRLEAD_VM_APPEND")), Memory: "2048", CPUs: strconv.Itoa(min(max(runtime.NumCPU(), 2), 4)), BootTime: 3 * time.Minute, HangTime: 2 * time.Minute}, nil
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Exit codes of the harness itself, beside those of the command in the guest.
const (
	exitUsage   = 2
	exitTimeout = 124 // the command was stopped for its time
	exitMachine = 125 // the virtual machine failed, not the command
)

const usage = `usage:
  vm run [-e NAME[=VALUE]]... [-timeout D] [-hang D] CMD [ARG]...
  vm test [-v] [go test flags] [packages]

run runs a command in the virtual machine; input, output and exit status pass
through. test runs the integration tests there (see test/vm/README.md).

environment:
  FAIRLEAD_VM_KERNEL  kernel image, unpacked package, .deb file, or Debian package (linux-image-amd64)
  FAIRLEAD_VM_APPEND  more kernel parameters, with spaces between (ipv6.disable=1)
  FAIRLEAD_VM_CACHE   where kernels are kept (~/.cache/fairlead/vm)
`

func main() {
	if os.Getpid() == 1 {
		guestMain()
	}
	// qemu is told to die with the thread that started it: keep that one.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code, err := dispatch(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
	}
	os.Exit(code)
}

func dispatch(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return exitUsage, errors.New("no command: see vm help")
	}
	switch args[0] {
	case "run":
		return runMain(ctx, args[1:])
	case "test":
		return testMain(ctx, args[1:])
	case "client": // started by go test -exec
		return clientMain(args[1:])
	case "help", "-h", "--help":
		fmt.Print(usage)
		return 0, nil
	}
	return exitUsage, fmt.Errorf("unknown command %q: see vm help", args[0])
}

// runMain is `vm run`.
func runMain(ctx context.Context, args []string) (int, error) {
	var set []string
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flags.Func("e", "", func(v string) error { set = append(set, v); return nil })
	timeout := flags.Duration("timeout", 30*time.Minute, "")
	hang := flags.Duration("hang", 0, "")
	if err := flags.Parse(args); err != nil {
		return exitUsage, nil
	}
	if flags.NArg() == 0 {
		return exitUsage, errors.New("no command to run: see vm help")
	}
	c, err := hostCommand(flags.Args(), set)
	if err != nil {
		return exitMachine, err
	}
	config, err := defaultMachine(ctx, os.Getenv)
	if err != nil {
		return exitMachine, err
	}
	if *hang > 0 {
		config.HangTime = *hang
	}
	m, err := boot(ctx, config)
	if ctx.Err() != nil {
		return exitMachine, errors.New("interrupted")
	}
	if err != nil {
		return exitMachine, err
	}
	defer m.close()
	return runOne(ctx, m, c, *timeout)
}

// runOne runs c with this process's input and output, for no longer than limit.
func runOne(ctx context.Context, m *machine, c command, limit time.Duration) (int, error) {
	late := make(chan struct{})
	timer := time.AfterFunc(limit, func() {
		close(late)
		m.close()
	})
	defer timer.Stop()
	status, err := m.run(context.Background(), c, os.Stdin, os.Stdout, os.Stderr)
	switch {
	case err == nil:
		return status, nil
	case ctx.Err() != nil:
		return exitMachine, errors.New("interrupted")
	}
	select {
	case <-late:
		return exitTimeout, fmt.Errorf("stopped after %s", limit)
	default:
		return exitMachine, err
	}
}

// hostCommand is argv as it would run here: same directory, same environment
// as far as passEnv lets it through.
func hostCommand(argv, set []string) (command, error) {
	dir, err := os.Getwd()
	if err != nil {
		return command{}, err
	}
	return command{Argv: argv, Dir: dir, Env: passEnv(os.Environ(), set)}, nil
}

// passEnv chooses the variables that go into the guest. Each of set is
// NAME=VALUE, or NAME to pass this process's value.
func passEnv(environ, set []string) []string {
	names := []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TERM", "TZ", "CAP_ARGS", "NO_COLOR"}
	prefixes := []string{"LC_", "GO", "CNI_", "FAIRLEAD_"}
	chosen := map[string]string{"PATH": "/usr/bin:/bin", "FAIRLEAD_VM": "1"}
	host := map[string]string{}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		host[name] = value
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				chosen[name] = value
			}
		}
	}
	for _, name := range names {
		if value, ok := host[name]; ok {
			chosen[name] = value
		}
	}
	chosen["FAIRLEAD_VM"] = "1"
	chosen["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"
	for _, s := range set {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			value, ok = host[name]
		}
		if ok {
			chosen[name] = value
		}
	}
	env := make([]string, 0, len(chosen))
	for name, value := range chosen {
		env = append(env, name+"="+value)
	}
	return env
}

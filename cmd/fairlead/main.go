// Command fairlead is every CNI plugin of Fairlead in one binary, acting by the
// name that it is called by, and under its own name the operator's tool.
//
// What may enter: the table of plugins, and commands for operators. Nothing may
// be initialised for the commands when it is called as a plugin.
package main

import (
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/kernel"
)

// version is set by the linker.
var version = "devel"

func main() {
	if code, ok := kernel.MakeTap(os.Args); ok {
		os.Exit(code)
	}
	name := filepath.Base(os.Args[0])
	if _, ok := findPlugin(name); ok {
		surviveBrokenPipes()
		os.Exit(runner().Main(name))
	}
	os.Exit(operate(os.Args[1:]))
}

// surviveBrokenPipes makes a write to a pipe that nobody reads any more an
// error: an ADD whose result nobody heard is undone, and a DEL goes on though
// nobody reads its warnings. The signal is not ignored but caught, so that
// delegates that are executed have it as they expect it.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }

// runner makes calls with this process's environment and streams.
func runner() *cni.Runner {
	return &cni.Runner{
		Plugins: findPlugin, Kinds: kinds,
		Getenv: os.Getenv, Environ: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
}

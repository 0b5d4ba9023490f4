// Command fairlead is every CNI plugin of Fairlead in one binary, acting by the
// name that it is called by, and under its own name the operator's tool.
//
// What may enter: the table of plugins, and commands for operators. Nothing may
// be initialised for the commands when it is called as a plugin.
package main

import (
	"os"
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
	_, plugin := findPlugin(name)
	// A runtime that calls us by a name we don't know, without an argument, is
	// told so by the protocol: help would pass for success.
	if plugin || len(os.Args) < 2 && cni.Called(os.Getenv) {
		r := runner()
		r.Stdout, r.Stderr = unsignalled(os.Stdout), unsignalled(os.Stderr)
		os.Exit(r.Main(name))
	}
	os.Exit(operate(os.Args[1:]))
}

// unsignalled is the same pipe under another number: on descriptors 1 and 2
// alone Go takes a pipe that nobody reads for the end of the program. Here it
// is an error: an ADD whose result nobody heard is undone, and a DEL goes on
// though nobody reads its warnings. To catch the signal would cost every call
// another thread.
func unsignalled(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f // it is closed, which is an error by itself
	}
	return os.NewFile(uintptr(fd), f.Name())
}

// runner makes calls with this process's environment and streams.
func runner() *cni.Runner {
	return &cni.Runner{
		Plugins: findPlugin, Kinds: kinds,
		Getenv: os.Getenv, Environ: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
}

// Command fairlead is every CNI plugin of Fairlead in one binary, acting by the
// name that it is called by, and under its own name the operator's tool.
//
// What may enter: the table of plugins, and commands for operators. Nothing may
// be initialised for the commands when it is called as a plugin.
package main

import (
	"os"
	"path/filepath"

	"github.com/fairlead-net/fairlead/cni"
)

// version is set by the linker.
var version = "devel"

func main() {
	name := filepath.Base(os.Args[0])
	if _, ok := findPlugin(name); ok {
		os.Exit(runner().Main(name))
	}
	os.Exit(operate(os.Args[1:]))
}

// runner makes calls with this process's environment and streams.
func runner() *cni.Runner {
	return &cni.Runner{
		Plugins: findPlugin, Kinds: kinds,
		Getenv: os.Getenv, Environ: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
}

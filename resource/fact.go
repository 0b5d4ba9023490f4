package resource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/fairlead-net/fairlead/engine"
)

// Fact is something to be looked up before it can be decided what to make.
type Fact = engine.Fact[Env]

// MachineID is the name of this machine among all: a string that the addresses
// of bridges are derived from.
type MachineID struct{}

// The files that have it. A system without the first is known until it is
// started again only.
const (
	machineIDFile = "/etc/machine-id"
	bootIDFile    = "/proc/sys/kernel/random/boot_id"
)

func (MachineID) Name() string { return "machine-id" }
func (MachineID) Lock() string { return "" }

// Find reads it.
func (MachineID) Find(context.Context, Env) (any, error) {
	return firstLine(machineIDFile, bootIDFile)
}

// firstLine gives what the first of the files has that has anything.
func firstLine(files ...string) (string, error) {
	var errs []error
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		line, _, _ := strings.Cut(string(b), "\n")
		if line = strings.TrimSpace(line); line != "" && line != "uninitialized" {
			return line, nil
		}
	}
	return "", fmt.Errorf("no machine id: %w", errors.Join(errs...))
}

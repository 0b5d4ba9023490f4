package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// module is the reference suite. Its dependencies come by the go command.
const module = "github.com/containernetworking/plugins@v1.10.0"

//go:embed shim.go.txt
var shim string

//go:embed run.sh
var runScript []byte

// all are the plugins that both suites have.
var all = []string{
	"host-local", "static", "bridge", "dummy", "host-device", "ipvlan", "loopback", "macvlan", "ptp", "tap", "vlan",
	"sbr", "tuning", "vrf",
}

func main() {
	into := flag.String("into", "", "folder to build in; one that is there is used again")
	binary := flag.String("binary", "bin/fairlead", "Fairlead's binary")
	buildOnly := flag.Bool("build", false, "build only: FOLDER/run PLUGIN runs the specs of one")
	flag.Parse()
	plugins := flag.Args()
	if len(plugins) == 0 {
		plugins = all
	}
	if err := run(*into, *binary, *buildOnly, plugins); err != nil {
		fmt.Fprintln(os.Stderr, "specs:", err)
		os.Exit(1)
	}
}

func run(into, binary string, buildOnly bool, plugins []string) error {
	var err error
	if into == "" {
		if into, err = os.MkdirTemp("", "fairlead-specs-"); err != nil {
			return err
		}
		defer os.RemoveAll(into)
	}
	if into, err = filepath.Abs(into); err != nil {
		return err
	}
	if err := prepare(into, binary); err != nil {
		return err
	}
	var errs []error
	for _, name := range plugins {
		if err := build(into, name); err != nil {
			return err
		}
		if !buildOnly {
			cmd := exec.Command(filepath.Join(into, "run"), name) //nolint:gosec // what we have written
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Run(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// prepare copies the module and puts Fairlead beside it, under all names.
func prepare(into, binary string) error {
	if err := os.MkdirAll(into, 0o755); err != nil { //nolint:gosec // others may look
		return err
	}
	source := filepath.Join(into, "source")
	if _, err := os.Stat(source); err != nil {
		dir, err := command("", "go", "mod", "download", "-json", module)
		if err != nil {
			return err
		}
		found := regexp.MustCompile(`"Dir": "(.*)"`).FindStringSubmatch(dir)
		if found == nil {
			return fmt.Errorf("go mod download did not say where %s is: %s", module, dir)
		}
		if _, err := command("", "cp", "-r", "--no-preserve=mode", found[1], source); err != nil {
			return err
		}
	}
	bin := filepath.Join(into, "bin")
	if err := os.RemoveAll(bin); err != nil {
		return err
	}
	if err := os.Mkdir(bin, 0o755); err != nil { //nolint:gosec // others may look
		return err
	}
	if _, err := command("", "cp", binary, filepath.Join(bin, "fairlead")); err != nil {
		return err
	}
	for _, name := range all {
		if err := os.Symlink("fairlead", filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(into, "run"), runScript, 0o755) //nolint:gosec // a script
}

var verb = regexp.MustCompile(`(?m)^func cmd(Add|Del|Check|Status|GC)\(`)

// build puts the shim in the place of the plugin's verbs, and compiles its specs.
func build(into, name string) error {
	found, err := filepath.Glob(filepath.Join(into, "source/plugins/*", name))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%s: no such plugin in %s (%v, %w)", name, module, found, err)
	}
	files, err := filepath.Glob(filepath.Join(found[0], "*.go"))
	if err != nil {
		return err
	}
	for _, f := range slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
		text, err := os.ReadFile(f)
		if err == nil && filepath.Base(f) != "shim.go" {
			err = os.WriteFile(f, verb.ReplaceAll(text, []byte("func theirs$1(")), 0o600)
		}
		if err != nil {
			return err
		}
	}
	text := strings.NewReplacer("PLUGIN", strconv.Quote(name), "BINARIES", strconv.Quote(filepath.Join(into, "bin"))).Replace(shim)
	if err := os.WriteFile(filepath.Join(found[0], "shim.go"), []byte(text), 0o600); err != nil {
		return err
	}
	_, err = command(found[0], "go", "test", "-mod=mod", "-c", "-o", filepath.Join(into, name+".test"), ".")
	return err
}

func command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, errs.String())
	}
	return string(out), nil
}

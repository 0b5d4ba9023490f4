// Recorder is a delegate for tests: it writes down how it was called, and
// answers as the configuration tells it to, under the key "recorder".
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Instructions are what a test asks of the recorder.
type Instructions struct {
	// Dir is where calls are written down, one file each.
	Dir string `json:"dir"`
	// Result is what ADD prints, less the version.
	Result map[string]any `json:"result"`
	// Errors are error objects by verb; such a call fails.
	Errors map[string]map[string]any `json:"errors"`
	// ErrorsFrom is a file with more of them, which a test may change while
	// the configuration stays as it is.
	ErrorsFrom string `json:"errorsFrom"`
	// Stdout is printed by ADD instead of the result.
	Stdout string `json:"stdout"`
	// Stderr is written there by every call.
	Stderr string `json:"stderr"`
	// Look makes every call write down the links and addresses that it finds,
	// on the host and in the container.
	Look bool `json:"look"`
}

// Record is what is written down of one call.
type Record struct {
	Program   string          `json:"program"`
	Verb      string          `json:"verb"`
	Env       []string        `json:"env"`
	Stdin     json.RawMessage `json:"stdin"`
	Host      json.RawMessage `json:"host,omitempty"`
	Container json.RawMessage `json:"container,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		os.Exit(2)
	}
}

func run() error {
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	verb := os.Getenv("CNI_COMMAND")
	var conf struct {
		CNIVersion string       `json:"cniVersion"`
		Recorder   Instructions `json:"recorder"`
	}
	if err := json.Unmarshal(stdin, &conf); err != nil {
		return err
	}
	if verb == "VERSION" {
		return print(map[string]any{"cniVersion": conf.CNIVersion, "supportedVersions": []string{
			"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"}})
	}
	do := conf.Recorder
	if err := write(do, Record{Program: os.Args[0], Verb: verb, Env: os.Environ(), Stdin: stdin}); err != nil {
		return err
	}
	fmt.Fprint(os.Stderr, do.Stderr)
	if err := moreErrors(&do); err != nil {
		return err
	}
	if e, ok := do.Errors[verb]; ok {
		e["cniVersion"] = conf.CNIVersion
		if err := print(e); err != nil {
			return err
		}
		os.Exit(1)
	}
	if verb != "ADD" {
		return nil
	}
	if do.Stdout != "" {
		_, err := fmt.Print(do.Stdout)
		return err
	}
	result := map[string]any{"cniVersion": conf.CNIVersion}
	for k, v := range do.Result {
		result[k] = v
	}
	return print(result)
}

func moreErrors(do *Instructions) error {
	if do.ErrorsFrom == "" {
		return nil
	}
	b, err := os.ReadFile(do.ErrorsFrom)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(b, &do.Errors)
}

func write(do Instructions, r Record) error {
	if do.Dir == "" {
		return nil
	}
	if do.Look {
		r.Host = look("ip")
		r.Container = look("nsenter", "--net="+os.Getenv("CNI_NETNS"), "ip")
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%020d-%d-%s.json", time.Now().UnixNano(), os.Getpid(), r.Verb)
	return os.WriteFile(filepath.Join(do.Dir, name), b, 0o644)
}

// look lists links and addresses; null says that there was nothing to look at.
func look(command ...string) json.RawMessage {
	out, err := exec.Command(command[0], append(command[1:], "-j", "address", "show")...).Output()
	if err != nil || !json.Valid(out) {
		return json.RawMessage("null")
	}
	return out
}

func print(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

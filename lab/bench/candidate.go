package bench

import (
	"encoding/json"
	"path/filepath"
)

// The candidates' names, by which goals refer to them.
const (
	nameReference = "reference"
	nameFairlead  = "fairlead"
	nameFloor     = "floor"         // the floor's calls alone
	nameProcess   = "floor process" // with its start and end
	nameEmpty     = "empty"
)

// candidate is one of those that are held against each other.
type candidate interface {
	name() string
	// runs says whether it has a part in the scenario.
	runs(scenario) bool
	// prepare makes in the candidate's host, on whose thread it is called,
	// what the scenario wants there before the first call.
	prepare(scenario) error
	// process is what a call executes.
	process(scenario, operation, *call) process
}

// candidates are all that there are binaries of, in the order of the tables.
func (b *binaries) candidates() []candidate {
	list := []candidate{plugins{nameReference, b.reference}}
	if b.fairlead != "" {
		list = append(list, plugins{nameFairlead, b.fairlead})
	}
	return append(list, floor{b.floor}, empty{b.empty})
}

// plugins are CNI plugins, by name in one directory.
type plugins struct{ called, dir string }

func (p plugins) name() string             { return p.called }
func (p plugins) runs(scenario) bool       { return true }
func (p plugins) prepare(s scenario) error { return makeLeases(s.leases) }

func (p plugins) process(s scenario, op operation, c *call) process {
	result := c.first
	if op != opAdd {
		result = c.result
	}
	return process{
		path:  filepath.Join(p.dir, s.plugin),
		env:   c.environment(op, p.dir),
		stdin: s.input(result),
	}
}

// begin has the plugin before make the interface; end has it remove it.
func (p plugins) begin(s scenario, c *call) (err error) {
	c.first, err = p.runFirst(s, opAdd, c)
	return err
}

func (p plugins) end(s scenario, c *call) error {
	_, err := p.runFirst(s, opDel, c)
	return err
}

func (p plugins) runFirst(s scenario, op operation, c *call) ([]byte, error) {
	if s.first == "" {
		return nil, nil
	}
	var conf struct {
		Type string `json:"type"`
	}
	in := input(s.first, nil)
	if err := json.Unmarshal(in, &conf); err != nil {
		return nil, err
	}
	out, _, err := process{path: filepath.Join(p.dir, conf.Type), env: c.environment(op, p.dir), stdin: in}.run()
	return out, err
}

// empty is the program that does nothing, called like a plugin.
type empty struct{ path string }

func (empty) name() string           { return nameEmpty }
func (empty) runs(scenario) bool     { return true }
func (empty) prepare(scenario) error { return nil }

func (e empty) process(s scenario, op operation, c *call) process {
	return process{path: e.path, env: c.environment(op, "/nowhere"), stdin: s.input(nil)}
}

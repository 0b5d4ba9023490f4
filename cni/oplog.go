package cni

import (
	"encoding/json"
	"time"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
)

// log writes the line of rule 23. That it could not be written is no reason to
// fail a call. A runtime asks for STATUS every few seconds: that all is well, or
// that it is as bad as it was, would drive out what the log is there for.
func (c *call) log(start time.Time, err error) {
	if c.engine == nil || c.engine.Journal == nil || c.req.Verb == Status && err == nil {
		return
	}
	rec := record(start, c.req.Verb, c.plugin.Name, c.req.ID(), err)
	if c.req.Verb == Status && c.engine.Journal.Repeats(rec) {
		return
	}
	if err := c.engine.Journal.Log(rec); err != nil {
		c.warn("write the operation log: %v", err)
	}
}

func record(start time.Time, verb Verb, plugin string, id attachment.ID, err error) engine.OpRecord {
	rec := engine.OpRecord{
		Time: start.UTC(), Verb: string(verb), Plugin: plugin,
		ID: id, Duration: time.Since(start), Outcome: "ok",
	}
	if err != nil {
		rec.Outcome, rec.Error = "failed", err.Error()
	}
	return rec
}

// logRefused writes the line of a request that was refused before it became a
// call, with what is known of it: a runtime may show nobody what it was told.
func (r *Runner) logRefused(start time.Time, name string, req *Request, err error) {
	journal, noState := openJournal(r.Getenv)
	if noState != nil {
		return
	}
	id := req.ID()
	if id.Network == "" {
		var conf struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(req.Stdin, &conf) // what can't be read names no network
		id.Network = conf.Name
	}
	rec := record(start, req.Verb, name, id, err)
	if journal.Repeats(rec) {
		return // whoever repeats it will hear the same
	}
	if err := journal.Log(rec); err != nil {
		r.warn(name, "write the operation log: %v", err)
	}
}

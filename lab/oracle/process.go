package oracle

import (
	"strings"

	"github.com/fairlead-net/fairlead/lab/host"
)

// processFacts tells what runs in the host. Numbers are not told: they differ
// from run to run.
func processFacts(list []host.Process) []fact {
	facts := make([]fact, 0, len(list))
	for _, p := range list {
		name := strings.Join(p.Args, " ")
		if name == "" {
			name = p.Program
		}
		facts = append(facts, fact{Item: Item{Kind: "process", Where: hostName, Name: name}})
	}
	return facts
}

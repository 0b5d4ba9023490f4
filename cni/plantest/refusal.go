package plantest

import (
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
)

// Refusal is an ADD that can't be made.
type Refusal struct {
	Conf string // less cniVersion and name
	Args string // CNI_ARGS
	Code uint
	Says string // part of the message
	// Nothing: DEL has nothing to remove, since ADD can't have made anything.
	Nothing bool
}

// Refuses tests that a plugin says so, with the facts of the golden plans, and
// that DEL and GC go on by what they can use where del is set.
func Refuses(t *testing.T, plugin cni.Plugin, del bool, all map[string]Refusal) {
	t.Helper()
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := Request([]byte(`{"cniVersion": "1.1.0", "name": "net", "type": "` + plugin.Name + `"` + r.Conf + `}`))
			req.Args = r.Args
			_, err := cni.Plan(plugin, req, Facts(), cni.Known[*current.Result]{})
			if err == nil || cni.Code(err) != r.Code || !strings.Contains(err.Error(), r.Says) {
				t.Errorf("%v, want code %d and %q", err, r.Code, r.Says)
			}
			if !del || r.Code == cni.CodeDecode {
				return
			}
			req.Verb, req.Netns = cni.Del, ""
			list, err := cni.Plan(plugin, req, cni.Facts{}, cni.Known[*current.Result]{})
			if err != nil || (len(list) == 0) != r.Nothing {
				t.Errorf("DEL: %v, %v", list, err)
			}
			req.Verb, req.ContainerID, req.IfName, req.Args = cni.GC, "", "", ""
			if _, err := cni.Plan(plugin, req, cni.Facts{}, cni.Known[*current.Result]{}); err != nil {
				t.Errorf("GC: %v", err)
			}
		})
	}
}

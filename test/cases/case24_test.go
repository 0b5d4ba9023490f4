package cases

import (
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase24Protocol: error JSON without cniVersion; VERSION ignores the
// input's version; DEL demands CNI_PATH.
func TestCase24Protocol(t *testing.T) {
	each(t, plain(), func(s *scene) {
		for _, v := range []string{"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"} {
			a := s.attach("cniVersion", v)
			o := s.h.RunPlugin(s.dir, a.Config.Type(), "VERSION", host.Env{"CNI_PATH": host.Unset}, `{"cniVersion":"`+v+`"}`)
			if got := o.Result(s)["cniVersion"]; !o.OK() || got != v {
				s.Errorf("VERSION of %s answers %v", v, got)
			}
			bad := a.WithEnv("CNI_IFNAME", "a/b").Call("ADD")
			s.fails("ADD of an interface that can't be called so", bad, 4)
			if got := bad.Result(s)["cniVersion"]; got != v {
				s.Errorf("an error of version %v, want %s: %s", got, v, bad.Stdout)
			}
			before := s.h.Snapshot()
			a.MustAdd(s)
			a.WithEnv("CNI_PATH", host.Unset).MustDel(s)
			s.clean(before)
		}
	})
}

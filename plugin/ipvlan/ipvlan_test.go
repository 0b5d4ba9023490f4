package ipvlan

import (
	"testing"

	"github.com/fairlead-net/fairlead/cni/plantest"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	plantest.Run(t, Plugin())
}

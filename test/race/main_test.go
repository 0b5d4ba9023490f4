package race

import (
	"os"
	"testing"

	"github.com/fairlead-net/fairlead/lab/inject"
)

func TestMain(m *testing.M) {
	inject.Launch()
	os.Exit(m.Run())
}

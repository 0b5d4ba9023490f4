package cases

import (
	"flag"
	"os"
	"testing"

	"github.com/fairlead-net/fairlead/lab/inject"
)

// TestMain lets more tests run beside each other than there are processors:
// most of a DEL is waiting for the kernel's grace period.
func TestMain(m *testing.M) {
	inject.Launch()
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

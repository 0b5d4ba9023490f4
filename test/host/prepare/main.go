// Prepare builds what tests in the virtual machine start: Fairlead, the
// recording delegate and the reference plugins.
package main

import (
	"fmt"
	"os"

	"github.com/fairlead-net/fairlead/test/host"
)

func main() {
	if err := host.Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "prepare:", err)
		os.Exit(1)
	}
}

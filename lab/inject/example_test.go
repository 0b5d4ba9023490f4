package inject_test

import (
	"fmt"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/inject"
)

// What a command asks of the kernel, in words. TestMain, or main, has called
// inject.Launch.
func Example() {
	cmd := exec.Command("ip", "link", "show", "dev", "lo")
	err := inject.Run(cmd, inject.Sends(), func(c *inject.Call) inject.Verdict {
		if e, err := c.Event(); err == nil && strings.Contains(e.Text, "name=lo") {
			fmt.Println(e.Program, "asks:", e.Text)
		}
		return inject.Verdict{}
	})
	fmt.Println(err)
	// Output:
	// ip asks: route RTM_GETLINK name=lo
	// ip asks: route RTM_GETLINK name=lo
	// <nil>
}

// The kernel refuses, or seems to: nothing was deleted.
func ExampleVerdict() {
	var says strings.Builder
	cmd := exec.Command("ip", "link", "delete", "dev", "lo")
	cmd.Stderr = &says
	err := inject.Run(cmd, inject.All(), func(c *inject.Call) inject.Verdict {
		e, err := c.Event()
		if err == nil && !e.Receive && e.Text == "route RTM_DELLINK link=lo" {
			return inject.Verdict{Reply: unix.EBUSY}
		}
		return inject.Verdict{}
	})
	fmt.Println(err)
	fmt.Print(says.String())
	// Output:
	// exit status 2
	// RTNETLINK answers: Device or resource busy
}

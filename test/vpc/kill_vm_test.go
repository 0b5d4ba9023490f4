//go:build vmtest

package vpc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestKilled: calls are killed at random instants, with all that they have
// started, while another attachment of the VPC lives on. Then the runtime does
// what it does, and nothing is left; nor is the other one touched.
func TestKilled(t *testing.T) {
	t.Parallel()
	ends := map[string]func(t *testing.T, a host.Attachment){
		"DEL":                       func(t *testing.T, a host.Attachment) { a.MustDel(t) },
		"DEL without the namespace": func(t *testing.T, a host.Attachment) { a.Host.DeleteNetns(a.Netns); a.MustDel(t) },
		"ADD and DEL": func(t *testing.T, a host.Attachment) {
			if o := a.Call("ADD"); !o.OK() {
				a.MustDel(t) // it was done, but for its last word
				a.MustAdd(t)
			}
			a.MustDel(t)
		},
		"GC": func(t *testing.T, a host.Attachment) {
			a.Host.DeleteNetns(a.Netns)
			if o := a.GC(); !o.OK() {
				t.Errorf("GC: %s%s", o.Stdout, o.Stderr)
			}
		},
	}
	for _, verb := range []string{"ADD", "DEL"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, h *host.Host, c host.Config) {
				chance := rand.New(rand.NewPCG(1, 2))
				for _, alone := range []bool{true, false} {
					outer := h.Snapshot()
					var other host.Attachment
					var result host.Result
					if !alone {
						other = attach(t, h, c.With("attachment", "db", "ipam", addresses("10.1.0.6/24", "fd00:1::6/64")))
						result = other.MustAdd(t)
					}
					before := h.Snapshot()
					for name, end := range ends {
						for range 2 {
							a := attach(t, h, c)
							if verb == "DEL" {
								a.MustAdd(t)
							}
							at := time.Duration(chance.Int64N(int64(700 * time.Millisecond)))
							kill(t, a.Prepare(verb), at)
							end(t, a)
							h.RemoveNetns(a.Netns)
							h.SameSoon(t, before, stays)
							if t.Failed() {
								t.Fatalf("%s killed after %s, then %s, alone: %v", verb, at, name, alone)
							}
						}
					}
					if !alone {
						healthy(t, other, result)
						other.MustDel(t)
						h.DeleteNetns(other.Netns)
						h.SameSoon(t, outer, stays)
					}
				}
			})
		})
	}
}

func kill(t *testing.T, c *host.Cmd, after time.Duration) {
	t.Helper()
	c.SysProcAttr.Setpgid = true
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait() // it was killed, or is judged by what it left
	}()
	select {
	case <-ended:
	case <-time.After(after):
		// It may have ended just now.
		if err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(fmt.Errorf("kill: %w", err))
		}
		<-ended
	}
}

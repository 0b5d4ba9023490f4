package cases

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/lab/inject"
	"github.com/fairlead-net/fairlead/test/host"
)

// TestRule19StateThatCantBeLookedAt is not read as none: DEL does what it can
// and says that it may not be all, GC touches nothing.
func TestRule19StateThatCantBeLookedAt(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		a := s.attach()
		r := a.MustAdd(s)
		for _, verb := range []string{"GC", "DEL"} {
			before := s.h.Snapshot()
			if out := s.withoutMemory(a, verb, "/run/fairlead"); !strings.Contains(out, "cannot allocate memory") {
				s.Fatalf("%s says %q", verb, out)
			}
			if verb == "GC" {
				s.h.Same(s, before)
				s.healthy(a, r)
			}
		}
		a.MustDel(s)
		if left := s.h.ReadDir("/run/fairlead/attachments"); len(left) > 0 {
			s.Errorf("left: %q", left)
		}
	})
}

// withoutMemory calls the plugin while the kernel has no memory to look at one
// path, and gives what the failed call printed.
func (s *scene) withoutMemory(a host.Attachment, verb, path string) string {
	s.Helper()
	cmd := s.h.Command(filepath.Join(a.Path, a.Config.Type()))
	for k, v := range a.Env() {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Env = append(cmd.Env, "CNI_COMMAND="+verb)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout = strings.NewReader(a.Config.String()), &out
	session, err := inject.Prepare(cmd.Cmd, inject.Looks(), func(c *inject.Call) inject.Verdict {
		// The name is shorter than what is read with it, which stays unread.
		name, err := c.Memory(c.Args[1], len(path)+1)
		if err == nil && string(name) == path+"\x00" {
			return inject.Verdict{Errno: unix.ENOMEM}
		}
		return inject.Verdict{}
	})
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	if err := session.Attach(); err != nil {
		s.Fatal(err)
	}
	err = cmd.Wait()
	if e := session.Wait(); e != nil {
		s.Error(e)
	}
	if err == nil {
		s.Errorf("%s succeeded", verb)
	}
	return out.String()
}

// TestFolderThatStaysIsSaid: all else is gone, but DEL has said what is not, and
// the next one takes it.
func TestFolderThatStaysIsSaid(t *testing.T) {
	each(t, interfaces(), func(s *scene) {
		a := s.attach()
		a.MustAdd(s)
		owner := "/run/fairlead/attachments/" + s.h.ReadDir("/run/fairlead/attachments")[0]
		s.h.MustRun("mount", "--bind", owner, owner) // so that it is busy
		s.fails("DEL", a.Call("DEL"))
		s.h.MustRun("umount", owner)
		a.MustDel(s)
		if left := s.h.ReadDir("/run/fairlead/attachments"); len(left) > 0 {
			s.Errorf("left: %q", left)
		}
	})
}

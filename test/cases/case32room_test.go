package cases

import (
	"fmt"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// TestCase32NoRoomInTheStateDirectory: however far an ADD got with the inodes
// that were left, DEL of every plugin of the chain takes what is there; and so
// where none are left at DEL only.
func TestCase32NoRoomInTheStateDirectory(t *testing.T) {
	t.Parallel()
	s := newScene(t, network{})
	before := s.h.Snapshot()
	s.h.MustRun("mkdir", "-m", "700", "/run/fairlead")
	list := func() host.Attachment { return s.inList("tuning", values()...) }
	for inodes, whole := 2, false; !whole; inodes += 2 {
		if inodes > 100 {
			t.Fatal("no ADD got through")
		}
		s.h.MustRun("mount", "-t", "tmpfs", "-o", fmt.Sprintf("nr_inodes=%d,mode=700", inodes), "state", "/run/fairlead")
		a := list()
		whole = a.Call("ADD").OK()
		if whole {
			s.h.RemoveAll("/run/fairlead/locks")
		}
		s.h.MustRun("sh", "-c", "i=0; while touch /run/fairlead/fill-$i; do i=$((i+1)); done 2>/dev/null; true")
		if o := a.Call("DEL"); !o.OK() {
			t.Errorf("%d inodes: DEL: %s%s", inodes, o.Stdout, o.Stderr)
		}
		s.h.MustRun("umount", "/run/fairlead")
		s.h.DeleteNetns(a.Netns)
		s.clean(before)
		if t.Failed() {
			return
		}
	}
}

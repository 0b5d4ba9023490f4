//go:build !vmtest

package chains

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-net/fairlead/test/host"
)

// mixed is a directory in which the named plugins are the reference suite's.
func mixed(t *testing.T, reference ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range reference {
		if err := os.Symlink(filepath.Join(host.Reference(t), name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRule14AnotherSuiteComesLater: what another suite's plugin changed, which
// says nothing of it in its result, is not held against what we made.
func TestRule14AnotherSuiteComesLater(t *testing.T) {
	t.Parallel()
	for _, first := range []host.Config{on("macvlan", "61"), bridge("61"), ptp("61"), hostDevice("61"), plugin("tap", "ipam", hostLocal("61"))} {
		for _, later := range []host.Config{tuning("mac", mac), plugin("sbr")} {
			t.Run(first.Type()+"+"+later.Type(), func(t *testing.T) {
				t.Parallel()
				s := newScene(t, "1.0.0", masters)
				s.h.Netns(container)
				s.cni.Path = append([]string{mixed(t, later.Type())}, s.cni.Path...)
				n := network{name: "net-1", ifName: "eth0", plugins: []host.Config{first, later}}
				before := s.inside()
				s.add(n)
				if err := s.check(n); err != nil && s.called().Plugin == first.Type() {
					t.Errorf("CHECK of %s: %v", first.Type(), err)
				}
				s.del(n)
				s.sameInside(before, func(f host.Fact) bool { return f.Name == parameter })
			})
		}
	}
}

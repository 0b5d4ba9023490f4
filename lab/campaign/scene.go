package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// A scene is what else can be so than calls without fault found it, although no
// call fails. It is made before the verb begins, or before one of its calls, and
// undone after it: as whoever did it would, when he is told.
type scene struct {
	apart func() error         // how the call sees files: done in a mount namespace of its own
	links *alteration          // what the container's links are called
	room  *limit               // what the file systems of the host have left
	verbs map[string]variation // before which verbs, and on what course
	must  demand
}

// A demand says when a verb must succeed in such a scene.
type demand int

const (
	mustNothing  demand = iota // it may refuse
	mustIfSet                  // it must, if no kernel parameter that it needs is to be set
	mustTakeAway               // it must, if it makes nothing: DEL, CHECK and GC need no room
)

// A variation of a verb's course has other calls before the broken one.
type variation string

const (
	usual  variation = ""
	used   variation = "used"   // the network was there before: what stays by design is there
	never  variation = "never"  // DEL of what was never added
	living variation = "living" // GC beside a living container that is not named as valid
)

// everywhere is a scene before all verbs, on their usual courses.
func everywhere() map[string]variation {
	return map[string]variation{verbAdd: usual, verbDel: usual, verbCheck: usual, verbGC: usual}
}

// atLiving is one before verbs that must tell what lives.
func atLiving() map[string]variation {
	return map[string]variation{verbDel: usual, verbGC: living}
}

// unproven is one before the verb that goes by what it sees of a namespace: at a
// DEL the runtime's word stands for it.
func unproven() map[string]variation { return map[string]variation{verbGC: living} }

// beforeOwn is one before the verbs that are about one attachment: a scene that
// takes a mount namespace of its own hides from GC what is gone.
func beforeOwn() map[string]variation {
	return map[string]variation{verbAdd: usual, verbDel: usual, verbCheck: usual}
}

// sceneFaults are the faults that are no call's, in the order of columns.
func sceneFaults() []Fault {
	return []Fault{
		{Name: "other mount namespace", Words: "the verb is called in another mount namespace, in which nothing is at the path of any container's namespace",
			scene: &scene{apart: hideSpaces, verbs: unproven()}},
		{Name: "other mount namespace with a file", Words: "the verb is called in another mount namespace, in which plain files are at the paths of containers' namespaces",
			scene: &scene{apart: replaceSpaces, verbs: unproven()}},
		{Name: "namespace of the host", Words: "the paths of containers' namespaces lead to the host's own",
			scene: &scene{apart: mistakeSpaces, verbs: unproven()}},
		{Name: "renamed", Words: "the host's end of the container's link has got another name",
			scene: &scene{links: &alteration{host: true, name: true}, verbs: atLiving()}},
		{Name: "renamed inside", Words: "the container's interface has got another name",
			scene: &scene{links: &alteration{inside: true, name: true}, verbs: atLiving()}},
		{Name: "re-aliased", Words: "the container's link has got other aliases, at both ends",
			scene: &scene{links: &alteration{host: true, inside: true, alias: true}, verbs: atLiving()}},
		{Name: "renamed and re-aliased", Words: "the container's link has got other names and aliases, at both ends",
			scene: &scene{links: &alteration{host: true, inside: true, name: true, alias: true}, verbs: atLiving()}},
		{Name: "read-only /proc/sys", Words: "/proc/sys is mounted read-only; what needs no kernel parameter to be set must work",
			scene: &scene{apart: freezeSettings, verbs: beforeOwn(), must: mustIfSet}},
		{Name: "read-only /proc/sys after use", Words: "/proc/sys is mounted read-only, and the network was there before, so that what it sets for all is set",
			scene: &scene{apart: freezeSettings, verbs: map[string]variation{verbAdd: used}, must: mustIfSet}},
		{Name: "no inodes", Words: "the file systems of the host have no free inode",
			scene: &scene{room: inodes(), verbs: everywhere(), must: mustTakeAway}},
		{Name: "no inodes and never added", Words: "the file systems of the host have no free inode, and there is nothing to take away",
			scene: &scene{room: inodes(), verbs: map[string]variation{verbDel: never}, must: mustTakeAway}},
		{Name: "no space", Words: "the file systems of the host have no free page",
			scene: &scene{room: pages(), verbs: everywhere(), must: mustTakeAway}},
	}
}

// demands tells whether a verb must succeed in the scene.
func (w *scene) demands(verb string, m measure) bool {
	switch w.must {
	case mustIfSet:
		return !m.sets
	case mustTakeAway:
		return verb != verbAdd
	}
	return false
}

// make makes the scene, before a verb.
func (w *scene) make(n *node) error {
	n.apart = w.apart
	if w.links != nil {
		ends, err := n.ends()
		if err != nil {
			return err
		}
		for _, e := range ends {
			if err := n.alter(e, *w.links); err != nil {
				return err
			}
		}
	}
	if w.room != nil {
		return n.fill(*w.room)
	}
	return nil
}

// restore undoes what was made of the scene.
func (n *node) restore() error {
	n.apart = nil
	var errs []error
	for _, undo := range slices.Backward(n.undo) {
		errs = append(errs, undo())
	}
	n.undo = nil
	return errors.Join(errs...)
}

// hideSpaces hides the paths of containers' namespaces.
func hideSpaces() error { return unix.Mount("tmpfs", spacesDir, "tmpfs", 0, "mode=0755") }

// replaceSpaces puts plain files there.
func replaceSpaces() error {
	if err := hideSpaces(); err != nil {
		return err
	}
	for _, id := range []string{subjectID, keptID} {
		if err := os.WriteFile(filepath.Join(spacesDir, id), nil, 0o444); err != nil {
			return err
		}
	}
	return nil
}

// mistakeSpaces puts the host's own namespace there.
func mistakeSpaces() error {
	if err := replaceSpaces(); err != nil {
		return err
	}
	for _, id := range []string{subjectID, keptID} {
		if err := unix.Mount("/proc/thread-self/ns/net", filepath.Join(spacesDir, id), "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// freezeSettings makes the kernel's parameters read-only.
func freezeSettings() error {
	const dir = "/proc/sys"
	if err := unix.Mount(dir, dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// A limit is of something of which a file system in memory has so much.
type limit struct {
	option string
	unit   uint64
	of     func(unix.Statfs_t) (all, free uint64)
}

func inodes() *limit {
	return &limit{"nr_inodes", 1, func(st unix.Statfs_t) (uint64, uint64) { return st.Files, st.Ffree }}
}

func pages() *limit {
	return &limit{"size", uint64(os.Getpagesize()), func(st unix.Statfs_t) (uint64, uint64) { return st.Blocks, st.Bfree }}
}

// filler is a file of one page: a file system whose size is nothing has no limit.
const filler = ".lab-filler"

// fill leaves no room in the file systems in which plugins keep what they write
// down. What is there may be written anew within its size, and removed.
func (n *node) fill(l limit) error {
	for _, dir := range []string{"/run", "/var/lib"} {
		var err error
		n.Do(func() { err = n.fillOne(l, dir) })
		if err != nil {
			return fmt.Errorf("leave no room in %s: %w", dir, err)
		}
	}
	return nil
}

func (n *node) fillOne(l limit, dir string) error {
	path := filepath.Join(dir, filler)
	if err := os.WriteFile(path, make([]byte, os.Getpagesize()), 0o600); err != nil {
		return err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return err
	}
	set := func(to uint64) error {
		return unix.Mount("", dir, "", unix.MS_REMOUNT, fmt.Sprintf("%s=%d", l.option, to*l.unit))
	}
	all, free := l.of(st)
	if err := set(all - free); err != nil {
		return err
	}
	n.undo = append(n.undo, func() (err error) {
		n.Do(func() { err = errors.Join(set(all), os.Remove(path)) })
		return err
	})
	return nil
}

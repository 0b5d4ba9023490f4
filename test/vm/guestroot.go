package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Tags of the two 9p shares.
const (
	tagRoot    = "host" // the host's root file system
	tagModules = "mods" // the kernel's modules
)

// setUpRoot makes the guest's root: the host's, read-only over 9p, under an
// overlay in memory, with the guest's own /proc, /sys, /dev and /run.
func setUpRoot() error {
	for _, m := range []mount{
		{"proc", "/proc", "proc", 0, ""},
		{"sysfs", "/sys", "sysfs", 0, ""},
		{"devtmpfs", "/dev", "devtmpfs", 0, ""},
	} {
		if err := m.do(); err != nil {
			return err
		}
	}
	if err := loadModules("/modules"); err != nil {
		return err
	}
	over9p := "trans=virtio,version=9p2000.L,msize=262144,cache=loose"
	for _, m := range []mount{
		{tagRoot, "/lower", "9p", unix.MS_RDONLY, over9p},
		{"tmpfs", "/upper", "tmpfs", 0, "mode=0755"},
	} {
		if err := m.do(); err != nil {
			return err
		}
	}
	if err := overlay("/lower", "/upper/root", "/root"); err != nil {
		return err
	}
	if hasShare(tagModules) {
		modules := mount{tagModules, "/lowermodules", "9p", unix.MS_RDONLY, over9p}
		if err := errors.Join(modules.do(), overlay("/lowermodules", "/upper/modules", "/root/lib/modules")); err != nil {
			return err
		}
	}
	if err := switchRoot("/root"); err != nil {
		return err
	}
	for _, m := range guestMounts() {
		if err := m.do(); err != nil {
			return err
		}
	}
	if err := makeStaticNodes("/lib/modules"); err != nil {
		return err
	}
	if err := errors.Join(fewerTunnels(), copyPrograms()); err != nil {
		return err
	}
	return likeABootedSystem()
}

// fewerTunnels: a module of tunnels, once it is loaded, puts a device into each
// new namespace (tunl0, gre0, ...), and one test would find what another's
// module brought. Since Linux 4.18 it can be told to spare them.
func fewerTunnels() error {
	err := os.WriteFile("/proc/sys/net/core/fb_tunnels_only_for_init_net", []byte("1"), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// guestMounts are the mounts that a booted system has.
func guestMounts() []mount {
	return []mount{
		{"tmpfs", "/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755"},
		{"devpts", "/dev/pts", "devpts", 0, "gid=5,mode=0620,ptmxmode=0666"},
		{"tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"cgroup2", "/sys/fs/cgroup", "cgroup2", 0, ""},
		{"bpf", "/sys/fs/bpf", "bpf", 0, ""},
		{"tracefs", "/sys/kernel/tracing", "tracefs", 0, ""},
	}
}

// overlay mounts what is in lower, with what changes kept in memory.
func overlay(lower, memory, at string) error {
	data, work := filepath.Join(memory, "data"), filepath.Join(memory, "work")
	if err := errors.Join(os.MkdirAll(data, 0o755), os.MkdirAll(work, 0o755)); err != nil {
		return err
	}
	m := mount{"overlay", at, "overlay", 0, "lowerdir=" + lower + ",upperdir=" + data + ",workdir=" + work}
	return m.do()
}

// hasShare says whether qemu offers a 9p share of that tag.
func hasShare(tag string) bool {
	tags, _ := filepath.Glob("/sys/bus/virtio/drivers/9pnet_virtio/virtio*/mount_tag")
	for _, t := range tags {
		if got, err := os.ReadFile(t); err == nil && strings.TrimRight(string(got), "\x00\n") == tag {
			return true
		}
	}
	return false
}

type mount struct {
	source, target, fstype string
	flags                  uintptr
	data                   string
}

// do makes the mount point where it is missing, and mounts.
func (m mount) do() error {
	if err := os.MkdirAll(m.target, 0o755); err != nil {
		return fmt.Errorf("mount point of %s: %w", m.source, err)
	}
	if err := unix.Mount(m.source, m.target, m.fstype, m.flags, m.data); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", m.source, m.target, err)
	}
	return nil
}

// loadModules loads the modules of dir in the order of their names.
func loadModules(dir string) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a kernel with all of it built in
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		f, err := os.Open(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		flags := 0
		if filepath.Ext(file.Name()) != ".ko" {
			flags = unix.MODULE_INIT_COMPRESSED_FILE
		}
		err = unix.FinitModule(int(f.Fd()), "", flags)
		f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("loading module %s: %w", file.Name(), err)
		}
	}
	return nil
}

// switchRoot makes dir the root of this process and, since they share it, of
// the kernel's own threads: only so does the kernel find modprobe.
func switchRoot(dir string) error {
	for _, m := range []string{"proc", "sys", "dev"} {
		if err := unix.Mount("/"+m, filepath.Join(dir, m), "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("moving /%s: %w", m, err)
		}
	}
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("moving the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return unix.Chdir("/")
}

// makeStaticNodes makes the device nodes that modules of the running kernel
// declare, such as /dev/net/tun: opening one loads its module.
func makeStaticNodes(modules string) error {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(modules, unix.ByteSliceToString(uts.Release[:]), "modules.devname"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		var module, name string
		var kind rune
		var major, minor uint32
		if n, _ := fmt.Sscanf(line, "%s %s %c%d:%d", &module, &name, &kind, &major, &minor); n != 5 {
			continue
		}
		path := filepath.Join("/dev", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		mode := uint32(unix.S_IFCHR | 0o666)
		if kind == 'b' {
			mode = unix.S_IFBLK | 0o660
		}
		err := unix.Mknod(path, mode, int(unix.Mkdev(major, minor)))
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("making %s: %w", path, err)
		}
	}
	return nil
}

// likeABootedSystem does what tests may take for granted on a running system.
func likeABootedSystem() error {
	if err := unix.Sethostname([]byte("fairlead-vm")); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("making the mounts shared: %w", err)
	}
	for dir, mode := range map[string]os.FileMode{
		"/run/lock": 0o755, "/run/netns": 0o755, "/tmp": 0o777 | os.ModeSticky, "/var/tmp": 0o777 | os.ModeSticky,
	} {
		if err := os.MkdirAll(dir, mode); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, "/dev/"+name); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return raise("lo")
}

// raise sets the interface up.
func raise(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req); err != nil {
		return fmt.Errorf("flags of %s: %w", name, err)
	}
	req.SetUint16(req.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("setting %s up: %w", name, err)
	}
	return nil
}

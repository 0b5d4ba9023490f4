package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
)

// defaultKernel is Debian's ordinary kernel; its cloud flavour has no 9p.
const defaultKernel = "linux-image-amd64"

// kernel is a kernel image and the modules that go with it.
type kernel struct {
	Image   string
	Modules string // the directory that holds one directory a release; "" without modules
	Release string // "" without modules
}

// cacheDir is where kernels are kept between runs.
func cacheDir(getenv func(string) string) (string, error) {
	if dir := getenv("FAIRLEAD_VM_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "fairlead", "vm"), nil
	}
	if dir := getenv("HOME"); dir != "" {
		return filepath.Join(dir, ".cache", "fairlead", "vm"), nil
	}
	return "", errors.New("no place for the cache: set FAIRLEAD_VM_CACHE")
}

// findKernel finds the kernel that spec names: a kernel image; a directory
// with a kernel package's content (boot/vmlinuz-RELEASE, lib/modules/RELEASE);
// a .deb file; or the name of a Debian package, which is downloaded once.
func findKernel(ctx context.Context, spec, cache string) (kernel, error) {
	if spec == "" {
		spec = defaultKernel
	}
	st, err := os.Stat(spec)
	switch {
	case err == nil && st.IsDir():
		return kernelInTree(spec)
	case err == nil && strings.HasSuffix(spec, ".deb"):
		return cachedKernel(ctx, filepath.Join(cache, "kernel", filepath.Base(spec)), func(dir string) error {
			return unpack(ctx, spec, dir)
		})
	case err == nil:
		return kernelOfImage(spec)
	case strings.ContainsRune(spec, '/'):
		return kernel{}, fmt.Errorf("FAIRLEAD_VM_KERNEL: %w", err)
	}
	return cachedKernel(ctx, filepath.Join(cache, "kernel", spec), func(dir string) error {
		return download(ctx, spec, dir)
	})
}

// kernelOfImage finds the modules that go with an image such as
// /boot/vmlinuz-6.1.0-9-amd64. An image of another name stands alone.
func kernelOfImage(image string) (kernel, error) {
	image, err := filepath.Abs(image)
	if err != nil {
		return kernel{}, err
	}
	release, ok := strings.CutPrefix(filepath.Base(image), "vmlinuz-")
	if !ok {
		return kernel{Image: image}, nil
	}
	for _, lib := range []string{"lib", "usr/lib"} {
		modules := filepath.Join(filepath.Dir(filepath.Dir(image)), lib, "modules")
		if _, err := os.Stat(filepath.Join(modules, release, "modules.dep")); err == nil {
			return kernel{Image: image, Modules: modules, Release: release}, nil
		}
	}
	return kernel{Image: image}, nil
}

func kernelInTree(tree string) (kernel, error) {
	images, err := filepath.Glob(filepath.Join(tree, "boot", "vmlinuz-*"))
	if err != nil {
		return kernel{}, err
	}
	if len(images) != 1 {
		return kernel{}, fmt.Errorf("%s: want one boot/vmlinuz-*, found %d", tree, len(images))
	}
	k, err := kernelOfImage(images[0])
	if err != nil {
		return kernel{}, err
	}
	if _, err := os.Stat(unpackedName(k.Image)); err == nil {
		k.Image = unpackedName(k.Image)
	}
	return k, nil
}

// unpackedName is where the kernel of boot/vmlinuz-RELEASE lies unpacked.
func unpackedName(image string) string {
	name := strings.Replace(filepath.Base(image), "vmlinuz", "vmlinux", 1)
	return filepath.Join(filepath.Dir(image), name)
}

// cachedKernel returns the kernel in dir; fill puts it there the first time.
// Any number of processes may ask at once.
func cachedKernel(ctx context.Context, dir string, fill func(dir string) error) (kernel, error) {
	if _, err := os.Stat(dir); err == nil {
		return kernelInTree(dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return kernel{}, err
	}
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, aliveInterval); err != nil {
		return kernel{}, fmt.Errorf("waiting for %s.lock: %w", dir, err)
	}
	defer lock.Close()
	if _, err := os.Stat(dir); err == nil {
		return kernelInTree(dir)
	}
	fresh := dir + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return kernel{}, err
	}
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return kernel{}, err
	}
	if err := fill(fresh); err != nil {
		return kernel{}, errors.Join(err, os.RemoveAll(fresh))
	}
	k, err := kernelInTree(fresh)
	if err != nil {
		return kernel{}, errors.Join(err, os.RemoveAll(fresh))
	}
	// Without it the guest only boots more slowly.
	if err := unpackKernel(ctx, k.Image, unpackedName(k.Image)); err != nil {
		fmt.Fprintf(os.Stderr, "vm: %s is used as it is: %v\n", filepath.Base(k.Image), err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return kernel{}, err
	}
	return kernelInTree(dir)
}

// download fetches the package, or what it depends on when it is a
// metapackage, and unpacks it into dir. Nothing is installed.
func download(ctx context.Context, pkg, dir string) error {
	err := downloadKnown(ctx, pkg, dir)
	if err == nil || os.Geteuid() != 0 {
		return err
	}
	// The package lists may be missing, or older than the archive.
	if uerr := output(exec.CommandContext(ctx, "apt-get", "update", "-q"), nil); uerr != nil {
		return errors.Join(err, uerr)
	}
	return downloadKnown(ctx, pkg, dir)
}

func downloadKnown(ctx context.Context, pkg, dir string) error {
	name, err := realPackage(ctx, pkg)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "vm: downloading %s\n", name)
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	get := exec.CommandContext(ctx, "apt-get", "download", "-q", name)
	if os.Geteuid() == 0 {
		get.Args = append(get.Args, "-o", "APT::Sandbox::User=root")
	}
	get.Dir = tmp
	if err := output(get, nil); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(tmp, "*.deb"))
	if err != nil {
		return err
	}
	if len(debs) != 1 {
		return fmt.Errorf("apt-get download %s: %d files", name, len(debs))
	}
	return unpack(ctx, debs[0], dir)
}

// realPackage follows a metapackage to the kernel package it depends on.
func realPackage(ctx context.Context, pkg string) (string, error) {
	var show strings.Builder
	if err := output(exec.CommandContext(ctx, "apt-cache", "show", "--no-all-versions", pkg), &show); err != nil {
		return "", err
	}
	return dependedKernel(pkg, show.String()), nil
}

// dependedKernel reads the first kernel package in the Depends field of a
// package's record; without one the package itself is the kernel's.
func dependedKernel(pkg, record string) string {
	for line := range strings.Lines(record) {
		depends, ok := strings.CutPrefix(line, "Depends:")
		if !ok {
			continue
		}
		for dep := range strings.SplitSeq(depends, ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(dep), " ")
			if strings.HasPrefix(name, "linux-image-") {
				return name
			}
		}
	}
	return pkg
}

// unpack unpacks a kernel package and indexes its modules.
func unpack(ctx context.Context, deb, dir string) error {
	if err := output(exec.CommandContext(ctx, "dpkg", "-x", deb, dir), nil); err != nil {
		return err
	}
	// depmod looks below lib/modules, where newer packages have usr/lib/modules.
	if _, err := os.Stat(filepath.Join(dir, "lib")); errors.Is(err, fs.ErrNotExist) {
		if err := os.Symlink("usr/lib", filepath.Join(dir, "lib")); err != nil {
			return err
		}
	}
	releases, err := os.ReadDir(filepath.Join(dir, "lib", "modules"))
	if err != nil {
		return fmt.Errorf("%s has no modules: %w", deb, err)
	}
	for _, r := range releases {
		if err := output(exec.CommandContext(ctx, "depmod", "-b", dir, r.Name()), nil); err != nil {
			return err
		}
	}
	return nil
}

// modules lists the files of the modules that name needs, in loading order.
func (k kernel) modules(ctx context.Context, names ...string) ([]string, error) {
	if k.Modules == "" {
		return nil, nil
	}
	var files []string
	for _, name := range names {
		var out strings.Builder
		cmd := exec.CommandContext(ctx, "modprobe", "-d", filepath.Dir(filepath.Dir(k.Modules)),
			"-S", k.Release, "--show-depends", name)
		if err := output(cmd, &out); err != nil {
			return nil, fmt.Errorf("the kernel %s cannot be used: %w", k.Release, err)
		}
		for line := range strings.Lines(out.String()) {
			file, ok := strings.CutPrefix(strings.TrimSpace(line), "insmod ")
			file, _, _ = strings.Cut(file, " ") // parameters follow
			if ok && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// output runs cmd with its standard output to out, and puts what it said into
// the error when it fails.
func output(cmd *exec.Cmd, out *strings.Builder) error {
	// The tools live in sbin, which an ordinary user's PATH lacks.
	if found, err := findTool(filepath.Base(cmd.Args[0])); err == nil {
		cmd.Path, cmd.Err = found, nil
	}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if out != nil {
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(said.String()))
	}
	return nil
}

// findTool is exec.LookPath with the sbin directories.
func findTool(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed (test/install-deps installs what the tests need)", name)
}

package host

import (
	"fmt"
	"maps"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mountPrivate hides what plugins keep on a machine behind empty file
// systems, and gives /sys the view of the new network namespace.
func mountPrivate() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	for _, m := range []struct{ kind, at, options string }{
		{"tmpfs", "/run", "mode=0755"},
		{"tmpfs", "/var/lib", "mode=0755"},
		{"sysfs", "/sys", ""},
	} {
		if err := unix.Mount(m.kind, m.at, m.kind, 0, m.options); err != nil {
			return fmt.Errorf("mounting %s on %s: %w", m.kind, m.at, err)
		}
	}
	if err := mountVarRun(); err != nil {
		return err
	}
	if err := mountMachineID(); err != nil {
		return err
	}
	return os.Mkdir(netnsDir, 0o755)
}

// mountVarRun makes /var/run the same as /run where it is no link to it.
func mountVarRun() error {
	info, err := os.Lstat("/var/run")
	if err != nil || !info.IsDir() {
		return nil //nolint:nilerr // a link, or not there: nothing to hide
	}
	if err := unix.Mount("/run", "/var/run", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting /run on /var/run: %w", err)
	}
	return nil
}

// machineID is every host's: two are never at work on the same files.
const machineID = "6c61620000000000000000000000f001"

// mountMachineID makes the host a machine that is known, whatever the one is
// that it runs on: an image of a container often has an empty file.
func mountMachineID() error {
	const etc, own = "/etc/machine-id", "/run/machine-id"
	if _, err := os.Stat(etc); os.IsNotExist(err) {
		return nil // nothing to mount on, and the machine's /etc is not ours
	}
	if err := os.WriteFile(own, []byte(machineID+"\n"), 0o444); err != nil {
		return fmt.Errorf("making a machine ID: %w", err)
	}
	if err := unix.Mount(own, etc, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting a machine ID: %w", err)
	}
	return os.Remove(own) // what is mounted stays, and nothing of ours is in /run
}

// Born are the mounts that the host began with, the machine's and its own few:
// mount point by ID, as in mountinfo.
func (h *Host) Born() map[string]string { return maps.Clone(h.born) }

// mountPoints is the calling thread's view of mounts, mount points by ID.
func mountPoints() (map[string]string, error) {
	b, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("own mounts: %w", err)
	}
	table := map[string]string{}
	for l := range strings.Lines(string(b)) {
		if fields := strings.Fields(l); len(fields) > 4 {
			table[fields[0]] = fields[4]
		}
	}
	return table, nil
}

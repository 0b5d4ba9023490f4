package inject

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// short writes the beginning of what is to be written, where it is to be. A
// duplicate shares the position in the file.
func (c *Call) short(size int) (outcome, error) {
	b, err := c.Sent()
	if err != nil {
		return outcome{}, err
	}
	fd, err := c.duplicate(int(int32(c.Args[0])))
	if err != nil {
		return outcome{}, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return outcome{}, fmt.Errorf("short write: %w", err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return outcome{}, fmt.Errorf("short write of descriptor %d, which is no file", c.Args[0])
	}
	b = b[:min(max(size, 0), len(b))]
	var n int
	switch c.Number {
	case unix.SYS_WRITE, unix.SYS_WRITEV:
		n, err = unix.Write(fd, b)
	case unix.SYS_PWRITE64, unix.SYS_PWRITEV, unix.SYS_PWRITEV2:
		n, err = unix.Pwrite(fd, b, int64(c.Args[3]))
	default:
		return outcome{}, fmt.Errorf("short write by call %d, which does not write", c.Number)
	}
	return done(n, err), nil
}

// done is the outcome of a call that was made in the caller's stead.
func done(n int, err error) outcome {
	if errno, ok := err.(unix.Errno); ok { //nolint:errorlint // x/sys returns it bare
		return outcome{instead: true, errno: errno}
	}
	return outcome{instead: true, value: n}
}

package inject

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif, response struct seccomp_notif_resp.
type notification struct {
	id    uint64
	pid   uint32 // of the thread
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type response struct {
	id    uint64
	val   int64
	errno int32 // negative
	flags uint32
}

// serve answers calls until nobody has the filter any more.
func (s *Session) serve(listener int) error {
	defer s.table.close()
	defer unix.Close(listener)
	// The scheduler then hands the processor over at once. Linux before 6.6 does
	// not know this; nothing but time depends on it.
	_ = ioctlValue(listener, ioctlSetFlags, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	n, r := &notification{}, &response{}
	for {
		*n = notification{}
		more, err := next(listener, n)
		if err != nil || !more {
			return err
		}
		if n.id == 0 {
			continue // who called is gone
		}
		*r = response{id: n.id}
		c := &Call{Number: int(n.nr), Args: n.args, TID: int(n.pid), id: n.id, at: n.ip, listener: listener, session: s}
		if !s.decide(c, r) {
			continue
		}
		err = ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(r))
		if err != nil && !errors.Is(err, unix.ENOENT) { // ENOENT: the caller was killed meanwhile
			return fmt.Errorf("answer a call: %w", err)
		}
	}
}

// next waits for a call. There are no more when all who had the filter have
// ended.
func next(listener int, n *notification) (more bool, err error) {
	p := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(p, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("poll the listener: %w", err)
		}
		if p[0].Revents&unix.POLLIN == 0 {
			return false, nil
		}
		err = ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ENOENT) {
			*n = notification{}
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("receive a call: %w", err)
		}
		return true, nil
	}
}

// decide finds what a call is answered. A caller that was killed gets nothing:
// told to go on, it would still make its call.
func (s *Session) decide(c *Call, r *response) (reply bool) {
	r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	p, err := s.table.of(c.TID, time.Now())
	if err != nil {
		s.fail(c.because(err))
		return true
	}
	c.process = p
	switch {
	case s.launcherCalls(c):
		if s.doomed.Load() {
			killAndWait(p.pidfd)
			return false
		}
		return true
	case s.doomed.Load():
		killAndWait(p.pidfd)
		return false
	case c.again():
		return true
	case p.after != KillNone:
		s.strike(p, p.after)
		return false
	}
	if !s.wanted[c.Number] {
		s.table.executes(p, c.TID)
		return true
	}
	v := s.hook(c)
	if c.sort() == sortSend && s.wanted[unix.SYS_RECVMSG] {
		// The answer's Event will want to know the request. What can't be read the
		// kernel will refuse.
		_, _ = c.Event()
	}
	if v.Errno == 0 && c.sort() == sortExec {
		s.table.executes(p, c.TID)
	}
	return s.carryOut(c, v, r)
}

// launcherCalls tells whether a call is the launcher's, or that of its child
// that has not yet become the command. These are nobody's business.
func (s *Session) launcherCalls(c *Call) bool {
	if c.process.pid == s.launcher {
		return true
	}
	if s.begun {
		return false
	}
	if err := c.process.look(c); err != nil {
		s.fail(err)
		return true
	}
	if c.process.fresh {
		c.process.known = false // the program is about to change
		return true
	}
	s.begun = true
	return false
}

// outcome is what a call came to that is not to be made any more; the zero value
// says that it is to be made.
type outcome struct {
	instead bool
	value   int
	errno   unix.Errno
}

// carryOut does what a verdict says.
func (s *Session) carryOut(c *Call, v Verdict, r *response) (reply bool) {
	var o outcome
	var err error
	switch {
	case v.Errno != 0:
		o = outcome{instead: true, errno: v.Errno}
	case v.Short != 0:
		o, err = c.short(v.Short)
	case v.Reply != 0:
		o, err = c.forge(v.Reply)
	case v.Kill == KillProcessBefore, v.Kill == KillTreeBefore:
		s.strike(c.process, v.Kill)
		return false
	case v.Kill != KillNone:
		s.table.await(c.process, v.Kill)
	default:
		o, err = c.receive(v)
	}
	s.fail(err)
	if err == nil && o.instead {
		c.process.last = made{} // if it comes again, the program made it again
		r.flags, r.val, r.errno = 0, int64(o.value), -int32(o.errno)
	}
	return true
}

// strike kills.
func (s *Session) strike(p *process, k Kill) {
	s.table.await(p, KillNone)
	if k == KillTreeBefore || k == KillTreeAfter {
		s.Kill()
		return
	}
	killAndWait(p.pidfd)
}

package cni

import (
	"errors"
	"fmt"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
)

func TestRule21EveryErrorHasItsCode(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error { return fmt.Errorf("doing this to that: %w", err) }
	for _, c := range []struct {
		name string
		err  error
		code uint
	}{
		{"one of ours", wrap(Errorf(CodeConfig, "x")), CodeConfig},
		{"a delegate's", wrap(&types.Error{Code: 42, Msg: "x"}), 42},
		{"a delegate's without a code", wrap(&types.Error{Msg: "x"}), CodeFailed},
		{"in force", wrap(engine.ErrDone), CodeAlreadyAdded},
		{"a lock", wrap(engine.ErrBusy), CodeTryAgain},
		{"EBUSY", wrap(unix.EBUSY), CodeTryAgain},
		{"EMFILE", wrap(unix.EMFILE), CodeTryAgain},
		{"ENFILE", wrap(unix.ENFILE), CodeTryAgain},
		{"ENOMEM", wrap(unix.ENOMEM), CodeTryAgain},
		{"ENOBUFS", wrap(unix.ENOBUFS), CodeTryAgain},
		{"EAGAIN", wrap(unix.EAGAIN), CodeTryAgain},
		{"EINTR", wrap(unix.EINTR), CodeTryAgain},
		{"ETXTBSY", wrap(unix.ETXTBSY), CodeTryAgain},
		{"too large", wrap(engine.ErrTooLarge), CodeConfig},
		{"a quota", wrap(unix.EDQUOT), CodeIO},
		{"remains", wrap(&engine.RemainingError{Left: []engine.Remaining{{Ref: "veth x", Err: unix.EPERM}}}), CodeRemains},
		{"remains of a code", &engine.RemainingError{Left: []engine.Remaining{{Ref: "veth x", Err: Errorf(CodeTryAgain, "x")}}}, CodeTryAgain},
		{"a conflict", wrap(engine.Conflict(unix.EEXIST)), CodeConflict},
		{"no space", wrap(unix.ENOSPC), CodeIO},
		{"I/O", wrap(unix.EIO), CodeIO},
		{"anything", wrap(errors.New("x")), CodeFailed},
		{"EPERM", wrap(unix.EPERM), CodeFailed},
	} {
		if got := Code(c.err); got != c.code {
			t.Errorf("%s: %d, want %d", c.name, got, c.code)
		}
		if o := object(c.err); o.Code != c.code || o.Msg == "" {
			t.Errorf("%s: object %+v", c.name, o)
		}
		if !errors.Is(withCode(CodeInternal, c.err), c.err) {
			t.Errorf("%s: withCode loses the cause", c.name)
		}
	}
}

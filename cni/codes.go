package cni

import (
	"errors"
	"fmt"

	"github.com/containernetworking/cni/pkg/types"
	"golang.org/x/sys/unix"

	"github.com/fairlead-net/fairlead/engine"
)

// The error codes of the CNI specification, section "Error", and ours from 100.
const (
	CodeVersion               = types.ErrIncompatibleCNIVersion      // 1
	CodeUnsupportedField      = types.ErrUnsupportedField            // 2
	CodeUnknownContainer      = types.ErrUnknownContainer            // 3
	CodeEnvironment           = types.ErrInvalidEnvironmentVariables // 4
	CodeIO                    = types.ErrIOFailure                   // 5
	CodeDecode                = types.ErrDecodingFailure             // 6
	CodeConfig                = types.ErrInvalidNetworkConfig        // 7
	CodeNetns                 = types.ErrInvalidNetNS                // 8
	CodeTryAgain              = types.ErrTryAgainLater               // 11
	CodeNotAvailable     uint = 50
	CodeLimited          uint = 51

	// CodeFailed is for what the kernel, or a delegate without a code of its
	// own, refused.
	CodeFailed uint = 100
	// CodeAlreadyAdded is an ADD of what is in force already.
	CodeAlreadyAdded uint = 101
	// CodeRemains is a DEL or GC that had to leave something.
	CodeRemains uint = 102
	// CodeCheck is a CHECK that found something missing or changed.
	CodeCheck uint = 103
	// CodeConflict is another's thing in the place of ours.
	CodeConflict uint = 104
	// CodeNoPlugin is a call by a name that this binary has no plugin for.
	CodeNoPlugin uint = 105
	// CodeInternal is a bug: a panic was caught.
	CodeInternal = types.ErrInternal // 999
)

// Errorf makes an error object of a given code; %w keeps the cause.
func Errorf(code uint, format string, args ...any) error {
	return &codedError{code: code, err: fmt.Errorf(format, args...)}
}

// codedError is a types.Error that still unwraps to its cause.
type codedError struct {
	code uint
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// Code classifies any error: the one place where codes are decided (rule 21).
func Code(err error) uint {
	var coded *codedError
	if errors.As(err, &coded) {
		return coded.code
	}
	var object *types.Error
	if errors.As(err, &object) && object.Code != 0 {
		return object.Code
	}
	var left *engine.RemainingError
	switch {
	case errors.Is(err, engine.ErrDone):
		return CodeAlreadyAdded
	case errors.Is(err, engine.ErrTooLarge):
		return CodeConfig
	case errors.Is(err, engine.ErrBusy), passing(err):
		return CodeTryAgain
	case errors.As(err, &left):
		return CodeRemains
	case engine.IsConflict(err), errors.Is(err, unix.EEXIST):
		return CodeConflict
	case errors.Is(err, unix.EIO), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EROFS):
		return CodeIO
	}
	return CodeFailed
}

// passing tells whether what refused the call may let it through in a moment:
// somebody is at it, or something that the whole node has is used up.
func passing(err error) bool {
	for _, e := range []unix.Errno{
		unix.EBUSY, unix.EAGAIN, unix.EINTR, unix.ETXTBSY,
		unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOBUFS,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// withCode gives err the code, unless it has one already.
func withCode(code uint, err error) error {
	var coded *codedError
	var object *types.Error
	if err == nil || errors.As(err, &coded) || errors.As(err, &object) && object.Code != 0 {
		return err
	}
	return &codedError{code: code, err: err}
}

// object makes the error object that is printed. A delegate's details are kept.
func object(err error) *types.Error {
	out := &types.Error{Code: Code(err), Msg: err.Error()}
	var inner *types.Error
	if errors.As(err, &inner) && inner.Details != "" && len(inner.Msg) < len(out.Msg) {
		out.Details = inner.Details
	}
	return out
}

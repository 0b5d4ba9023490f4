package engine

import (
	"errors"
	"fmt"
	"strings"
)

// ErrDone is what Begin answers where this very call was made already and what
// it made is in force (rule 2).
var ErrDone = errors.New("already added")

// ErrBusy is answered when a lock could not be had in time: another call is at
// the same thing. Trying again later is right.
var ErrBusy = errors.New("busy: another call holds it")

// ErrNewer marks an entry that a later version wrote, or a kind it knows and we
// do not. It is left alone (rules 1 and 19).
var ErrNewer = errors.New("written by a newer version")

// ErrUnreadable marks an entry that makes no sense.
var ErrUnreadable = errors.New("unreadable journal entry")

// ErrApart is a restored thing's answer where another that is called so is a
// thing of its own.
var ErrApart = errors.New("they are two things of one name")

// ErrTooLarge says that what was to be recorded could not be read again.
var ErrTooLarge = errors.New("too large for the journal")

type partialError struct{ err error }

func (e *partialError) Error() string { return e.err.Error() }
func (e *partialError) Unwrap() error { return e.err }

// Partial marks the error of a Create that may have left something behind, so
// that the engine calls Remove.
func Partial(err error) error {
	if err == nil {
		return nil
	}
	return &partialError{err}
}

// IsPartial tells whether err is marked by Partial.
func IsPartial(err error) bool {
	var p *partialError
	return errors.As(err, &p)
}

type conflictError struct{ err error }

func (e *conflictError) Error() string { return e.err.Error() }
func (e *conflictError) Unwrap() error { return e.err }

// Conflict marks the error of a Create that found another's thing in its place
// and left it alone.
func Conflict(err error) error {
	if err == nil {
		return nil
	}
	return &conflictError{err}
}

// IsConflict tells whether err is marked by Conflict.
func IsConflict(err error) bool {
	var c *conflictError
	return errors.As(err, &c)
}

// Remaining is one resource that could not be removed, and why.
type Remaining struct {
	Ref Ref
	Err error
}

// RemainingError lists what a removal had to leave. It unwraps to each cause.
type RemainingError struct{ Left []Remaining }

func (e *RemainingError) Error() string {
	parts := make([]string, 0, len(e.Left))
	for _, l := range e.Left {
		parts = append(parts, fmt.Sprintf("%s: %v", l.Ref, l.Err))
	}
	return "remains: " + strings.Join(parts, "; ")
}

// Unwrap gives the causes.
func (e *RemainingError) Unwrap() []error {
	errs := make([]error, 0, len(e.Left))
	for _, l := range e.Left {
		errs = append(errs, l.Err)
	}
	return errs
}

func remaining(left []Remaining) error {
	if len(left) == 0 {
		return nil
	}
	return &RemainingError{Left: left}
}

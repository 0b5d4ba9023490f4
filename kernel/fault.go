package kernel

import "sync/atomic"

// Op is a call about to be made, or just made.
type Op struct {
	Name   string // "link.add"
	Object string // "eth0"
	After  bool   // it has been carried out
}

// Faults decides, for tests, which calls fail. A non-nil error is what the
// call returns: before it is made, or, with Op.After, when it was made and went
// well. It may be called from several goroutines at once.
type Faults func(op Op) error

// FailNth makes the n-th call (from 1) of that name fail with err, and no
// other. With after it fails although it was carried out. A name of "" counts
// every call. An *Error among err is kept, so that Unanswered can be set.
func FailNth(name string, n int, after bool, err error) Faults {
	var seen atomic.Int64
	return func(op Op) error {
		if op.After != after || name != "" && op.Name != name {
			return nil
		}
		if seen.Add(1) == int64(n) {
			return err
		}
		return nil
	}
}

// WithFaults gives a view of the same namespace whose calls f may make fail.
func (n *Namespace) WithFaults(f Faults) *Namespace {
	return &Namespace{handle: n.handle, faults: f}
}

// call is the one way in: every public method that talks to the kernel passes
// here, where faults are injected and errors get their context.
func (n *Namespace) call(op, object string, f func() error) error {
	if n.faults != nil {
		if err := n.faults(Op{Name: op, Object: object}); err != nil {
			return n.wrap(op, object, err)
		}
	}
	err := f()
	if err == nil && n.faults != nil {
		err = n.faults(Op{Name: op, Object: object, After: true})
	}
	return n.wrap(op, object, err)
}

package engine

import "context"

// E is whatever the resources of a program act upon; the engine passes it
// through and never looks inside.

// A Resource is one thing that an attachment owns. Implementations are plain
// structs that marshal to JSON: what is exported is what the journal keeps.
//
// Kind, Key and Within are pure, and the same on every call, before and after
// Create, and when facts and addresses are unknown (rule 3).
type Resource[E any] interface {
	// Kind names the codec in the journal, with its version: "veth.1".
	Kind() string
	// Key is the identity within the kind. It never holds a value that may be
	// unknown at DEL, such as an allocated address.
	Key() string
	// Within is the Ref of what this lives in and dies with, or "" if it must
	// be removed itself. The scope that the caller hands to the engine (the
	// container's namespace) is a Ref like another.
	Within() Ref
	// Observe tells what is there. An error means unknown, never absent.
	Observe(ctx context.Context, env E) (State, error)
	// Create makes it. A failed Create has left nothing behind, unless the
	// error is wrapped by Partial; then the engine calls Remove.
	// What it learns (an index, a handle) it stores in itself: the engine
	// journals the struct anew afterwards.
	Create(ctx context.Context, env E) error
	// Remove takes it away. Gone already is success; a thing of that name
	// that is another's is left alone, and that is success too.
	Remove(ctx context.Context, env E) error
}

// A Ref names a resource across kinds: "KIND KEY" with the version left out
// of the kind.
type Ref string

// Presence is the first half of an observation.
type Presence int

// The three things that an observation can say. The zero value is none of
// them, so that a forgotten return is noticed.
const (
	IsAbsent Presence = iota + 1
	IsPresent
	IsDrifted
)

// State is what Observe found.
type State struct {
	Is Presence
	// Detail says what differs: "mtu is 1400, want 1500". CHECK prints it.
	Detail string
	// Cause is another's word that something differs, with its code.
	Cause error
}

// Absent is the observation that there is none.
func Absent() State { return State{Is: IsAbsent} }

// Present is the observation that it is as it should be.
func Present() State { return State{Is: IsPresent} }

// Drifted is the observation that it is there, and differs.
func Drifted(detail string) State { return State{Is: IsDrifted, Detail: detail} }

// Told is Drifted by the word of another, who was asked and answered so.
func Told(cause error) State { return State{Is: IsDrifted, Cause: cause} }

// Needs is implemented by a resource that rests on others: they are removed
// only once this one is proven gone, whatever the order of creation (rule 4:
// a lease outlives its addresses).
type Needs interface{ Needs() []Ref }

// Shared is a thing that several attachments use: made if absent, removed only
// by us, when provably unused. The engine holds the lock named by the Ref
// shared from registration to the end of Create, and exclusively around the
// removal; it asks InUse only when no live attachment holds the Ref.
type Shared[E any] interface {
	Resource[E]
	// InUse tells whether someone whom the journal does not know uses it, or
	// whether we did not make it.
	InUse(ctx context.Context, env E) (bool, error)
}

// Restored changes a thing that was there. Create sets the new value; Remove
// puts the old one back, only while the current one is still ours.
type Restored[E any] interface {
	Resource[E]
	// Save reads the value to put back into the struct. It is journaled
	// before Create is called.
	Save(ctx context.Context, env E) error
	// Inherit is called on a holder that set its value after the one that is
	// leaving (below): it takes over below's saved value as its own. The
	// leaving one then touches nothing. ErrApart is its answer where the two
	// have no more than the name of a thing in common.
	Inherit(below Resource[E]) error
}

// Ensured is raised and left: DEL never removes it. Sweeping unused things by
// the operator's word (gc --unused) does.
type Ensured interface{ Ensured() }

// Guarded is an exclusive thing that may pass from one attachment to another:
// its Create and its Remove, which look whose it is and act upon that, are
// called under the lock that Guard names.
type Guarded interface{ Guard() string }

// Amender is a resource that changes what an earlier one of the same
// attachment made (an MTU, the table of a route). CHECK folds it in: it
// compares with what Amend returns instead (rule 14).
type Amender[E any] interface {
	// Amend returns earlier itself where it does not concern it.
	Amend(earlier Resource[E]) Resource[E]
}

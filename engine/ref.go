package engine

import "strings"

// RefOf names a resource across kinds and versions.
func RefOf[E any](r Resource[E]) Ref { return MakeRef(r.Kind(), r.Key()) }

// MakeRef is RefOf for a resource that is not at hand: kind with or without its
// version.
func MakeRef(kind, key string) Ref {
	name, _, _ := strings.Cut(kind, ".")
	return Ref(name + " " + key)
}

// Scope is what a whole call acts in and what may vanish under it: the
// container's namespace. The engine only needs to know three things of it.
type Scope struct {
	// Ref is what resources name in Within.
	Ref Ref
	// ID tells this one from an earlier one of the same path. Shared and
	// restored things within the scope are told apart by it.
	ID string
	// Gone is a fact, not a guess: everything within is absent.
	Gone bool
}

// plan answers questions about the relations in a list of resources.
type plan[E any] struct {
	list  []Resource[E]
	index map[Ref]int
}

func newPlan[E any](list []Resource[E]) plan[E] {
	p := plan[E]{list: list, index: make(map[Ref]int, len(list))}
	for i, r := range list {
		p.index[RefOf(r)] = i
	}
	return p
}

// container is the index of the resource that r dies with, or -1: where r must
// be removed itself, or where what it lives in outlives DEL.
func (p plan[E]) container(r Resource[E]) int {
	i, ok := p.index[r.Within()]
	if !ok || stays(p.list[i]) {
		return -1
	}
	return i
}

// inScope tells whether r lives, at whatever depth, within the scope.
func (p plan[E]) inScope(r Resource[E], scope Scope) bool {
	for range len(p.list) + 1 {
		within := r.Within()
		if within == "" {
			return false
		}
		if within == scope.Ref {
			return true
		}
		i, ok := p.index[within]
		if !ok {
			return false
		}
		r = p.list[i]
	}
	return false
}

// stays tells whether DEL leaves the thing itself in place: what lives in it
// must then be removed singly (rule 5).
func stays[E any](r Resource[E]) bool {
	if _, ok := r.(Ensured); ok {
		return true
	}
	if _, ok := r.(Restored[E]); ok {
		return true
	}
	_, ok := r.(Shared[E])
	return ok
}

func needs[E any](r Resource[E]) []Ref {
	if n, ok := r.(Needs); ok {
		return n.Needs()
	}
	return nil
}

// SortOf names a resource's sort: exclusive, shared, restored or ensured.
func SortOf[E any](r Resource[E]) string {
	if _, ok := r.(Ensured); ok {
		return "ensured"
	}
	if _, ok := r.(Restored[E]); ok {
		return "restored"
	}
	if _, ok := r.(Shared[E]); ok {
		return "shared"
	}
	return "exclusive"
}

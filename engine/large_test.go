package engine

import (
	"errors"
	"strings"
	"testing"
)

// TestRule01WhatCouldNotBeReadIsNotWritten: an ADD whose record DEL could not
// read fails before it makes anything of that, and takes back what it made.
func TestRule01WhatCouldNotBeReadIsNotWritten(t *testing.T) {
	t.Parallel()
	large := func() Resource[env] {
		return &exclusive{base{Name: "large", Owner: "me", Value: strings.Repeat("x", 5<<20)}}
	}
	small := func() Resource[env] { return &exclusive{base{Name: "small", Owner: "me"}} }
	for name, stages := range map[string][][]Resource[env]{
		"at once": {{small(), large()}},
		"later":   {{small()}, {large()}},
	} {
		n := testNode(t)
		n.w.setScope("1", "alive")
		err, rolled := n.add(attach("me", "1"), nil, stages...)
		if !errors.Is(err, ErrTooLarge) || rolled != nil {
			t.Errorf("%s: %.100v, %v; want ErrTooLarge", name, err, rolled)
		}
		wantThings(t, n.w.things(), map[string]thingAt{})
		n.wantClean(t)
	}
}

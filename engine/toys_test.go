package engine

import (
	"context"
	"fmt"
)

func (b *base) Key() string { return b.Name }

func (b *base) Within() Ref { return b.In }

func (b *base) Needs() []Ref { return b.Need }

// keyOf is the name in the world.
func (b *base) keyOf(r Resource[env], e env) string {
	if b.Scoped {
		return string(RefOf(r)) + "@" + e.scope
	}
	return string(RefOf(r))
}

// container is the name in the world of what it lives in.
func (b *base) container(s *state, e env) (string, error) {
	switch b.In {
	case "":
		return "", nil
	case toyScope:
		if s.Scopes[e.scope] != "alive" {
			return "", fmt.Errorf("scope %s is %s", e.scope, s.Scopes[e.scope])
		}
		return "scope@" + e.scope, nil
	}
	for _, key := range []string{string(b.In) + "@" + e.scope, string(b.In)} {
		if _, ok := s.Things[key]; ok {
			return key, nil
		}
	}
	return "", fmt.Errorf("no %s to be in", b.In)
}

func (b *base) observe(e env, r Resource[env]) (State, error) {
	st := Absent()
	err := e.act("observe", r, func(s *state) error {
		x, ok := s.Things[b.keyOf(r, e)]
		switch {
		case !ok:
		case b.Value != "" && x.Value != b.Value:
			st = Drifted("value is " + x.Value)
		default:
			st = Present()
		}
		return nil
	})
	return st, err
}

// create makes it; adopt says what to do where it is there.
func (b *base) create(e env, r Resource[env], exists func(thingAt) error) error {
	tried := false
	err := e.act("create", r, func(s *state) error {
		key := b.keyOf(r, e)
		if x, ok := s.Things[key]; ok {
			return exists(x)
		}
		in, err := b.container(s, e)
		if err != nil {
			return err
		}
		tried = true
		s.Index++
		b.Index = s.Index
		s.Things[key] = thingAt{Owner: b.Owner, In: in, Value: b.Value}
		return nil
	})
	if tried {
		return Partial(err)
	}
	return err
}

func (b *base) remove(e env, r Resource[env]) error {
	return e.act("remove", r, func(s *state) error {
		if _, err := b.container(s, e); b.In == toyScope && err != nil {
			return err
		}
		key := b.keyOf(r, e)
		if s.Things[key].Owner == b.Owner {
			s.remove(key)
		}
		return nil
	})
}

// exclusive belongs to one attachment.
type exclusive struct{ base }

func (x *exclusive) Kind() string { return "x.1" }

func (x *exclusive) Observe(_ context.Context, e env) (State, error) { return x.observe(e, x) }

func (x *exclusive) Remove(_ context.Context, e env) error { return x.remove(e, x) }

func (x *exclusive) Create(_ context.Context, e env) error {
	return x.create(e, x, func(there thingAt) error {
		return Conflict(fmt.Errorf("%s is there, of %q", RefOf(x), there.Owner))
	})
}

// ensured is raised and left.
type ensured struct{ base }

func (x *ensured) Kind() string { return "ensured.1" }

func (x *ensured) Ensured() {}

func (x *ensured) Observe(_ context.Context, e env) (State, error) { return x.observe(e, x) }

func (x *ensured) Remove(_ context.Context, e env) error { return x.remove(e, x) }

func (x *ensured) Create(_ context.Context, e env) error {
	return x.create(e, x, func(thingAt) error { return nil })
}

// common is shared. Its owner is the same for all of ours.
type common struct{ base }

func (x *common) Kind() string { return "common.1" }

func (x *common) Observe(_ context.Context, e env) (State, error) { return x.observe(e, x) }

func (x *common) Remove(_ context.Context, e env) error { return x.remove(e, x) }

func (x *common) Create(_ context.Context, e env) error {
	return x.create(e, x, func(thingAt) error { return nil })
}

func (x *common) InUse(_ context.Context, e env) (bool, error) {
	used := false
	err := e.act("inuse", x, func(s *state) error {
		there, ok := s.Things[x.keyOf(x, e)]
		used = ok && there.Owner != x.Owner || there.Value == "in use"
		return nil
	})
	return used, err
}

// setting is restored: it changes the value of a thing that was there.
type setting struct {
	base
	Saved *string `json:"saved,omitempty"`
}

func (x *setting) Kind() string { return "setting.1" }

func (x *setting) Observe(_ context.Context, e env) (State, error) { return x.observe(e, x) }

func (x *setting) Save(_ context.Context, e env) error {
	return e.act("save", x, func(s *state) error {
		there, ok := s.Things[x.keyOf(x, e)]
		if !ok {
			return fmt.Errorf("no %s", RefOf(x))
		}
		x.Saved = &there.Value
		return nil
	})
}

func (x *setting) Inherit(below Resource[env]) error {
	x.Saved = below.(*setting).Saved
	return nil
}

func (x *setting) set(s *state, e env, value string) {
	there := s.Things[x.keyOf(x, e)]
	there.Value = value
	s.Things[x.keyOf(x, e)] = there
}

func (x *setting) Create(_ context.Context, e env) error {
	tried := false
	err := e.act("create", x, func(s *state) error {
		if _, ok := s.Things[x.keyOf(x, e)]; !ok {
			return fmt.Errorf("no %s", RefOf(x))
		}
		tried = true
		x.set(s, e, x.Value)
		return nil
	})
	if tried {
		return Partial(err)
	}
	return err
}

func (x *setting) Remove(_ context.Context, e env) error {
	return e.act("remove", x, func(s *state) error {
		if _, err := x.container(s, e); x.In == toyScope && err != nil {
			return err
		}
		if there, ok := s.Things[x.keyOf(x, e)]; ok && there.Value == x.Value && x.Saved != nil {
			x.set(s, e, *x.Saved)
		}
		return nil
	})
}

// amendment changes the value of an earlier toy of its attachment.
type amendment struct {
	base
	Of Ref `json:"of"`
}

func (x *amendment) Kind() string { return "amendment.1" }

func (x *amendment) Observe(context.Context, env) (State, error) { return Present(), nil }

func (x *amendment) Create(_ context.Context, e env) error { return x.become(e) }

func (x *amendment) Remove(context.Context, env) error { return nil }

func (x *amendment) become(e env) error {
	return e.w.do(func(s *state) error {
		there := s.Things[string(x.Of)]
		there.Value = x.Value
		s.Things[string(x.Of)] = there
		return nil
	})
}

func (x *amendment) Amend(earlier Resource[env]) Resource[env] {
	was, ok := earlier.(*exclusive)
	if !ok || RefOf(earlier) != x.Of {
		return earlier
	}
	changed := *was
	changed.Value = x.Value
	return &changed
}

const toyScope Ref = "scope"

func toyKinds() Codec[env] {
	return Codec[env]{
		"x.1":         func() Resource[env] { return new(exclusive) },
		"ensured.1":   func() Resource[env] { return new(ensured) },
		"common.1":    func() Resource[env] { return new(common) },
		"setting.1":   func() Resource[env] { return new(setting) },
		"amendment.1": func() Resource[env] { return new(amendment) },
	}
}

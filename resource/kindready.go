package resource

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// kindReady is an error where this kernel has no links of the kind.
func kindReady(env Env, kind string) error {
	known, err := env.Host.KnowsKind(kind)
	if err == nil && !known {
		err = fmt.Errorf("this kernel has no links of kind %s: %w", kind, unix.EOPNOTSUPP)
	}
	return err
}

// Ready tells whether the kernel has links of its kind.
func (l *ChildLink) Ready(_ context.Context, env Env) error { return kindReady(env, l.Type) }

// Ready tells whether the kernel has veth pairs.
func (v *Veth) Ready(_ context.Context, env Env) error { return kindReady(env, "veth") }

// Ready tells whether the kernel has VRFs.
func (v *VRF) Ready(_ context.Context, env Env) error { return kindReady(env, "vrf") }

// Ready tells whether tap devices can be made.
func (t *Tap) Ready(_ context.Context, env Env) error { return env.Host.CanMakeTaps() }

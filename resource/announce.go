package resource

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// Announce tells a bridge's network where the container's addresses are now.
// The kernel announces them when the guest's end comes up (arp_notify,
// ndisc_notify), but the bridge's port forwards nothing until a moment later.
// So it is waited for, and the kernel made to announce them again; until then
// neighbours may send to whoever had an address before. It makes nothing.
type Announce struct {
	On          // the guest's end
	Port string `json:"port"` // the host's end
}

// portTimeout is how long a port may take to come up. It takes milliseconds.
const portTimeout = 5 * time.Second

func (a *Announce) Kind() string { return "announce.1" }
func (a *Announce) Key() string  { return a.key() }

// Create waits for the port, five seconds at most, then sets the guest's
// address to what it is, whereupon the kernel announces.
func (a *Announce) Create(ctx context.Context, env Env) error {
	_, port, err := On{Side: Host, Link: a.Port}.need(env)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	port, err = env.Host.WaitLink(ctx, port.Index, func(l kernel.Link) bool { return l.OperState == kernel.OperUp })
	if err != nil {
		return fmt.Errorf("wait for the bridge's port %s, whose state is %d, to come up: %w", a.Port, port.OperState, err)
	}
	ns, link, err := a.need(env)
	if err != nil {
		return err
	}
	return ns.SetLink(link.Index, kernel.LinkChange{MAC: link.MAC})
}

// Observe tells nothing: the other resources tell whether the way is open.
func (a *Announce) Observe(context.Context, Env) (engine.State, error) { return engine.Present(), nil }

// Remove has nothing to take away.
func (a *Announce) Remove(context.Context, Env) error { return nil }

package cni

import (
	current "github.com/containernetworking/cni/pkg/types/100"
)

// Chain is embedded by statements of plugins that add to what an earlier
// plugin of the list made. They call no delegate, hand prevResult on, and are
// refused ADD and CHECK without one.
type Chain struct{ Base }

// Delegations are none, whatever the configuration says.
func (Chain) Delegations() []Delegation { return nil }

// Result is prevResult; nil where a dry run knows of none.
func (c Chain) Result(Made) (*current.Result, error) {
	if c.Req.Conf.PrevResult == nil {
		return nil, nil
	}
	return CopyResult(c.Req.Conf.PrevResult), nil
}

// chained marks the statement for needs.
func (Chain) chained() {}

// needs is asked before ADD and CHECK do anything. A dry run does without: the
// earlier plugin's result may not be known to it.
func (r *Request) needs(st Statement) error {
	if _, ok := st.(interface{ chained() }); ok && r.Conf.PrevResult == nil {
		return Errorf(CodeConfig, "%s is a chained plugin: no prevResult from an earlier plugin", r.Conf.Type)
	}
	return nil
}

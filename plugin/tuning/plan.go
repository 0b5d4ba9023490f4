// Package tuning is the tuning plugin: it sets kernel parameters of the
// container, and attributes of the interface that an earlier plugin made. See
// README.md.
package tuning

import (
	"context"
	"fmt"
	"strings"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/fairlead-net/fairlead/cni"
	"github.com/fairlead-net/fairlead/resource"
)

// Plugin is the tuning plugin.
func Plugin() cni.Plugin {
	return cni.Plugin{
		Name:  "tuning",
		About: "kernel parameters of the container, and attributes of its interface",
		Prepare: func(req *cni.Request) (cni.Statement, error) {
			conf, err := parse(req)
			if err != nil {
				return nil, err
			}
			return &statement{Chain: cni.Chain{Base: cni.Base{Req: req}}, conf: conf}, nil
		},
	}
}

type statement struct {
	cni.Chain
	conf *config
}

// Facts: the machine's operator may say which parameters can be set.
func (s *statement) Facts() []cni.Fact {
	if len(s.conf.sysctls) == 0 {
		return nil
	}
	return []cni.Fact{resource.FindAllowList{}}
}

// Link is the parameters, then the file with the interface's old values, then
// the interface's attributes.
func (s *statement) Link(facts cni.Facts) ([]resource.Resource, error) {
	var allowed resource.AllowList
	known, err := facts.Get(resource.FindAllowList{}.Name(), &allowed)
	if err == nil && known {
		err = s.conf.check(allowed)
	}
	if err != nil {
		return nil, err
	}
	var list []resource.Resource
	for _, p := range s.conf.sysctls {
		list = append(list, &resource.RestoredSysctl{Name: p.name, Value: p.value})
	}
	return append(list, s.attrs()...), nil
}

// check holds the parameters against the operator's list.
func (c *config) check(allowed resource.AllowList) error {
	for _, p := range c.sysctls {
		ok, err := allowed.Allows(p.key)
		if err != nil {
			return err
		}
		if !ok {
			return cni.Errorf(cni.CodeConfig, "sysctl %q is not allowed: %s has only %s",
				p.key, resource.AllowListFile, strings.Join(allowed.Patterns, ", "))
		}
	}
	return nil
}

// attrs are those that are asked for. At DEL they are all, since it may be
// asked for less than at ADD (a runtime's MAC address); the file knows. Without
// a folder for it there are none: ADD can't have set any.
func (s *statement) attrs() []resource.Resource {
	if s.conf.DataDir == "" {
		return nil
	}
	backup := &resource.LinkBackup{
		Path: resource.LinkBackupFile(s.conf.DataDir, s.Req.ContainerID, s.Req.IfName), Link: s.Req.IfName,
	}
	on := resource.On{Side: resource.Container, Link: s.Req.IfName, In: resource.Sandbox}
	list := []resource.Resource{backup}
	for _, a := range resource.Attributes() {
		value, asked := s.conf.attrs[a]
		if asked {
			backup.Attrs = append(backup.Attrs, a)
		}
		if asked || s.Req.Verb == cni.Del {
			list = append(list, &resource.LinkAttr{On: on, Attr: a, Value: value, Owner: s.Req.ID().Owner(), Backup: backup.Path})
		}
	}
	if len(list) == 1 {
		return nil
	}
	return list
}

// Result is the previous one, with what the interface is like now.
func (s *statement) Result(made cni.Made) (*current.Result, error) {
	out, err := s.Chain.Result(made)
	if err != nil || out == nil {
		return nil, err
	}
	for _, i := range out.Interfaces {
		if i.Name != s.Req.IfName || i.Sandbox == "" {
			continue
		}
		if mac := s.conf.attrs[resource.AttrMAC]; mac != "" {
			i.Mac = mac
		}
		if s.conf.MTU != 0 && i.Mtu != 0 {
			i.Mtu = s.conf.MTU
		}
	}
	return out, nil
}

// Status: an ADD could not set what is not allowed.
func (s *statement) Status(context.Context, resource.Env) error {
	if len(s.conf.sysctls) == 0 {
		return nil
	}
	allowed, err := resource.FindAllowList{}.Look()
	if err != nil {
		return fmt.Errorf("find out which sysctls are allowed: %w", err)
	}
	if err := s.conf.check(allowed); err != nil {
		return cni.Errorf(cni.CodeNotAvailable, "%w", err)
	}
	return nil
}

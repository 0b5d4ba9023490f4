package cni

import (
	"slices"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
)

// versions are those of the specification that we speak, oldest first.
func versions() []string {
	return []string{"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"}
}

// implicitVersion is that of a configuration which names none.
const implicitVersion = "0.1.0"

// checkVersion refuses a version that we do not speak, or that has not the verb.
func checkVersion(version string, verb Verb) error {
	all := versions()
	at := slices.Index(all, version)
	if at < 0 {
		return Errorf(CodeVersion, "cniVersion %q is not supported; supported are %v", version, all)
	}
	since := "0.1.0"
	switch verb {
	case Check:
		since = "0.4.0"
	case GC, Status:
		since = "1.1.0"
	}
	if at < slices.Index(all, since) {
		return Errorf(CodeVersion, "%s is not in cniVersion %s, but since %s", verb, version, since)
	}
	return nil
}

// asVersion converts a result to what the configuration asked for.
func asVersion(r *current.Result, version string) (types.Result, error) {
	out, err := r.GetAsVersion(version)
	if err != nil {
		return nil, Errorf(CodeVersion, "convert result to cniVersion %s: %w", version, err)
	}
	return out, nil
}

// CopyResult copies a result as far as plugins change one: its interfaces,
// addresses, routes and DNS.
func CopyResult(r *current.Result) *current.Result {
	out := &current.Result{CNIVersion: r.CNIVersion, DNS: *r.DNS.Copy()}
	for _, i := range r.Interfaces {
		out.Interfaces = append(out.Interfaces, i.Copy())
	}
	for _, ip := range r.IPs {
		out.IPs = append(out.IPs, ip.Copy())
	}
	for _, route := range r.Routes {
		out.Routes = append(out.Routes, route.Copy())
	}
	return out
}

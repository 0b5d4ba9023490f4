package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-net/fairlead/kernel"
)

// demoPicture is what the demo promises to leave as it was.
type demoPicture struct{ links, nft, leases, journal []string }

func (d *demo) picture() (demoPicture, error) {
	var p demoPicture
	host, err := kernel.Host()
	if err != nil {
		return p, err
	}
	links, err := host.Links()
	if err == nil {
		for _, l := range links {
			p.links = append(p.links, fmt.Sprintf("%d %s %s", l.Index, l.Name, l.Kind))
		}
		slices.Sort(p.links)
		p.nft, err = masqueradeRules(host)
	}
	if err := errors.Join(err, host.Close()); err != nil {
		return p, err
	}
	if p.leases, err = leaseFiles(d.path("leases")); err != nil {
		return p, err
	}
	p.journal, err = files(d.path("state/attachments"))
	return p, err
}

// masqueradeRules lists the one table that the demo's configuration writes to.
func masqueradeRules(host *kernel.Namespace) ([]string, error) {
	table := kernel.NftTableID{Family: kernel.NftInet, Name: "cni_plugins_masquerade"}
	_, ok, err := host.NftTable(table)
	if kernel.Unsupported(err) || err == nil && !ok {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list := []string{"table " + table.Name}
	for _, chain := range []string{"masq_checks", "postrouting"} {
		rules, err := host.NftRules(kernel.NftChainID{Table: table, Name: chain}, func(string) bool { return true })
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			list = append(list, fmt.Sprintf("%s %d %s", chain, r.Handle, r.Comment))
		}
	}
	return list, nil
}

// leaseFiles are the files named by an address.
func leaseFiles(dir string) ([]string, error) {
	all, err := files(dir)
	return slices.DeleteFunc(all, func(f string) bool {
		name := filepath.Base(f)
		return name == "" || (name[0] < '0' || name[0] > '9') && name[0] != 'f'
	}), err
}

func files(dir string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil && !e.IsDir() {
			list = append(list, path)
		}
		return err
	})
	return list, err
}

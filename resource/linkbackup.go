package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/fairlead-net/fairlead/attachment"
	"github.com/fairlead-net/fairlead/engine"
	"github.com/fairlead-net/fairlead/kernel"
)

// LinkBackup is a file with the attributes that a link of the container had
// before they were changed, in the reference suite's format: so its DEL puts
// back what we changed, and ours what it changed (rule 13). Calls of one
// attachment share it.
type LinkBackup struct {
	Path  string      `json:"path"`
	Link  string      `json:"link"`
	Attrs []Attribute `json:"attrs,omitempty"`
}

const linkBackupKind = "link-backup.1"

func (b *LinkBackup) Kind() string       { return linkBackupKind }
func (b *LinkBackup) Key() string        { return b.Path }
func (b *LinkBackup) Within() engine.Ref { return "" }

// fileNameMax is NAME_MAX, less the dot of the file that is written beside.
const fileNameMax = 255 - 1

// LinkBackupFile is the file of an attachment in a folder, by the name that the
// reference suite gives it. One too long for a file that suite can't write; we
// cut it.
func LinkBackupFile(dir, container, ifName string) string {
	const suffix = ".json"
	name := container + "_" + ifName
	if most := fileNameMax - len(suffix); len(name) > most {
		digest := attachment.Digest(name)
		name = name[:most-len(digest)-1] + "-" + digest
	}
	return filepath.Join(dir, name+suffix)
}

// linkValues is the file's content. The reference suite does not know two of
// them: Scope tells a file that another call of this attachment wrote from one
// that an earlier container left, and Index says which link had the values,
// whatever it is called by now.
type linkValues struct {
	MAC      string `json:"mac,omitempty"`
	Promisc  *bool  `json:"promisc,omitempty"`
	MTU      int    `json:"mtu,omitempty"`
	AllMulti *bool  `json:"allmulti,omitempty"`
	TxQLen   *int   `json:"txQLen,omitempty"`
	Scope    string `json:"fairlead,omitempty"` // the namespace's cookie
	Index    int    `json:"fairleadIndex,omitempty"`
}

// readLinkBackup gives nothing where there is no file, or where it is none of
// the format.
func readLinkBackup(path string) (linkValues, error) {
	data, err := os.ReadFile(path)
	if kernel.Absent(kernel.ObjectFile, err) {
		return linkValues{}, nil
	}
	if err != nil {
		return linkValues{}, err
	}
	var v linkValues
	if notOurs := json.Unmarshal(data, &v); notOurs != nil {
		v = linkValues{}
	}
	return v, nil
}

// value is the attribute's as text; "" where it is not kept.
func (v linkValues) value(a Attribute) string {
	switch {
	case a == AttrMAC:
		return v.MAC
	case a == AttrMTU && v.MTU != 0:
		return strconv.Itoa(v.MTU)
	case a == AttrPromisc && v.Promisc != nil:
		return strconv.FormatBool(*v.Promisc)
	case a == AttrAllMulti && v.AllMulti != nil:
		return strconv.FormatBool(*v.AllMulti)
	case a == AttrTxQLen && v.TxQLen != nil:
		return strconv.Itoa(*v.TxQLen)
	}
	return ""
}

// keep takes the link's value.
func (v *linkValues) keep(a Attribute, link kernel.Link) {
	switch a {
	case AttrMAC:
		v.MAC = link.MAC.String()
	case AttrMTU:
		v.MTU = link.MTU
	case AttrPromisc:
		v.Promisc = &link.Promisc
	case AttrAllMulti:
		v.AllMulti = &link.AllMulti
	case AttrTxQLen:
		v.TxQLen = &link.TxQLen
	}
}

// Create writes the file. What an earlier call of this attachment keeps in it
// is older, and stays.
func (b *LinkBackup) Create(_ context.Context, env Env) error {
	ns, link, err := On{Side: Container, Link: b.Link}.need(env)
	if err != nil {
		return err
	}
	scope, err := scopeOf(ns)
	if err != nil {
		return err
	}
	kept, err := readLinkBackup(b.Path)
	if err != nil {
		return err
	}
	if kept.Scope != scope || kept.Index != 0 && kept.Index != link.Index {
		kept = linkValues{Scope: scope}
	}
	kept.Index = link.Index
	for _, a := range b.Attrs {
		if kept.value(a) == "" {
			kept.keep(a, link)
		}
	}
	return b.write(kept)
}

// scopeOf is how a file names a namespace.
func scopeOf(ns *kernel.Namespace) (string, error) {
	cookie, err := ns.Cookie()
	return strconv.FormatUint(cookie, 16), err
}

// write puts the new file in the old one's place: a crash leaves one or the
// other.
func (b *LinkBackup) write(v linkValues) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.Path), 0o700); err != nil {
		return fmt.Errorf("keep what %s is like: %w", b.Link, err)
	}
	err = os.WriteFile(b.beside(), data, 0o600)
	if err == nil {
		err = os.Rename(b.beside(), b.Path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep what %s is like: %w", b.Link, err), remove(b.beside()))
	}
	return nil
}

func (b *LinkBackup) beside() string {
	return filepath.Join(filepath.Dir(b.Path), "."+filepath.Base(b.Path))
}

func (b *LinkBackup) Observe(context.Context, Env) (engine.State, error) {
	_, err := os.Lstat(b.Path)
	if kernel.Absent(kernel.ObjectFile, err) {
		return engine.Absent(), nil
	}
	return engine.Present(), err
}

// InUse says that nobody uses it whom the journal does not know.
func (b *LinkBackup) InUse(context.Context, Env) (bool, error) { return false, nil }

// Remove takes the file away, whoever wrote it.
func (b *LinkBackup) Remove(context.Context, Env) error {
	return errors.Join(remove(b.beside()), remove(b.Path))
}

// remove takes a file away that may be gone.
func remove(path string) error {
	if err := os.Remove(path); !kernel.Absent(kernel.ObjectFile, err) {
		return err
	}
	return nil
}

var _ engine.Shared[Env] = (*LinkBackup)(nil)

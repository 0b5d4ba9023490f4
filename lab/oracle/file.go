package oracle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/fairlead-net/fairlead/lab/host"
)

// maxShown is how long a file may be to be shown whole.
const maxShown = 160

// file is one that was found; contents are told when it is known what to replace
// in them.
type file struct {
	path    string
	value   string // of what is no regular file
	content []byte
}

// filesOf reads the files under the given directories, as the host sees them, but
// for those in skip.
func filesOf(h *host.Host, roots []string, skip map[string]bool, opaque func(string) bool) (list []file, err error) {
	h.Do(func() {
		for _, root := range roots {
			if err = walk(root, skip, opaque, &list); err != nil {
				return
			}
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = errMoved
	}
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	return list, nil
}

func walk(root string, skip map[string]bool, opaque func(string) bool, list *[]file) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if path == root {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if err != nil || skip[path] {
			return err
		}
		f := file{path: path}
		switch {
		case d.Type().IsRegular() && opaque(path):
			f.value = "file"
		case d.Type().IsRegular():
			f.content, err = os.ReadFile(path)
		case d.Type()&fs.ModeSymlink != 0:
			f.value, err = os.Readlink(path)
			f.value = "link to " + f.value
		default:
			f.value = fileType(d.Type())
		}
		if err == nil {
			*list = append(*list, f)
		}
		return err
	})
}

func fileType(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	default:
		return m.String()
	}
}

// fact tells a file, after what differs from run to run was replaced.
func (f file) fact(replace func(string) string) fact {
	i := Item{Kind: "file", Where: hostName, Name: f.path, Value: f.value}
	if f.value != "" {
		return fact{Item: i}
	}
	content := f.content
	if utf8.Valid(content) {
		content = []byte(replace(string(content)))
	}
	switch {
	case len(content) == 0:
		i.Value = "empty"
	case len(content) <= maxShown && utf8.Valid(content) && !bytes.ContainsRune(content, 0):
		i.Value = fmt.Sprintf("%q", content)
	default:
		sum := sha256.Sum256(content)
		i.Value = fmt.Sprintf("%d bytes, sha256 %s", len(content), hex.EncodeToString(sum[:8]))
	}
	return fact{Item: i}
}

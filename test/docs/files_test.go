package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository, seen from here.
const root = "../.."

// read gives a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// goFiles are the sources of the repository by path, less those of this
// package.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	return files(t, func(path string) bool {
		return strings.HasSuffix(path, ".go") && !strings.HasPrefix(path, "test/docs/")
	})
}

// documents are the Markdown files of the repository, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	return files(t, func(path string) bool { return strings.HasSuffix(path, ".md") })
}

func files(t *testing.T, wanted func(path string) bool) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && rel != "." && (strings.HasPrefix(d.Name(), ".") || rel == "bin") {
			return fs.SkipDir
		}
		if d.Type().IsRegular() && wanted(filepath.ToSlash(rel)) {
			all[filepath.ToSlash(rel)] = read(t, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

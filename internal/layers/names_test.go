package layers

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"testing"
)

// sourceName is what files of the source are called: what a test or a changed program leaves behind is not.
var sourceName = regexp.MustCompile(`^(\.[a-z]+|[A-Za-z0-9_-][A-Za-z0-9_.-]*\.[a-z0-9]+|Makefile|Containerfile)$`)

func TestFilesHaveNamesOfSource(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, dir := range []string{"cmd", "internal", "fleet", "release", "sdk"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "node_modules"):
				return filepath.SkipDir
			case !d.IsDir() && !sourceName.MatchString(d.Name()):
				t.Errorf("%q is no name of a file of the source", path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestNamesOfSource(t *testing.T) {
	for name, want := range map[string]bool{"a.go": true, "a_test.go": true, "Makefile": true, ".gitignore": true, "go.mod": true,
		"h": false, "@\n v\v\x7f": false, "core.1 2": false} {
		if sourceName.MatchString(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/work/boundary"
	"kerf/internal/work/search"
)

// TestAnExchangedRootLeadsNowhere: whoever replaces a root, or a directory above it, by a link
// does not move the workspace of a session that has it: neither file tools nor searches, scans
// or commands follow.
func TestAnExchangedRootLeadsNowhere(t *testing.T) {
	for name, exchange := range map[string]string{"the root": "repo/sub", "above it": "repo", "control": ""} {
		t.Run(name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{"repo/sub", "elsewhere/sub"} {
				if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{dir + "/a.txt", dir + "/../a.txt"} {
					if err := os.WriteFile(filepath.Join(base, name), []byte("text of "+dir+"\n"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			root := filepath.Join(base, "repo/sub")
			var checked []string
			ws, err := Open(Options{Home: filepath.Join(base, "home"), Roots: []string{root},
				Check: func(dir string) error { checked = append(checked, dir); return nil }})
			if err != nil {
				t.Fatal(err)
			}
			defer ws.Close()
			if len(checked) != 1 || checked[0] != root {
				t.Errorf("asked about %q", checked)
			}
			if exchange != "" {
				at := filepath.Join(base, exchange)
				if err := os.Rename(at, at+".was"); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(filepath.Join(base, "elsewhere"), at); err != nil {
					t.Fatal(err)
				}
			}
			ws.Boundary.Moved()
			open := exchange == ""
			img, err := ws.Tree.Read(filepath.Join(root, "a.txt"), 1<<10)
			if (err == nil && img != nil) != open {
				t.Errorf("the tree reads %v, %v", img, err)
			}
			found, _, err := search.New(search.Options{Roots: ws.Tree.Roots(), Boundary: ws.Boundary}).List(t.Context(), root, 1, 10)
			if (err == nil && len(found) > 0) != open {
				t.Errorf("a search lists %q, %v", found, err)
			}
			plan, err := ws.Boundary.Policy(boundary.WorkspaceWrite).Resolve()
			if (err == nil) != open || err != nil && !strings.Contains(err.Error(), "a link leads to") {
				t.Errorf("a plan for commands: %v", err)
			}
			if v := plan.At(filepath.Join(base, "elsewhere/new")); v.Access == boundary.Writable {
				t.Errorf("elsewhere is %+v", v)
			}
		})
	}
}

package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRulesFilesOfAllLayers: the administrator's come first, then the user's, then
// the project's if it is trusted; a file that cannot be read is an error that names
// it.
func TestRulesFilesOfAllLayers(t *testing.T) {
	w := newWorld(t)
	system := filepath.Join(t.TempDir(), "kerf")
	w.write(filepath.Join(system, "rules", "b.rules"), "b -> forbid\n")
	w.write(filepath.Join(system, "rules", "a.rules"), "a -> forbid\n")
	w.write(filepath.Join(system, "rules", "notes.txt"), "no rules\n")
	w.write(filepath.Join(w.home, "rules", "u.rules"), "u -> allow\n")
	w.write(filepath.Join(w.project, ".kerf", "rules", "p.rules"), "p -> prompt\n")
	c := w.must(nil)
	files := func(system string, trusted bool) []string {
		t.Helper()
		list, err := c.rulesFiles(system, trusted)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list {
			got = append(got, f.Layer+" "+filepath.Base(f.Path)+" "+string(f.Data))
		}
		return got
	}
	all := []string{"system a.rules a -> forbid\n", "system b.rules b -> forbid\n", "user u.rules u -> allow\n",
		"project p.rules p -> prompt\n"}
	if d := cmp.Diff(all, files(system, true)); d != "" {
		t.Errorf("trusted (-want +got):\n%s", d)
	}
	if d := cmp.Diff(all[:3], files(system, false)); d != "" {
		t.Errorf("untrusted (-want +got):\n%s", d)
	}
	if d := cmp.Diff(all[2:3], files(".", false)); d != "" {
		t.Errorf("a system without such a directory (-want +got):\n%s", d)
	}
	if err := os.Mkdir(filepath.Join(w.home, "rules", "dir.rules"), 0o700); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(all[:3], files(system, false)); d != "" {
		t.Errorf("with a directory of such a name (-want +got):\n%s", d)
	}
	if err := os.Symlink(filepath.Join(system, "none"), filepath.Join(system, "rules", "gone.rules")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.rulesFiles(system, false); err == nil || err.Error() == "" ||
		filepath.Base(err.(*Error).File) != "gone.rules" {
		t.Errorf("a rules file that cannot be read: %v", err)
	}
}

package rollout

import (
	"os"
	"path/filepath"
	"testing"
)

// TestARepairThatFailsIsTold: a session is not opened that could not be made sound, whichever step
// of the repair failed, and its file is closed.
func TestARepairThatFailsIsTold(t *testing.T) {
	whole := func(b []byte) []byte { return b[:len(b)-1] }
	torn := func(b []byte) []byte { return b[:len(b)-9] }
	amid := func(b []byte) []byte { return append([]byte("no record\n"), b...) }
	for name, c := range map[string]struct {
		spoil func([]byte) []byte
		flag  int
		place func(t *testing.T) string // where the repair works
	}{
		"the line cannot be ended": {whole, os.O_RDONLY, func(t *testing.T) string { return t.TempDir() }},
		"the end cannot be cut":    {torn, os.O_RDONLY, func(t *testing.T) string { return t.TempDir() }},
		"the end cannot be kept":   {torn, os.O_RDWR, func(t *testing.T) string { return filepath.Join(t.TempDir(), "gone") }},
		"the file cannot be kept":  {amid, os.O_RDWR, func(t *testing.T) string { return filepath.Join(t.TempDir(), "gone") }},
		"the records cannot be written": {amid, os.O_RDWR, func(t *testing.T) string {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, rolloutName+".new", "x"), 0o700); err != nil {
				t.Fatal(err)
			}
			return dir
		}},
		"the file cannot be replaced": {amid, os.O_RDWR, func(t *testing.T) string {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, rolloutName, "x"), 0o700); err != nil {
				t.Fatal(err)
			}
			return dir
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "s")
			spoiled(t, dir, c.spoil)
			f, err := os.OpenFile(file1(dir), c.flag, 0)
			if err != nil {
				t.Fatal(err)
			}
			s, err := scan(f)
			if err != nil || s.damage.none() {
				t.Fatal("nothing to repair", err)
			}
			w := &Writer{dir: c.place(t)}
			if got, err := w.repair(f, s); err == nil {
				t.Errorf("repaired: %v", got)
			}
			if f.Close() == nil {
				t.Error("the file stayed open")
			}
		})
	}
}

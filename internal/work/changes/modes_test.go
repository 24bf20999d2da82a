package changes_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/work/changes"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/ledger"
)

// TestADirectoryThatCannotGetItsModeBackIsTold: where the directory is gone, something else, or
// has a third mode, the undo is in conflict, which is settled as one of a file is.
func TestADirectoryThatCannotGetItsModeBackIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		since func(dir string)
		why   string
		taken string // what becomes of it with settle.Theirs
	}{
		"gone":    {func(dir string) { must(t, os.Remove(dir)) }, "it is gone", ""},
		"a file":  {func(dir string) { must(t, os.Remove(dir)); must(t, os.WriteFile(dir, nil, 0o600)) }, elseThere, ""},
		"a link":  {func(dir string) { must(t, os.Remove(dir)); must(t, os.Symlink(".", dir)) }, elseThere, ""},
		"changed": {func(dir string) { must(t, os.Chmod(dir, 0o711)) }, "its mode was changed since", "restored: directory"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, 1)
			dir := d.path("mode")
			must(t, os.Mkdir(dir, 0o755))
			d.ran(t, "t0", ledger.Proven)
			must(t, os.Chmod(dir, 0o700))
			d.ran(t, "t1", ledger.Proven)
			c.since(dir)
			refused := "conflict: " + c.why
			taken := c.taken
			if taken == "" {
				taken = refused
			}
			stays := "unchanged"
			if c.taken != "" { // it is a directory still
				stays = "unchanged: it was changed since and stays"
			}
			for way, want := range map[settle.Way]string{"": refused, settle.Merge: refused,
				settle.Skip: "unchanged: skipped: " + c.why, settle.Ours: stays, settle.Theirs: taken} {
				plan := d.plan(t, d.reader(), changes.Choice{Session: "s", Turn: "t1", Conflicts: way})
				if diff := cmp.Diff(map[string]string{"mode": want}, d.told(plan)); diff != "" {
					t.Errorf("%q: %s", way, diff)
				}
				if (plan.Problem != "") != (want == refused) {
					t.Errorf("%q: problem %q", way, plan.Problem)
				}
			}
			report, err := d.reader().Undo(t.Context(), d.work, changes.Choice{Session: "s", Turn: "t1"}, changes.UndoOptions{})
			if err != nil || report.Whole() {
				t.Errorf("it is whole: %+v, %v", report, err)
			}
		})
	}
}

const elseThere = "something else is there now"

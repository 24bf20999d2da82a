package witness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/testkit/long"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/journal"
)

// found is what a name may hold when it is touched, and in the end.
var holdings = []string{"nothing", "file", "file, kept", "another", "directory"}

// TestANameThatWasTouchedIsTold: a name is touched up to three times, and somebody else may change it
// between. Whatever it held each time, if it holds something else in the end than at first, that is
// told, or that not all is known.
func TestANameThatWasTouchedIsTold(t *testing.T) {
	long.Slow(t)
	s := newStage(t)
	names := map[string]string{"nothing": "no", "file": "one", "file, kept": "one", "another": "two", "directory": "dir"}
	for _, end := range []string{"nothing", "file", "another", "directory"} {
		for _, first := range holdings {
			for _, second := range append(holdings, "") {
				for _, third := range append(holdings, "") {
					if second == "" && third != "" {
						continue
					}
					for how := range 4 { // whether others tell of it, that it was gone, and that it changed since
						s.empty()
						s.write("one", "one")
						s.write("two", "two")
						if err := os.Mkdir(filepath.Join(s.root, "dir"), 0o755); err != nil {
							t.Fatal(err)
						}
						at := filepath.Join(s.root, "x")
						var list []journal.Record
						for i, what := range []string{first, second, third} {
							if what == "" {
								continue
							}
							if i > 0 {
								list = append(list, journal.Record{Kind: journal.Foreign, Path: at, Gone: how&1 != 0})
							}
							list = append(list, s.touchOf(at, names[what], int64(i+1), what == "file, kept"))
						}
						if how&2 != 0 { // since then
							s.write("one", "one, and more")
						}
						if end != "nothing" {
							if err := os.Rename(filepath.Join(s.root, names[end]), at); err != nil {
								t.Fatal(err)
							}
						}
						r := witness.Collected(s.home, []string{s.root}, s.store, list)
						if got := told([]witness.Report{r}); names[first] != names[end] && !strings.Contains(got, at) {
							t.Errorf("touched with %q, %q, %q (%d), in the end there is %q: nothing is told of it\n%s", first, second, third, how,
								end, got)
						}
					}
				}
			}
		}
	}
}

// touchOf is the record of a touch of a name that holds what another one does.
func (s *stage) touchOf(at, like string, number int64, kept bool) journal.Record {
	s.Helper()
	r := journal.Record{Kind: journal.Touch, Path: at, Number: number}
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, filepath.Join(s.root, like), unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	if err == unix.ENOENT {
		return r
	}
	if err != nil {
		s.Fatal(err)
	}
	r.Before = journal.StateOf(&st)
	if kept {
		data, err := os.ReadFile(filepath.Join(s.root, like))
		if err != nil {
			s.Fatal(fmt.Errorf("%s: %w", like, err))
		}
		r.Before.How, r.Before.Data = journal.Inline, data
	}
	return r
}

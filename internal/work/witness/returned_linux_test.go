package witness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/store"
	"kerf/internal/work/witness/journal"
)

// TestAFileThatCameBackWasNotMade: a command moves a file away and brings it back, and somebody
// who had it open writes to it in between. To take back that the file came would destroy what they
// wrote, so no proven change may say so. Each case is what was there before.
func TestAFileThatCameBackWasNotMade(t *testing.T) {
	for name, c := range map[string]struct {
		kept    bool // what it held was kept, since the command might write it
		changed bool // the writer changed it
		again   bool // it went and came back once more
		other   bool // another file came in its place
		made    bool // the command had made it
		want    string
	}{
		"the command only moved it":        {changed: true},
		"the command only moved it, twice": {changed: true, again: true},
		"it may have written it":           {kept: true, changed: true, want: "unproven old > new"},
		"it may have written it, twice":    {kept: true, changed: true, again: true, want: "unproven old > new"},
		"the command had made it":          {made: true, changed: true, want: "gap somebody else changed what it held\nunproven - > new"},
		"nobody changed it":                {},
		"another file came, and what went is not known": {other: true,
			want: "gap what it held went away\nunproven - > new"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s, err := store.Open(filepath.Join(t.TempDir(), "store"))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c2 := newCollector(t.TempDir(), []string{root}, s)
			defer c2.close()
			if !c.made {
				c2.first = time.Now().Add(time.Minute).UnixNano()
			}
			p := filepath.Join(root, "a")
			if err := os.WriteFile(p, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			was, err := c2.look(p)
			if err != nil {
				t.Fatal(err)
			}
			if c.kept {
				was.How, was.Data = journal.Inline, []byte("old")
			}
			away := func(n int64, was journal.State) {
				c2.take(&journal.Record{Kind: journal.Touch, Path: p, Number: n, Before: was})
				c2.take(&journal.Record{Kind: journal.Foreign, Path: p})
				c2.take(&journal.Record{Kind: journal.Touch, Path: p, Number: n + 1})
			}
			if c.made {
				c2.take(&journal.Record{Kind: journal.Touch, Path: p})
				c2.take(&journal.Record{Kind: journal.Foreign, Path: p})
			}
			away(1, was)
			if c.again {
				c2.take(&journal.Record{Kind: journal.Foreign, Path: p})
				away(3, was)
			}
			if c.changed {
				err := os.WriteFile(p, []byte("new"), 0o644)
				if err := errors.Join(err, os.Chtimes(p, time.Now(), time.Now().Add(time.Hour))); err != nil {
					t.Fatal(err)
				}
			}
			if c.other {
				err := os.WriteFile(p+".new", []byte("new"), 0o644)
				if err := errors.Join(err, os.Rename(p+".new", p)); err != nil {
					t.Fatal(err)
				}
			}
			if got := words(c2.report(func() {})); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// words are the changes and gaps of a report.
func words(r Report) string {
	var list []string
	text := func(i *delta.Image) string {
		if i == nil {
			return "-"
		}
		return string(i.Data)
	}
	for _, part := range r.Parts {
		for _, c := range part.Set {
			list = append(list, fmt.Sprintf("%s %s > %s", part.Certainty, text(c.Pre), text(c.Post)))
		}
	}
	for _, g := range r.Gaps {
		list = append(list, "gap "+g.Why)
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// TestAnotherNameThatCannotBeRead is told of: its file was changed by another name. One that went is not.
func TestAnotherNameThatCannotBeRead(t *testing.T) {
	for err, want := range map[error]int{fs.ErrPermission: 1, fs.ErrNotExist: 0} {
		c := newCollector(t.TempDir(), nil, nil)
		was := &held{done: true, image: delta.NewFile([]byte("old"), 0o644)}
		c.otherName(other{path: "/b", was: was, post: found{err: &fs.PathError{Path: "/b", Err: err}}}, &sorter{})
		if len(c.gaps) != want || len(c.names) > 0 {
			t.Errorf("%v: gaps %v", err, c.gaps)
		}
	}
}

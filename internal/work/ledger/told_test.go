package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
)

func TestKnown(t *testing.T) {
	for _, c := range []struct{ cause, certainty, want string }{
		{CauseTool, "", Proven}, {CauseUndo, "", Proven}, {CauseCommand, "", Unproven}, {CauseOutside, "", Outside},
		{CauseCommand, Proven, Proven}, {CauseTool, Unproven, Unproven}, {CauseOutside, Proven, Proven},
	} {
		if got := (&Entry{Cause: c.cause, Certainty: c.certainty}).Known(); got != c.want {
			t.Errorf("%s, said to be %q, is %s, not %s", c.cause, c.certainty, got, c.want)
		}
	}
}

func TestNotesAreBounded(t *testing.T) {
	gap := Gap{"/w/a", "too large"}
	if got := NoteOf([]string{"one"}, []Gap{gap}); got != "one; /w/a (too large)" {
		t.Errorf("%q", got)
	}
	var notes []string
	for i := range maxNotes {
		notes = append(notes, fmt.Sprint(i))
	}
	if got := NoteOf(notes, nil); strings.Count(got, ";") != maxNotes-1 || strings.Contains(got, "more") {
		t.Errorf("%q", got)
	}
	got := NoteOf(notes, []Gap{gap, gap})
	if !strings.HasSuffix(got, "; 19; and 2 more") || len(notes) != maxNotes {
		t.Errorf("%q", got)
	}
}

// TestUnknown: the files of which an entry does not know all, told as such, or in the note of an older one.
func TestUnknown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
	gaps := []Gap{{"/w/a", "it is large"}, {"/w/b", "a device (odd)"}}
	for name, e := range map[string]Entry{
		"told": {Gaps: gaps, Note: "/w/c (other)"}, "in a note": {Note: "some words; " + NoteOf(nil, gaps) + "; w/c (relative)"},
	} {
		if d := cmp.Diff(gaps, e.Unknown()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if got := (&Entry{Note: "all is known"}).Unknown(); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

func TestDirectories(t *testing.T) {
	e := Entry{Changes: []Change{{Path: "/w/a/b/file"}, {Path: "/w/was"}}, Dirs: []Path{"/w/a", "/w/a/b", "/w/empty"},
		Gone: []Dir{{Path: "/w/was", Mode: 0o755}, {Path: "/w/left", Mode: 0o700}}, Modes: []DirMode{{Path: "/w/c"}}}
	alone := map[string]bool{"/w/a": false, "/w/a/b": false, "/w/empty": true, "/w/was": false, "/w/left": true}
	if d := cmp.Diff(alone, e.Alone()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	all := []Path{"/w/a", "/w/a/b", "/w/empty", "/w/was", "/w/left", "/w/c"}
	if d := cmp.Diff(all, e.Directories()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(e.Dirs) != 3 {
		t.Error("the list of the entry grew")
	}
}

// TestMoves: the entries up to a move have the names of now, the later ones are left as they are, and
// the file of the ledger stays.
func TestMoves(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	if got := Moves(dir); got != nil {
		t.Errorf("before any: %v", got)
	}
	entry := func(root string) *Entry {
		file := VersionOf(delta.NewFile([]byte("x"), 0o644))
		at := func(name string) Path { return Path(root + name) }
		return &Entry{Cause: CauseTool, Changes: []Change{{Path: root + "/a", Post: file, From: root + "/b", To: root + "/c"}, {Path: root + "-not/a", Post: file}},
			Only: []Path{at("/a")}, Dirs: []Path{at("/d"), at("")}, Gone: []Dir{{Path: at("/e"), Mode: 0o755}},
			Modes: []DirMode{{Path: at("/f"), Pre: 1, Post: 2}}, Gaps: []Gap{{at("/g"), "why"}}}
	}
	for range 2 {
		if err := l.Append(entry("/old")); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second is the same as the first
		if err := AddMove(dir, "/old", "/new"); err != nil {
			t.Fatal(err)
		}
	}
	if got := Moves(dir); len(got) != 1 || got[0] != (Move{From: "/old", To: "/new", Seq: 2}) {
		t.Errorf("%+v", got)
	}
	if err := errors.Join(l.Append(entry("/old")), AddMove(dir, "/new", "/third"), l.Append(entry("/third"))); err != nil {
		t.Fatal(err)
	}
	list, err := l.Read(0)
	if err != nil || len(list) != 4 {
		t.Fatalf("%d entries, %v", len(list), err)
	}
	for i, root := range []string{"/third", "/third", "/old", "/third"} {
		want := entry(root)
		want.Changes[1].Path = []string{"/old-not/a", "/old-not/a", "/old-not/a", "/third-not/a"}[i]
		got := list[i]
		got.V, got.Seq, got.Prev, got.Time = 0, 0, "", time.Time{}
		if d := cmp.Diff(*want, got); d != "" {
			t.Errorf("entry %d (-want +got):\n%s", i+1, d)
		}
	}
	if now, err := os.ReadFile(filepath.Join(dir, fileName)); err != nil || !strings.HasPrefix(string(now), string(text)) {
		t.Errorf("the lines changed: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, movedName), []byte("junk\n{\"from\":\"/a\"}\n{\"to\":\"/b\"}\n{\"from\":\"/a\",\"to\":\"/b\",\"seq\":1}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Moves(dir); len(got) != 1 || got[0].Path("/a") != "/b" || got[0].Path("/ab") != "/ab" {
		t.Errorf("of damaged lines: %+v", got)
	}
}

// TestAMoveBeforeAnyEntry is noted, too: nothing that was entered before it is renamed.
func TestAMoveBeforeAnyEntry(t *testing.T) {
	dir := t.TempDir()
	if err := AddMove(dir, "/old", "/new"); err != nil {
		t.Fatal(err)
	}
	if got := Moves(dir); len(got) != 1 || got[0] != (Move{From: "/old", To: "/new"}) {
		t.Errorf("%+v", got)
	}
}

// TestNow: a directory that was called so at some moment is called as the moves after it say.
func TestNow(t *testing.T) {
	dir := t.TempDir()
	before := time.Now().Add(-time.Hour)
	if err := errors.Join(NoteMove(dir, "/a", "/b"), NoteMove(dir, "/b", "/c")); err != nil {
		t.Fatal(err)
	}
	moves := Moves(dir)
	if len(moves) != 2 || moves[0].At.IsZero() {
		t.Fatalf("%+v", moves)
	}
	for _, c := range []struct {
		p    string
		then time.Time
		want string
	}{{"/a/x", before, "/c/x"}, {"/b", before, "/c"}, {"/z", before, "/z"}, {"/a", time.Now().Add(time.Hour), "/a"}, {"/b", moves[1].At, "/b"}} {
		if got := Now(moves, c.p, c.then); got != c.want {
			t.Errorf("%s of %v is %s, not %s", c.p, c.then, got, c.want)
		}
	}
	if err := NoteMove(filepath.Join(dir, "none"), "/a", "/b"); err == nil {
		t.Error("a move is noted nowhere")
	}
}

func TestVersionsAreTold(t *testing.T) {
	file := delta.NewFile([]byte("x"), 0o644)
	if got := VersionOf(file).Delta(); got != file.Version {
		t.Errorf("%+v", got)
	}
	var none *Version
	if none.Delta() != (delta.Version{}) || none.Image() != nil || VersionOf(nil) != nil {
		t.Error("nothing has a version")
	}
	set := delta.Set{{Path: "/w/a", Pre: file, To: "/w/b"}, {Path: "/w/b", Post: file, From: "/w/a"}}
	e := Entry{Changes: ChangesOf(set)}
	for i, c := range e.Set() {
		if c.Path != set[i].Path || c.From != set[i].From || c.To != set[i].To || c.Pre.At() != set[i].Pre.At() || c.Post.At() != set[i].Post.At() {
			t.Errorf("%+v", c)
		}
		if c.Pre != nil && c.Pre.Loaded {
			t.Error("bytes that are not there are loaded")
		}
	}
}

func TestChainInWords(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []Chain{{}, {Entries: 1, Since: 1}, {Entries: 5, Since: 1}, {Entries: 5, Since: 3, Older: 2}, {Entries: 5, Older: 5},
		{Entries: 5, Since: 1, Torn: 1}, {Entries: 5, Since: 1, Torn: 2}} {
		s := c.String()
		if s == "" || seen[s] || c.Entries > 0 && !strings.Contains(s, fmt.Sprint(c.Entries)) {
			t.Errorf("%+v is %q", c, s)
		}
		seen[s] = true
	}
	for _, c := range []struct {
		chain Chain
		want  string
	}{{Chain{}, "0 entries"}, {Chain{Entries: 1, Since: 1}, "1 entries, hash chain whole"}, {Chain{Entries: 1, Older: 1}, "1 entries from before there were hashes"},
		{Chain{Entries: 2, Since: 2, Older: 1, Torn: 1},
			"2 entries, hash chain whole since entry 2, 1 older ones without hashes, 1 unfinished writes"}} {
		if got := c.chain.String(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.chain, got, c.want)
		}
	}
	if _, err := Open("relative"); err == nil {
		t.Error("a ledger is opened wherever one happens to be")
	}
}

// TestWhereALedgerIsCutOff: the line that is named is the first that is missing.
func TestWhereALedgerIsCutOff(t *testing.T) {
	const entries = 12
	dir := t.TempDir()
	l := open(t, dir)
	for range entries {
		if err := errors.Join(l.Append(&Entry{Cause: CauseTool}), l.Sync()); err != nil {
			t.Fatal(err)
		}
	}
	if err := verified(t, dir); err != nil {
		t.Errorf("all of it is there: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for keep := range entries {
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(strings.Join(lines[:keep], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		var broken *BreakError
		if err := verified(t, dir); !errors.As(err, &broken) || broken.Line != keep+1 ||
			!strings.Contains(broken.Reason, fmt.Sprintf("%d entries were written, the last whole one is %d", entries, keep)) {
			t.Errorf("%d lines are kept: %v", keep, err)
		}
	}
}

// TestALedgerThatCannotBeReadIsTold: and one that cannot be made durable.
func TestALedgerThatCannotBeReadIsTold(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories cannot be opened like files")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, fileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir).Verify(); err == nil {
		t.Error("a directory is a sound ledger")
	}
	if _, err := open(t, dir).Read(0); err == nil {
		t.Error("a directory has entries")
	}
	dir = filepath.Join(t.TempDir(), "l")
	l := open(t, dir)
	if err := l.Append(&Entry{Cause: CauseTool}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(); err == nil {
		t.Error("a ledger in a directory that is gone is durable")
	}
}

// TestReadingClosesWhatItOpens counts the open files.
func TestReadingClosesWhatItOpens(t *testing.T) {
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	dir := t.TempDir()
	l := open(t, dir)
	for range 3 {
		if err := l.Append(&Entry{Cause: CauseTool}); err != nil {
			t.Fatal(err)
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what nobody refers to any more
	before := files()
	for range 100 {
		if _, err := l.Tail(1); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Verify(); err != nil {
			t.Fatal(err)
		}
	}
	if now := files(); now > before+50 { // the runtime has some of its own
		t.Errorf("%d files are open, %d were", now, before)
	}
}

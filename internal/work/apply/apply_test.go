package apply

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/patch/unified"
	"kerf/internal/work/changes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// place is a directory that patches are applied in.
type place struct {
	*testing.T
	root string
	tree *tree.Tree
	work *txn.Workspace
}

// newPlace has the given files, by name; those that end with a slash are directories.
func newPlace(t *testing.T, files map[string]string) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	p := &place{T: t, root: filepath.Join(base, "w")}
	p.must(err)
	p.must(os.Mkdir(p.root, 0o755))
	for name, text := range files {
		at := filepath.Join(p.root, name)
		if strings.HasSuffix(name, "/") {
			p.must(os.MkdirAll(at, 0o755))
			continue
		}
		p.must(os.MkdirAll(filepath.Dir(at), 0o755))
		p.must(os.WriteFile(at, []byte(text), 0o644))
	}
	p.root = filepath.ToSlash(p.root)
	p.tree, err = tree.Open(tree.Options{Roots: []string{p.root}})
	p.must(err)
	s, err := store.Open(filepath.Join(base, "home", "store"))
	p.must(err)
	l, err := ledger.Open(filepath.Join(base, "home"))
	p.must(err)
	p.work, err = txn.Open(txn.Options{Tree: p.tree, Store: s, Ledger: l, Dir: filepath.Join(base, "home")})
	p.must(err)
	t.Cleanup(func() { _ = p.work.Close(); _ = l.Close(); _ = s.Close() })
	return p
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// files are all of the place, and its empty directories.
func (p *place) files() map[string]string {
	p.Helper()
	got := map[string]string{}
	p.must(filepath.WalkDir(p.root, func(at string, e fs.DirEntry, err error) error {
		if err != nil || filepath.ToSlash(at) == p.root {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(at), p.root+"/")
		if e.IsDir() {
			below, err := os.ReadDir(at)
			if len(below) == 0 {
				got[name+"/"] = ""
			}
			return err
		}
		text, err := os.ReadFile(at)
		got[name] = string(text)
		return err
	}))
	return got
}

// apply applies a patch and reports it.
func (p *place) apply(text string, o Options) (Report, error) {
	p.Helper()
	o.Tool = "apply_patch"
	r, err := Patch(p.Context(), p.tree, p.work, []byte(text), o)
	return NewReport(p.root, r, o.DryRun, err), err
}

// told is a report in short.
func told(r Report) (rows []string) {
	for _, f := range r.Files {
		row := f.Path + " " + f.Outcome
		if f.Operation != "" {
			row += " " + f.Operation
		}
		if f.From != "" {
			row += " from " + f.From
		}
		rows = append(rows, row)
	}
	return rows
}

// ten is a file of ten lines of which some are others.
func ten(others ...string) string {
	lines := strings.Split("1 2 3 4 5 6 7 8 9 10", " ")
	for i := 0; i < len(others); i += 2 {
		lines[slices.Index(lines, others[i])] = others[i+1]
	}
	return strings.Join(lines, "\n") + "\n"
}

// unifiedDiff is what git would write of a change of files that are there on one side or both.
func unifiedDiff(before, after map[string]string) string {
	set := delta.Set{}
	image := func(m map[string]string, name string) *delta.Image {
		if text, ok := m[name]; ok {
			return delta.NewFile([]byte(text), 0o644)
		}
		return nil
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		set = append(set, delta.Change{Path: name, Pre: image(before, name), Post: image(after, name)})
	}
	return string(diff.Unified(delta.Files(set, func(path string) string { return path })))
}

// TestAPatchIsAppliedWholeOrNotAtAll: it is first planned, and written only if every file fits; what
// is told is what was done, and taken back the files are as they were.
func TestAPatchIsAppliedWholeOrNotAtAll(t *testing.T) {
	before := map[string]string{"a": ten(), "gone": "gone\n", "same": "same\n"}
	after := map[string]string{"a": ten("5", "five"), "new/file": "new\n", "same": "same\n"}
	text := unifiedDiff(before, after)
	p := newPlace(t, before)
	want := []string{"a exact modified", "gone exact deleted", "new/file exact created"}

	r, err := p.apply(text, Options{DryRun: true})
	p.must(err)
	if d := cmp.Diff(want, told(r)); d != "" || r.Applied || !r.DryRun {
		t.Errorf("dry: %+v\n%s", r, d)
	}
	if d := cmp.Diff(before, p.files()); d != "" {
		t.Errorf("a dry run wrote:\n%s", d)
	}

	r, err = p.apply(text, Options{})
	p.must(err)
	if d := cmp.Diff(want, told(r)); d != "" || !r.Applied || r.DryRun || r.Error != "" {
		t.Errorf("%+v\n%s", r, d)
	}
	if d := cmp.Diff(after, p.files()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	last, err := p.work.Ledger.Tail(1)
	p.must(err)
	if e := last[0]; e.Tool != "apply_patch" || e.Client != "kerf apply-patch" || e.Turn == "" || e.Session != "" {
		t.Errorf("the ledger says %+v", e)
	}

	r, err = p.apply(text, Options{})
	if !errors.Is(err, ErrConflict) || r.Applied || r.Error == "" || len(r.Files) == 0 {
		t.Errorf("a second time: %v, %+v", err, r)
	}
	for _, f := range r.Files {
		if f.Outcome != Failed || f.Message == "" {
			t.Errorf("a second time: %+v", f)
		}
	}
	if d := cmp.Diff(after, p.files()); d != "" {
		t.Errorf("a patch that does not fit wrote:\n%s", d)
	}

	r, err = p.apply(text, Options{Reverse: true})
	p.must(err)
	before["new/"] = "" // a directory that becomes empty stays
	if d := cmp.Diff(before, p.files()); d != "" || !r.Applied {
		t.Errorf("taken back: %+v (-want +got):\n%s", r, d)
	}
	if _, err := p.apply("no patch", Options{}); err == nil || errors.Is(err, ErrConflict) {
		t.Errorf("what is no patch: %v", err)
	}
}

// TestMovesAndCopiesAreToldOnce, where they went.
func TestMovesAndCopiesAreToldOnce(t *testing.T) {
	p := newPlace(t, map[string]string{"a": "A\n", "b": "B\n"})
	r, err := p.apply("diff --git a/a b/d/a\nsimilarity index 100%\nrename from a\nrename to d/a\n"+
		"diff --git a/b b/c\nsimilarity index 100%\ncopy from b\ncopy to c\n", Options{})
	p.must(err)
	if d := cmp.Diff([]string{"c exact copied from b", "d/a exact moved from a"}, told(r)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"d/a": "A\n", "b": "B\n", "c": "B\n"}, p.files()); d != "" {
		t.Error(d)
	}
}

// TestFilesAndDirectoriesTakeEachOthersPlaces within one patch, if nothing is lost by it.
func TestFilesAndDirectoriesTakeEachOthersPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		before, after map[string]string
		more          string // a file that the patch does not know
		fits          bool
	}{
		"a file for a directory": {map[string]string{"d/x": "x\n", "d/e/y": "y\n"}, map[string]string{"d": "file\n"}, "", true},
		"a directory for a file": {map[string]string{"d": "file\n"}, map[string]string{"d/x": "x\n", "d/e/y": "y\n"}, "", true},
		"not over what stays":    {map[string]string{"d/x": "x\n"}, map[string]string{"d": "file\n"}, "d/stays", false},
		"not over a file":        {map[string]string{}, map[string]string{"d/x": "x\n"}, "d", false},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for file, text := range c.before {
				files[file] = text
			}
			if c.more != "" {
				files[c.more] = "theirs\n"
			}
			p := newPlace(t, files)
			text := unifiedDiff(c.before, c.after)
			for _, reverse := range []bool{false, true} {
				want := map[bool]map[string]string{false: c.after, true: c.before}[reverse]
				r, err := p.apply(text, Options{Reverse: reverse})
				if !c.fits {
					if !errors.Is(err, ErrConflict) {
						t.Errorf("%v, %+v", err, r)
					}
					if want = files; reverse {
						continue
					}
				} else if err != nil {
					t.Fatalf("reverse %v: %v", reverse, err)
				}
				if d := cmp.Diff(want, p.files()); d != "" {
					t.Errorf("reverse %v (-want +got):\n%s", reverse, d)
				}
			}
		})
	}
}

// TestAMergeNeedsWhatThePatchWasMadeFrom: with it a change fits beside another one of the file, and
// the same place is a conflict.
func TestAMergeNeedsWhatThePatchWasMadeFrom(t *testing.T) {
	base, mine := ten(), ten("5", "five")
	text := unifiedDiff(map[string]string{"a": base}, map[string]string{"a": mine})
	blobs := Blobs{delta.SumOf([]byte("other")): []byte("other"), delta.SumOf([]byte(base)): []byte(base)}
	for name, c := range map[string]struct {
		now     string
		blobs   Blobs
		want    string
		outcome string
	}{
		"beside":          {ten("3", "three", "8", "eight"), blobs, ten("3", "three", "5", "five", "8", "eight"), Merged},
		"the same place":  {ten("5", "cinq"), blobs, "", Conflict},
		"without content": {ten("3", "three", "8", "eight"), nil, "", Failed},
		"as it was":       {base, blobs, mine, Exact},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, map[string]string{"a": c.now})
			r, err := p.apply(text, Options{ThreeWay: true, Blobs: c.blobs})
			if (err == nil) != (c.want != "") || len(r.Files) != 1 || r.Files[0].Outcome != c.outcome {
				t.Errorf("%v, %+v", err, r)
			}
			if c.want == "" {
				c.want = c.now
			}
			if got := p.files()["a"]; got != c.want {
				t.Errorf("it holds %q, want %q", got, c.want)
			}
		})
	}
}

// TestSessionBlobs are the contents that a session found and left, and no other's.
func TestSessionBlobs(t *testing.T) {
	p := newPlace(t, map[string]string{"a": "one\n", "b": "theirs\n"})
	change := func(session, name, next string) {
		t.Helper()
		path := filepath.ToSlash(filepath.Join(p.root, name))
		pre, err := p.tree.ReadEntry(path, 0)
		p.must(err)
		_, err = p.work.Commit(t.Context(), delta.Set{{Path: path, Pre: pre, Post: delta.NewFile([]byte(next), 0o644)}},
			txn.CommitOptions{Origin: txn.Origin{Session: session, Turn: "t", Call: "c"}})
		p.must(err)
	}
	change("s", "a", "two\n")
	change("other", "b", "theirs too\n")
	change("s", "a", "three\n")
	r := changes.Reader{Ledger: p.work.Ledger, Images: p.work.Store, Base: p.root}
	blobs, err := SessionBlobs(r, "s")
	p.must(err)
	for text, want := range map[string]bool{"one\n": true, "two\n": true, "three\n": true, "theirs\n": false, "theirs too\n": false} {
		got, ok := blobs.find(unified.BlobID([]byte(text), 40)[:12])
		if ok != want || ok && string(got) != text {
			t.Errorf("%q: %v, %q", text, ok, got)
		}
	}
	p.must(p.work.Store.Remove(delta.SumOf([]byte("two\n"))))
	if blobs, err := SessionBlobs(r, "s"); err != nil || len(blobs) != 2 {
		t.Errorf("without one that is not kept: %d, %v", len(blobs), err)
	}
}

// TestReportsSurvivePathsThatAreNoText.
func TestReportsSurvivePathsThatAreNoText(t *testing.T) {
	text, err := json.Marshal(FileOutcome{Path: "a\xff", From: "b\xfe", Outcome: Exact, Operation: "moved"})
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Path, From any
		Outcome    string
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.Outcome != Exact || back.Path == "a\ufffd" || strings.Contains(string(text), "\ufffd") {
		t.Errorf("%s", text)
	}
}

// TestRoot is the top of the repository, or the directory itself.
func TestRoot(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(base, "d")
	if err := errors.Join(os.Mkdir(below, 0o755), os.MkdirAll(filepath.Join(base, ".git", "objects"), 0o755),
		os.Mkdir(filepath.Join(base, ".git", "refs"), 0o755),
		os.WriteFile(filepath.Join(base, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if got := Root(below); got != filepath.ToSlash(base) {
		t.Errorf("%s, want %s", got, base)
	}
}

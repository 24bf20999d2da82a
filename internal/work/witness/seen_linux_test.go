package witness

import (
	"os"
	"path/filepath"
	"testing"

	"kerf/internal/work/ledger"
	"kerf/internal/work/witness/journal"
)

// What others did while Kerf read what the command left is known only afterwards: then
// it is not proven any more that what was read is the command's.
func TestWhatIsReadWhileOthersWriteIsNotProven(t *testing.T) {
	for _, c := range []struct {
		name string
		told journal.Record
		want map[string]string
	}{
		{"nobody else wrote", journal.Record{Kind: journal.Closed, Path: "else"}, map[string]string{"a": ledger.Proven, "b": ledger.Proven}},
		{"one name was written", journal.Record{Kind: journal.Foreign, Path: "a"}, map[string]string{"a": ledger.Unproven, "b": ledger.Proven}},
		{"something may have been missed", journal.Record{Kind: journal.Gap}, map[string]string{"a": ledger.Unproven, "b": ledger.Unproven}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			col := newCollector(t.TempDir(), []string{root}, nil)
			defer col.close()
			for i, name := range []string{"a", "b"} {
				if err := os.WriteFile(filepath.Join(root, name), []byte("1\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				col.take(&journal.Record{Kind: journal.Touch, Path: root + "/" + name, Number: int64(i + 1)})
			}
			if c.told.Path != "" {
				c.told.Path = root + "/" + c.told.Path
			}
			got := map[string]string{}
			for _, p := range col.report(func() { col.take(&c.told) }).Parts {
				for _, ch := range p.Set {
					got[filepath.Base(ch.Path)] = p.Certainty
				}
			}
			for name, want := range c.want {
				if got[name] != want {
					t.Errorf("%s is %q, want %q", name, got[name], want)
				}
			}
		})
	}
}

// TestANumberOfAFileIsGivenAgain: what the command wrote and removed is another file than one that
// got its number, even if that was never closed.
func TestANumberOfAFileIsGivenAgain(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	col := newCollector(t.TempDir(), []string{root}, nil)
	defer col.close()
	path := root + "/a"
	col.take(&journal.Record{Kind: journal.Touch, Path: path, Number: 1})
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now, err := col.look(path)
	if err != nil {
		t.Fatal(err)
	}
	now.Sig.Born--
	now.Sig.Size, now.Sig.Mtime = 4, now.Sig.Mtime-1
	col.take(&journal.Record{Kind: journal.Closed, Path: path, Before: now})
	r := col.report(func() {})
	if len(r.Parts) != 1 || r.Parts[0].Certainty != ledger.Proven || len(r.Parts[0].Set) != 1 {
		t.Errorf("told %+v, want the new file, proven", r.Parts)
	}
}

// TestAGitDirectoryThatGoesLaterIsKept: what was left to git when the command was looked
// at in between is told when the rest of the directory went, too.
func TestAGitDirectoryThatGoesLaterIsKept(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := root + "/sub/.git"
	if err := os.MkdirAll(git, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(git+"/HEAD", []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	col := newCollector(t.TempDir(), []string{root}, nil)
	defer col.close()
	goes := func(number int64, name, text string) {
		col.take(&journal.Record{Kind: journal.Touch, Path: git + "/" + name, Number: number, Before: journal.State{
			Kind: journal.File, Mode: 0o600, How: journal.Inline, Data: []byte(text), Sig: journal.Sig{Size: int64(len(text))}}})
	}
	goes(1, "index", "the index")
	goes(2, "other.tmp", "more")
	if r := col.report(func() {}); len(r.Parts) > 0 {
		t.Errorf("the repository is there, yet %+v is told", r.Parts)
	}
	goes(3, "HEAD", "ref: refs/heads/main\n")
	if err := os.RemoveAll(root + "/sub"); err != nil {
		t.Fatal(err)
	}
	col.take(&journal.Record{Kind: journal.End})
	got := map[string]string{}
	for _, p := range col.report(func() {}).Parts {
		for _, ch := range p.Set {
			got[filepath.Base(ch.Path)] = p.Certainty + " " + string(ch.Pre.Data)
		}
	}
	if got["index"] != "proven the index" || got["HEAD"] != "proven ref: refs/heads/main\n" || got["other.tmp"] != "proven more" {
		t.Errorf("told was %q", got)
	}
}

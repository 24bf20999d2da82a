package patch_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/patch"
)

// genText draws texts of few different lines, so that places are ambiguous.
func genText(t *rapid.T, name string) []byte {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", " x", "-- ", "+ y", "--- a/f", "+++ b/f",
		"@@ -1 +1 @@", "diff --git a/f b/f", "long line of words\r", "*** End Patch", "\x00"}), 0, 30).Draw(t, name)
	text := strings.Join(lines, "\n")
	if len(lines) > 0 && rapid.Bool().Draw(t, name+" ends") {
		text += "\n"
	}
	return []byte(text)
}

func genMode(t *rapid.T, name string) uint32 {
	return rapid.SampledFrom([]uint32{0, 0o100644, 0o100755, 0o120000}).Draw(t, name)
}

func image(data []byte, mode uint32) *delta.Image {
	switch mode {
	case 0:
		return nil
	case 0o120000:
		return delta.NewSymlink(string(data))
	}
	return delta.NewFile(data, mode&0o777)
}

// TestPlanMakesWhatDiffTold holds: a diff of two trees, parsed and planned on
// the first, gives the second; in reverse it gives the first again.
func TestPlanMakesWhatDiffTold(t *testing.T) {
	names := []string{"a.txt", "d/b c.txt", "d/é\".go", "e\tf", "run", "z\nz"}
	rapid.Check(t, func(rt *rapid.T) {
		before, after := tree{}, tree{}
		var files []diff.File
		for i, name := range names {
			f := diff.File{OldPath: name, NewPath: name}
			f.Old, f.New = genText(rt, fmt.Sprint("old", i)), genText(rt, fmt.Sprint("new", i))
			f.OldMode, f.NewMode = genMode(rt, fmt.Sprint("oldmode", i)), genMode(rt, fmt.Sprint("newmode", i))
			if f.OldMode == f.NewMode && f.OldMode&0o170000 == 0o100000 && rapid.Bool().Draw(rt, fmt.Sprint("moves", i)) {
				f.NewPath = "moved/" + name
				f.Copy = rapid.Bool().Draw(rt, fmt.Sprint("copies", i))
			}
			if f.OldMode != 0 {
				before[f.OldPath] = image(f.Old, f.OldMode)
			}
			if f.NewMode != 0 {
				after[f.NewPath] = image(f.New, f.NewMode)
			}
			if f.Copy {
				after[f.OldPath] = before[f.OldPath]
			}
			files = append(files, f)
		}
		text := diff.Unified(files)
		if len(text) == 0 {
			return
		}
		p, err := patch.Parse(text)
		if err != nil {
			rt.Fatalf("%v\n%q", err, text)
		}
		set, err := p.Plan(before.reader(nil))
		if err != nil {
			rt.Fatalf("%v\n%q", err, text)
		}
		if d := cmp.Diff(after.shown(true), before.commit(t, set).shown(true)); d != "" {
			rt.Fatalf("%s\n%q", d, text)
		}
		back, err := p.PlanWith(after.reader(nil), patch.PlanOptions{Reverse: true})
		if err != nil {
			rt.Fatalf("reverse: %v\n%q", err, text)
		}
		if d := cmp.Diff(before.shown(true), after.commit(t, back).shown(true)); d != "" {
			rt.Fatalf("reverse: %s\n%q", d, text)
		}
	})
}

// TestPlanAgreesWithGit applies diffs to files that drifted since, and asks git
// for its opinion of where the hunks go.
func TestPlanAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	r := rand.New(rand.NewSource(7))
	words := []string{"a", "b", "c", "d", "e", ""}
	applied, refused := 0, 0
	for range 150 {
		base := make([]string, 5+r.Intn(40))
		for i := range base {
			base[i] = words[r.Intn(len(words))]
			if r.Intn(3) == 0 {
				base[i] = fmt.Sprint("line ", i)
			}
		}
		edit := func(ls []string, n int) []string {
			ls = append([]string(nil), ls...)
			for range n {
				at := r.Intn(len(ls))
				switch r.Intn(3) {
				case 0:
					ls[at] = fmt.Sprint("edited ", r.Intn(100))
				case 1:
					ls = append(ls[:at:at], append([]string{words[r.Intn(len(words))]}, ls[at:]...)...)
				default:
					ls = append(ls[:at:at], ls[at+1:]...)
				}
				if len(ls) == 0 {
					ls = []string{"x"}
				}
			}
			return ls
		}
		text := func(ls []string) []byte { return []byte(strings.Join(ls, "\n") + "\n") }
		d := diff.Unified([]diff.File{{OldPath: "f", NewPath: "f", OldMode: 0o100644, NewMode: 0o100644, Old: text(base),
			New: text(edit(base, 1+r.Intn(4)))}})
		if len(d) == 0 {
			continue
		}
		now := text(edit(base, r.Intn(5)))
		want, ok := gitApply(t, now, d)
		tr := tree{"f": delta.NewFile(now, 0o644)}
		got, err := tr.plan(t, d, nil, patch.PlanOptions{})
		if ok != (err == nil) || ok && !bytes.Equal(got["f"].Data, want) {
			t.Errorf("git ok: %v, here: %v\n%s\non %q\ngit  %q\nhere %q", ok, err, d, now, want, got["f"].Data)
		}
		if ok {
			applied++
		} else {
			refused++
		}
	}
	if applied < 20 || refused < 20 {
		t.Errorf("applied %d, refused %d: too few of one kind to judge", applied, refused)
	}
}

func gitApply(t *testing.T, file, d []byte) ([]byte, bool) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, file, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "apply", "-")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(d)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	err := cmd.Run()
	after, readErr := os.ReadFile(name)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return after, err == nil
}

// TestUpdateTouchesNothingElse holds for the envelope: lines that no hunk
// removes keep every byte, their ends included.
func TestUpdateTouchesNothingElse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(rt, "lines")
		var file, want strings.Builder
		at := rapid.IntRange(0, n-1).Draw(rt, "at")
		ends := make([]string, n)
		for i := range n {
			ends[i] = rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "end")
		}
		for i := range n {
			l := fmt.Sprintf("%*sline %d%s", i%3, "", i, ends[i])
			file.WriteString(l)
			if i == at {
				l = "new" + ends[0]
			}
			want.WriteString(l)
		}
		text := fmt.Sprintf("*** Begin Patch\n*** Update File: f\n@@\n-line %d\n+new\n*** End Patch\n", at)
		tr := tree{"f": delta.NewFile([]byte(file.String()), 0o600)}
		got, err := tr.plan(t, []byte(text), nil, patch.PlanOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(want.String(), string(got["f"].Data)); d != "" || got["f"].Mode != 0o600 {
			rt.Fatalf("%s", d)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@ x\n a\n-b\n+c\n*** End of File\n*** End Patch\n",
		"<<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: f\n*** End Patch\nEOF\n",
		"diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n" +
			"\\ No newline at end of file\n",
		"diff --git \"a/\\303\\251\" b/g\nsimilarity index 9%\nrename from f\nrename to g\n",
		"diff --git a/f b/f\nindex 0000000000000000000000000000000000000000..1111111111111111111111111111111111111111\n" +
			"GIT binary patch\nliteral 3\nKcmZQzWMXDvWn<^y\n\ndelta 0\nHcmV?d00001\n\n",
		"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n",
		"--- f\t1970-01-01 00:00:00 +0000\n+++ f\n@@ -0,0 +1,9 @@\n+x\n\n\n",
	} {
		f.Add([]byte(s), []byte("a\nb\n"))
	}
	f.Fuzz(func(t *testing.T, text, file []byte) {
		p, err := patch.Parse(text)
		if err != nil {
			return
		}
		tr := tree{"f": delta.NewFile(file, 0o644), "g/h": delta.NewFile(file, 0o644)}
		for _, o := range []patch.PlanOptions{{}, {Fuzz: 2}, {Reverse: true}, {Strip: -1}} {
			set, err := p.PlanWith(tr.reader(nil), o)
			if err == nil {
				tr.commit(t, set)
			}
			set, failed := p.PlanEachWith(tr.reader(nil), o)
			if (err == nil) != (len(failed) == 0) {
				t.Errorf("together: %v; file by file: %v", err, failed)
			}
			tr.commit(t, set)
		}
		p.Paths()
	})
}

func BenchmarkThousandFiles(b *testing.B) {
	var files []diff.File
	before := tree{}
	for i := range 1000 {
		var old, now bytes.Buffer
		for j := range 100 {
			fmt.Fprintf(&old, "line %d of %d\n", j, i)
			if j == 50 {
				now.WriteString("changed\n")
				continue
			}
			fmt.Fprintf(&now, "line %d of %d\n", j, i)
		}
		name := fmt.Sprintf("d%d/f%d.txt", i%37, i)
		before[name] = delta.NewFile(old.Bytes(), 0o644)
		files = append(files, diff.File{OldPath: name, NewPath: name, OldMode: 0o100644, NewMode: 0o100644, Old: old.Bytes(),
			New: now.Bytes()})
	}
	text := diff.Unified(files)
	read := before.reader(nil)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := patch.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Plan(read); err != nil {
			b.Fatal(err)
		}
	}
}

package versus

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/edit"
	"kerf/internal/work/apply"
	"kerf/internal/work/ledger"
	"kerf/internal/work/scan"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// git runs git in dir; a failure other than exit 1, which diffs use, ends the
// benchmark.
func git(b *testing.B, dir, input string, args ...string) {
	b.Helper()
	cmd := exec.Command("git", append([]string{"-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil && (args[0] != "diff" || cmd.ProcessState.ExitCode() != 1) {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func needGit(b *testing.B) {
	if _, err := exec.LookPath("git"); err != nil {
		b.Skip("no git to compare with")
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// texts makes two texts of n lines with edits scattered over them.
func texts(n, edits int) (a, b []byte) {
	r := rand.New(rand.NewPCG(1, 2))
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("\tline %d says %d\n", i, r.IntN(1000))
	}
	a = []byte(strings.Join(lines, ""))
	for range edits {
		lines[r.IntN(n)] = fmt.Sprintf("\tedited %d\n", r.IntN(1000))
	}
	return a, []byte(strings.Join(lines, ""))
}

// BenchmarkVersusDiff: two files of 100,000 lines with 1,000 scattered edits, read
// from the disk by both.
func BenchmarkVersusDiff(b *testing.B) {
	needGit(b)
	dir := b.TempDir()
	old, new := texts(100_000, 1000)
	must(b, os.WriteFile(filepath.Join(dir, "a"), old, 0o644))
	must(b, os.WriteFile(filepath.Join(dir, "b"), new, 0o644))
	b.Run("kerf", func(b *testing.B) {
		for b.Loop() {
			x, err := os.ReadFile(filepath.Join(dir, "a"))
			must(b, err)
			y, err := os.ReadFile(filepath.Join(dir, "b"))
			must(b, err)
			if len(diff.Unified([]diff.File{{OldPath: "a", NewPath: "a", OldMode: 0o100644, NewMode: 0o100644, Old: x,
				New: y}})) == 0 {
				b.Fatal("no diff")
			}
		}
	})
	b.Run("git", func(b *testing.B) {
		for b.Loop() {
			git(b, dir, "", "diff", "--no-index", "--full-index", "a", "b")
		}
	})
}

// BenchmarkVersusGrowth: how diffs grow with the size of the files.
func BenchmarkVersusGrowth(b *testing.B) {
	if os.Getenv("KERF_LONG") == "" {
		b.Skip("growth curves are drawn with KERF_LONG=1")
	}
	for _, n := range []int{1000, 10_000, 100_000, 1_000_000} {
		x, y := texts(n, n/100)
		b.Run(fmt.Sprintf("diff/lines=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(x)))
			for b.Loop() {
				diff.Lines(x, y)
			}
		})
		b.Run(fmt.Sprintf("nearest/lines=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(x)))
			for b.Loop() {
				if _, err := edit.Apply(x, edit.Replacement{Old: "\tline 77 sang 5\n\tnothing like it\n", New: "x"}); err == nil {
					b.Fatal("found")
				}
			}
		})
	}
}

// workspace opens the file engine on a directory.
func workspace(b *testing.B, root string, durable bool) *txn.Workspace {
	b.Helper()
	home := b.TempDir()
	t, err := tree.Open(tree.Options{Roots: []string{root}})
	must(b, err)
	s, err := store.Open(filepath.Join(home, "store"))
	must(b, err)
	l, err := ledger.Open(home)
	must(b, err)
	w, err := txn.Open(txn.Options{Tree: t, Store: s, Ledger: l, Dir: filepath.Join(home, "journal"), Durable: durable})
	must(b, err)
	b.Cleanup(func() { _ = w.Close(); _ = l.Close() })
	return w
}

func realDir(b *testing.B) string {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.TempDir())
	must(b, err)
	return dir
}

// BenchmarkVersusApply: a patch of 1,000 files, there and back.
func BenchmarkVersusApply(b *testing.B) {
	needGit(b)
	const files = 1000
	var list []diff.File
	plant := func(dir string) {
		for i := range files {
			name := fmt.Sprintf("%d/f%d.txt", i/50, i)
			must(b, os.MkdirAll(filepath.Join(dir, fmt.Sprint(i/50)), 0o755))
			text := []byte(strings.Repeat(fmt.Sprintf("line of %d\n", i), 40))
			must(b, os.WriteFile(filepath.Join(dir, name), text, 0o644))
			if len(list) < files {
				list = append(list, diff.File{OldPath: name, NewPath: name, OldMode: 0o100644, NewMode: 0o100644,
					Old: text, New: append([]byte("a new first line\n"), text...)})
			}
		}
	}
	for _, durable := range []bool{false, true} {
		b.Run(fmt.Sprintf("kerf/durable=%v", durable), func(b *testing.B) {
			dir := realDir(b)
			plant(dir)
			w, text := workspace(b, dir, durable), diff.Unified(list)
			back := false
			for b.Loop() {
				r, err := apply.Patch(context.Background(), w.Tree, w, text, apply.Options{Reverse: back})
				if err != nil || len(r.Changed) != files {
					b.Fatal(len(r.Changed), err)
				}
				back = !back
			}
		})
	}
	b.Run("git", func(b *testing.B) {
		dir := realDir(b)
		plant(dir)
		text := string(diff.Unified(list))
		back := false
		for b.Loop() {
			args := []string{"apply", "-"}
			if back {
				args = []string{"apply", "-R", "-"}
			}
			git(b, dir, text, args...)
			back = !back
		}
	})
}

// BenchmarkVersusEdit: one edit in the middle of a file of 10 MB, from reading it to
// having it replaced; and the plan alone. Every edit makes a content that was not
// there before, and comes a moment after the last.
func BenchmarkVersusEdit(b *testing.B) {
	line := "// a line of the file that says little, but says it\n"
	content := []byte(strings.Repeat(line, 100_000) + "the one\n" + strings.Repeat(line, 100_000))
	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			_, err := edit.Apply(content, edit.Replacement{Old: "the one", New: "the other"})
			must(b, err)
		}
	})
	for _, durable := range []bool{false, true} {
		b.Run(fmt.Sprintf("whole/durable=%v", durable), func(b *testing.B) {
			dir := realDir(b)
			name := filepath.ToSlash(filepath.Join(dir, "large"))
			must(b, os.WriteFile(name, content, 0o644))
			w := workspace(b, dir, durable)
			old, used := "the one", time.Duration(0)
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				time.Sleep(60 * time.Millisecond) // younger files prove nothing, and are compared
				begun := processorTime()
				b.StartTimer()
				pre, err := w.Tree.Read(name, 0)
				must(b, err)
				new := fmt.Sprintf("the other %d", i)
				res, err := edit.Apply(pre.Data, edit.Replacement{Old: old, New: new})
				must(b, err)
				_, err = w.Commit(context.Background(),
					delta.Set{{Path: name, Pre: pre, Post: res.Image(pre.Mode)}}, txn.CommitOptions{})
				must(b, err)
				used += processorTime() - begun
				old = new
			}
			b.ReportMetric(float64(used)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// BenchmarkVersusNearest: an edit that finds nothing in a file of 1 MB.
func BenchmarkVersusNearest(b *testing.B) {
	content := []byte(strings.Repeat("// a line of the file that says little\n\tif a > b {\n\t}\n", 20_000))[:1<<20]
	for b.Loop() {
		if _, err := edit.Apply(content, edit.Replacement{Old: "\tif a < c {\n\t\treturn\n\t}", New: "x"}); err == nil {
			b.Fatal("found")
		}
	}
}

// BenchmarkVersusScan: a look at a tree of which ten files changed.
func BenchmarkVersusScan(b *testing.B) {
	needGit(b)
	sizes := []int{10_000}
	if os.Getenv("KERF_LONG") != "" {
		sizes = []int{1000, 10_000, 100_000}
	}
	for _, n := range sizes {
		dir := realDir(b)
		path := func(i int) string { return filepath.Join(dir, fmt.Sprintf("%d/%d/%d", i/5000, i/100, i)) }
		for i := range n {
			if i%100 == 0 {
				must(b, os.MkdirAll(filepath.Dir(path(i)), 0o755))
			}
			must(b, os.WriteFile(path(i), fmt.Appendf(nil, "file %d\n", i), 0o644))
		}
		git(b, dir, "", "init", "-q")
		git(b, dir, "", "add", "-A")
		git(b, dir, "", "commit", "-qm", "x")
		time.Sleep(100 * time.Millisecond) // signatures younger than a tick prove nothing, to git neither
		git(b, dir, "", "update-index", "--refresh")
		round := 0
		change := func(b *testing.B) {
			b.StopTimer()
			round++
			for i := range 10 {
				must(b, os.WriteFile(path(i*997%n), fmt.Appendf(nil, "round %d\n", round), 0o644))
			}
			b.StartTimer()
		}
		b.Run(fmt.Sprintf("kerf/files=%d", n), func(b *testing.B) {
			s, err := store.Open(b.TempDir())
			must(b, err)
			sc, err := scan.Open(scan.Options{Roots: []string{dir}, Store: s, Home: "/nowhere", Caps: scan.Caps{Files: 2 * n}})
			must(b, err)
			last, err := sc.Snapshot(context.Background())
			must(b, err)
			for b.Loop() {
				change(b)
				next, err := sc.Snapshot(context.Background())
				must(b, err)
				set, _, err := sc.Diff(context.Background(), last, next)
				if err != nil || len(set) != 10 {
					b.Fatal(len(set), err)
				}
				last = next
			}
		})
		b.Run(fmt.Sprintf("git/files=%d", n), func(b *testing.B) {
			for b.Loop() {
				change(b)
				git(b, dir, "", "status", "--porcelain")
			}
		})
	}
}

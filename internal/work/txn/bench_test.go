package txn

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kerf/internal/text/delta"
)

// benchFiles is as many files as the patch of the benchmarks changes.
const benchFiles = 1000

// benchText is a file of a few kilobytes, as sources are.
func benchText(i, version int) []byte {
	var b bytes.Buffer
	for line := range 100 {
		text := fmt.Sprintf("file %d, line %d: the quick brown fox\n", i, line)
		if line == 50 {
			text = fmt.Sprintf("version %d\n", version)
		}
		b.WriteString(text)
	}
	return b.Bytes()
}

func benchName(i int) string { return fmt.Sprintf("d%02d/f%d.txt", i%20, i) }

func benchTree(b *testing.B, root string) {
	b.Helper()
	for i := range benchFiles {
		p := filepath.Join(root, benchName(i))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(p, benchText(i, 0), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPatch commits a patch of 1,000 files, beside git apply with the same one.
// Planning is not in it: both sides read the old contents.
func BenchmarkPatch(b *testing.B) {
	for _, durable := range []bool{true, false} {
		b.Run(fmt.Sprintf("durable=%v", durable), func(b *testing.B) {
			base := b.TempDir()
			root := filepath.Join(base, "w")
			benchTree(b, root)
			w, err := openAt(root, filepath.Join(base, "home"), durable, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			for version := 1; b.Loop(); version++ {
				set := make(delta.Set, benchFiles)
				for i := range set {
					p := filepath.ToSlash(filepath.Join(root, benchName(i)))
					pre, err := w.Tree.Read(p, 0)
					if err != nil {
						b.Fatal(err)
					}
					set[i] = delta.Change{Path: p, Pre: pre, Post: delta.NewFile(benchText(i, version), 0o644)}
				}
				if _, err := w.Commit(context.Background(), set, CommitOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("git", func(b *testing.B) {
		root := b.TempDir()
		benchTree(b, root)
		git := func(stdin []byte, args ...string) {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Stdin = root, bytes.NewReader(stdin)
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Skipf("git %s: %v: %s", args[0], err, out)
			}
		}
		git(nil, "init", "-q")
		for version := 1; b.Loop(); version++ {
			b.StopTimer()
			patch := benchPatch(version)
			b.StartTimer()
			git(patch, "apply", "-")
		}
	})
}

// benchPatch is the patch from the version before to version.
func benchPatch(version int) []byte {
	var p bytes.Buffer
	for i := range benchFiles {
		fmt.Fprintf(&p, "--- a/%[1]s\n+++ b/%[1]s\n@@ -50,3 +50,3 @@\n file %[2]d, line 49: the quick brown fox\n-version "+
			"%[3]d\n+version %[4]d\n file %[2]d, line 51: the quick brown fox\n",
			benchName(i), i, version-1, version)
	}
	return p.Bytes()
}

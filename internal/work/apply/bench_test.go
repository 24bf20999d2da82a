package apply

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// benchFiles is as many files as the patch of the benchmarks changes.
const benchFiles = 1000

func benchName(i int) string { return fmt.Sprintf("d%02d/f%d.txt", i%20, i) }

// benchTree makes files of a few kilobytes, as sources are.
func benchTree(b *testing.B, root string) {
	b.Helper()
	for i := range benchFiles {
		var text bytes.Buffer
		for line := range 100 {
			if line == 50 {
				text.WriteString("version 0\n")
				continue
			}
			fmt.Fprintf(&text, "file %d, line %d: the quick brown fox\n", i, line)
		}
		p := filepath.Join(root, benchName(i))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(p, text.Bytes(), 0o644); err != nil {
			b.Fatal(err)
		}
	}
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

// BenchmarkPatch applies a patch of 1,000 files, beside git apply with the same one.
func BenchmarkPatch(b *testing.B) {
	for _, durable := range []bool{true, false} {
		b.Run(fmt.Sprintf("durable=%v", durable), func(b *testing.B) {
			base := b.TempDir()
			root := filepath.Join(base, "w")
			benchTree(b, root)
			t, w := benchWorkspace(b, root, filepath.Join(base, "home"), durable)
			for version := 1; b.Loop(); version++ {
				b.StopTimer()
				text := benchPatch(version)
				b.StartTimer()
				if r, err := Patch(context.Background(), t, w, text, Options{}); err != nil || len(r.Changed) != benchFiles {
					b.Fatal(len(r.Changed), err)
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
			text := benchPatch(version)
			b.StartTimer()
			git(text, "apply", "-")
		}
	})
}

func benchWorkspace(b *testing.B, root, home string, durable bool) (*tree.Tree, *txn.Workspace) {
	b.Helper()
	t, err := tree.Open(tree.Options{Roots: []string{root}, Protected: func(_, _ string) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(filepath.Join(home, "store"))
	if err != nil {
		b.Fatal(err)
	}
	l, err := ledger.Open(home)
	if err != nil {
		b.Fatal(err)
	}
	w, err := txn.Open(txn.Options{Tree: t, Store: s, Ledger: l, Dir: home, Durable: durable})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _, _ = w.Close(), l.Close(), s.Close() })
	return t, w
}

package witness_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/long"
	"kerf/internal/text/delta"
)

// TestContentsThatOthersCanWriteAreTheirOwn: a file that the command removed has another
// name, or somebody has it open. What is written there later does not touch what was kept.
func TestContentsThatOthersCanWriteAreTheirOwn(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	large := bytes.Repeat([]byte("all work and no play\n"), 2<<20) // 42 MB: kept by a second name
	for name, prepare := range map[string]func(b *bench, a string) *os.File{
		"another name": func(b *bench, a string) *os.File {
			other := filepath.Join(b.home, "other") // outside of the workspace
			if err := os.Link(a, other); err != nil {
				b.Fatal(err)
			}
			f, err := os.OpenFile(other, os.O_RDWR, 0)
			if err != nil {
				b.Fatal(err)
			}
			f.Close() // it is opened again later
			f, err = os.Open(other)
			if err != nil {
				b.Fatal(err)
			}
			return f
		},
		"an open file": func(b *bench, a string) *os.File {
			f, err := os.OpenFile(a, os.O_RDWR, 0)
			if err != nil {
				b.Fatal(err)
			}
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "")
			a := filepath.Join(b.root, "a")
			if err := os.WriteFile(a, large, 0o644); err != nil {
				t.Fatal(err)
			}
			f := prepare(b, a)
			defer f.Close()
			r, out := b.run("rm a")
			if len(r.Parts) != 1 || len(r.Parts[0].Set) != 1 || len(r.Gaps) > 0 {
				t.Fatalf("told: %s %v %s", b.told(r), r.Gaps, out)
			}
			w, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.WriteAt([]byte("NO"), 0); err != nil {
				t.Fatal(err)
			}
			w.Close()
			pre := r.Parts[0].Set[0].Pre
			if want := delta.Sum(sha256.Sum256(large)); pre.Sum != want {
				t.Errorf("the content before is %s, want %s", pre.Sum, want)
			}
			if got, err := b.store.Get(pre.Sum); err != nil || !bytes.Equal(got, large) {
				t.Errorf("it was not kept: %d bytes, %v", len(got), err)
			}
		})
	}
}

// TestAContentThatWasWrittenMeanwhileIsTold: the command removed a name, and while it runs
// on somebody writes to the file by another, with the same size.
func TestAContentThatWasWrittenMeanwhileIsTold(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	for _, size := range []int{100 << 10, 42 << 20} {
		b := newBench(t, "")
		b.write("a", strings.Repeat("x", size))
		other := filepath.Join(b.home, "other")
		if err := os.Link(filepath.Join(b.root, "a"), other); err != nil {
			t.Fatal(err)
		}
		x, cmd, out, box := b.start("rm a; touch go; while test ! -e on; do sleep 0.02; done")
		for {
			if _, err := os.Stat(filepath.Join(b.root, "go")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		f, err := os.OpenFile(other, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("NO"), 0); err != nil {
			t.Fatal(err)
		}
		f.Close()
		b.write("on", "")
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		box.Close()
		r := b.end(x)
		if len(r.Gaps) != 1 || string(r.Gaps[0].Path) != filepath.Join(b.root, "a") {
			t.Errorf("%d bytes: told as lost: %v, and %s", size, r.Gaps, b.told(r)[:min(200, len(b.told(r)))])
		}
	}
}

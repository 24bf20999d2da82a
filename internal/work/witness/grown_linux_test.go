package witness_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kerf/internal/testkit/long"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// TestALargeFileThatGrewBeforeItWentIsKept: a command appends to a file that is too large
// for the journal, and then removes it, while it may still have it open.
func TestALargeFileThatGrewBeforeItWentIsKept(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	for _, size := range []int{100 << 10, 40 << 20} { // in memory, and by its sum
		large := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		sum := delta.Sum(sha256.Sum256(large))
		for _, line := range []string{
			"printf more >> a; rm a",
			"printf more >> a; mv b a",
			"exec 3>>a; rm a; printf more >&3",
			"exec 3>>a; printf more >&3; rm a; printf more >&3",
			"ln a c; exec 3>>c; rm a; printf more >&3; rm c",
			"mv a c; printf more >> c; rm c",
		} {
			t.Run(strconv.Itoa(size)+" "+line, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, "")
				a := filepath.Join(b.root, "a")
				if err := os.WriteFile(a, large, 0o644); err != nil {
					t.Fatal(err)
				}
				b.write("b", "2")
				r, out := b.run(line)
				if len(r.Parts) != 1 || r.Parts[0].Certainty != ledger.Proven || len(r.Gaps) > 0 || len(r.Notes) > 0 {
					t.Fatalf("%d parts, %v, %v %s", len(r.Parts), r.Gaps, r.Notes, out)
				}
				for _, c := range r.Parts[0].Set {
					if c.Path != a {
						continue
					}
					if c.Pre == nil || c.Pre.Sum != sum || c.Pre.Size != int64(size) {
						t.Fatalf("before there was %v, want %d bytes, %s", c.Pre, size, sum)
					}
					if got, err := b.store.Get(sum); !c.Pre.Loaded && (err != nil || !bytes.Equal(got, large)) {
						t.Errorf("it was not kept: %d bytes, %v", len(got), err)
					}
					return
				}
				t.Errorf("a is not told of: %d changes", len(r.Parts[0].Set))
			})
		}
	}
}

// TestAFileThatIsWrittenWithoutANameIsKeptAsItWas: somebody else changed a large file that
// a command has open; the command removes it, and then writes to it.
func TestAFileThatIsWrittenWithoutANameIsKeptAsItWas(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	large := strings.Repeat("0123456789abcdef", 8<<10)
	b.write("a", large)
	x, cmd, out, box := b.start("exec 3<>a; : > ready; while [ ! -e go ]; do sleep 0.01; done; rm a ready; printf more >&3")
	b.await("ready")
	f, err := os.OpenFile(filepath.Join(b.root, "a"), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString("mine")
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	b.write("go", "")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	box.Close()
	want := "proven a: " + large + "mine > -\nunproven a: " + large + " > " + large + "mine"
	if got := b.told(b.end(x)); got != want {
		short := strings.NewReplacer(large, "LARGE")
		t.Errorf("got\n%s\nwant\n%s", short.Replace(got), short.Replace(want))
	}
}

// TestALargeFileThatIsNotAppendedToAnyMoreIsKept: a command opens a large file to append, and then lets its
// descriptor write anywhere, also after another one whose flags are of no interest.
func TestALargeFileThatIsNotAppendedToAnyMoreIsKept(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	const program = `import fcntl, os
r = os.open("b", os.O_RDWR)
fcntl.fcntl(r, fcntl.F_SETFL, os.O_NONBLOCK)
f = os.open("a", os.O_WRONLY | os.O_APPEND)
fcntl.fcntl(r, fcntl.F_SETFL, 0)
os.write(f, b"more")
fcntl.fcntl(f, fcntl.F_SETFL, 0)
os.pwrite(f, b"XX", 0)`
	b := newBench(t, "")
	large := strings.Repeat("0123456789abcdef", 8<<10)
	b.write("a", large)
	b.write("b", "2")
	r, out := b.run("python3 -c '" + program + "'")
	want := "proven a: " + large + " > XX" + large[2:] + "more"
	if got := b.told(r); got != want {
		short := strings.NewReplacer(large[2:], "LARGE")
		t.Errorf("got\n%s\nwant\n%s\n%s", short.Replace(got), short.Replace(want), out)
	}
}

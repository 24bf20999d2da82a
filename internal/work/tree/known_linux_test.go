package tree

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestVersionOfAKnownFileIsOneCall asks strace what looking 100 times at a known file
// takes.
func TestVersionOfAKnownFileIsOneCall(t *testing.T) {
	const looks = 100
	if file := os.Getenv("KERF_TEST_KNOWN"); file != "" {
		tr := openTree(t, Options{Roots: []string{filepath.Dir(file)}})
		if _, err := tr.Read(file, 0); err != nil {
			t.Fatal(err)
		}
		for range looks {
			if v, err := tr.Version(file); err != nil || v.Absent() {
				t.Fatal(v, err)
			}
		}
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file, log := filepath.Join(dir, "known-file"), filepath.Join(dir, "calls")
	write(t, file, "text")
	time.Sleep(100 * time.Millisecond) // what was written just now is not trusted to stay
	cmd := exec.Command(strace, "-f", "-e", "trace=%file,read,pread64", "-o", log, os.Args[0],
		"-test.run=^TestVersionOfAKnownFileIsOneCall$")
	cmd.Env = append(os.Environ(), "KERF_TEST_KNOWN="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("strace: %v: %s", err, out)
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	named := bytes.Count(calls, []byte("known-file\""))
	if named < looks || named > looks+10 {
		t.Errorf("%d calls name the file, want one for each of %d looks and a few for the first read", named, looks)
	}
	t.Logf("%d calls for %d looks", named, looks)
}

func BenchmarkVersionOfAKnownFile(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, bytes.Repeat([]byte("text\n"), 1000), 0o644); err != nil {
		b.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		b.Fatal(err)
	}
	tr, err := Open(Options{Roots: []string{dir}})
	if err != nil {
		b.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if _, err := tr.Read(file, 0); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := tr.Version(file); err != nil {
			b.Fatal(err)
		}
	}
}

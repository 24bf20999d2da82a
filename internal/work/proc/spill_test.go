package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

func needShell(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
}

func TestSpillGetsWhatIsNotKept(t *testing.T) {
	needShell(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "spill"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p, err := Start(t.Context(), Spec{Argv: []string{"/bin/sh", "-c",
		"i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"}, Cap: 1000, Log: file})
	if err != nil {
		t.Fatal(err)
	}
	p.Wait(-1)
	var want bytes.Buffer
	for i := range 20000 {
		want.WriteString("line " + strconv.Itoa(i) + "\n")
	}
	got, err := os.ReadFile(file.Name())
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Fatalf("%d bytes were spilled, want %d: %v", len(got), want.Len(), err)
	}
	kept, omitted := p.Output()
	marker := []byte("\n[... " + strconv.FormatInt(omitted, 10) + " bytes omitted ...]\n")
	if omitted != int64(want.Len()-1000) || !bytes.Contains(kept, marker) {
		t.Errorf("%d bytes omitted, kept %q", omitted, kept[:80])
	}
	head, tail, _ := bytes.Cut(kept, marker)
	if !bytes.HasPrefix(want.Bytes(), head) || !bytes.HasSuffix(want.Bytes(), tail) || len(head)+len(tail) != 1000 {
		t.Errorf("head %d and tail %d are not those of the output", len(head), len(tail))
	}
}

type failing struct{ calls int }

func (f *failing) Write([]byte) (int, error) { f.calls++; return 0, errors.New("no space") }

func TestAFullSpillStopsNothing(t *testing.T) {
	needShell(t)
	f := &failing{}
	p, err := Start(t.Context(), Spec{Argv: []string{"/bin/sh", "-c", "echo one; sleep 0.05; echo two"}, Log: f})
	if err != nil {
		t.Fatal(err)
	}
	p.Wait(-1)
	if text, _ := p.Output(); string(text) != "one\ntwo\n" || f.calls != 1 {
		t.Errorf("got %q after %d writes", text, f.calls)
	}
}

func TestStreamsPassThrough(t *testing.T) {
	needShell(t)
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out, err1 := os.Create(filepath.Join(dir, "out"))
	errs, err2 := os.Create(filepath.Join(dir, "err"))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	io.WriteString(feed, "typed\n")
	feed.Close()
	p, err := Start(t.Context(), Spec{Argv: []string{"/bin/sh", "-c", "cat; echo oops >&2; exit 5"},
		Streams: &[3]*os.File{in, out, errs}})
	if err != nil {
		t.Fatal(err)
	}
	p.Wait(-1)
	code, _, _ := p.ExitCode()
	a, _ := os.ReadFile(out.Name())
	b, _ := os.ReadFile(errs.Name())
	if string(a) != "typed\n" || string(b) != "oops\n" || code != 5 {
		t.Errorf("got %q, %q, %d", a, b, code)
	}
	for _, f := range []*os.File{in, out, errs} {
		if err := f.Close(); err != nil {
			t.Errorf("somebody closed %s: %v", f.Name(), err)
		}
	}
}

// Output10MB is what proc adds to 10 MB of output; compare with its twin that
// only reads the pipe.
func BenchmarkOutput10MB(b *testing.B) {
	needShell(b)
	b.ReportAllocs()
	for b.Loop() {
		p, err := Start(b.Context(), Spec{Argv: []string{"head", "-c", "10000000", "/dev/zero"},
			Env: []string{"PATH=/usr/bin:/bin"}})
		if err != nil {
			b.Fatal(err)
		}
		p.Wait(-1)
		if _, omitted := p.Output(); omitted != 10_000_000-DefaultCap {
			b.Fatal(omitted)
		}
	}
}

func BenchmarkOutput10MBBarePipe(b *testing.B) {
	needShell(b)
	chunk := make([]byte, 32<<10)
	for b.Loop() {
		r, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		child, err := os.StartProcess("/usr/bin/head", []string{"head", "-c", "10000000", "/dev/zero"},
			&os.ProcAttr{Files: []*os.File{nil, w, w}})
		if err != nil {
			b.Skip(err)
		}
		w.Close()
		for {
			if _, err := r.Read(chunk); err != nil {
				break
			}
		}
		child.Wait()
		r.Close()
	}
}

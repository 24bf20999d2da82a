package closings

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTwoProcessesAreTwoNotices: a file that two processes have open is closed by both, one
// right after the other. Each is told of, with the names that File and Add give.
func TestTwoProcessesAreTwoNotices(t *testing.T) {
	l := Listen()
	defer l.Close()
	dir := t.TempDir()
	name := l.Add(dir)
	if name == "" {
		t.Skip("SKIP there are no such notices here")
	}
	path := filepath.Join(dir, "f")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", `exec 3>>"$1"; echo 1 >&3; exec 3>&-; exec 3>>"$1"; echo 2 >&3`, "sh", path).
		CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	f.Close()
	if g, err := os.Open(path); err != nil { // who only reads is not told of
		t.Fatal(err)
	} else {
		g.Close()
	}
	told := 0
	lost := l.Next(func(in, base, file []byte) {
		told++
		if string(in) != name || string(base) != "f" || string(file) != File(path) {
			t.Errorf("told of %x %s %x, want %x f %x", in, base, file, name, File(path))
		}
	})
	if told != 2 || lost {
		t.Errorf("%d notices, want 2; lost: %v", told, lost)
	}
	l.Remove(dir, name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.Next(func(_, base, _ []byte) { t.Errorf("told of %s after the end", base) })
}

// TestAFileIsHeardByAnyName: of an open file it is told by whatever name it is closed, also in a directory
// that nobody hears of, and with its own name if that is heard of, too.
func TestAFileIsHeardByAnyName(t *testing.T) {
	l := Listen()
	defer l.Close()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "f"), filepath.Join(dir, "d", "f")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name := l.AddFile(int(f.Fd()))
	if name == "" {
		t.Skip("SKIP there are no such notices here")
	}
	if err := errors.Join(os.Mkdir(filepath.Dir(other), 0o700), os.Link(path, other)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", `: >> "$1"`, "sh", other).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	told := 0
	lost := l.Next(func(_, _, file []byte) {
		told++
		if string(file) != name || name != File(path) {
			t.Errorf("told of %x, want %x, which is %x by its name", file, name, File(path))
		}
	})
	if told != 2 || lost {
		t.Errorf("%d notices, want 2; lost: %v", told, lost)
	}
}

package ledger

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestADiskThatIsFullInTheMidstOfALine: what was written of the entry is taken back. A process of its own
// has the limit, which holds for all its files.
func TestADiskThatIsFullInTheMidstOfALine(t *testing.T) {
	if dir := os.Getenv("KERF_TEST_FULL"); dir != "" {
		appendBeyond(t, dir)
		return
	}
	dir := t.TempDir()
	l := open(t, dir)
	if err := errors.Join(l.Append(full(1)), l.Sync()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fileName)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestADiskThatIsFullInTheMidstOfALine$")
	cmd.Env = append(os.Environ(), "KERF_TEST_FULL="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("%d bytes are there, %d before, %v", len(after), len(before), err)
	}
	e := full(3)
	if err := errors.Join(l.Append(e), verified(t, dir)); err != nil || e.Seq != 2 {
		t.Errorf("the next one: seq %d, %v", e.Seq, err)
	}
}

// appendBeyond appends an entry where there is room for its first bytes.
func appendBeyond(t *testing.T, dir string) {
	st, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	now := was
	now.Cur = uint64(st.Size() + 10)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	err = open(t, dir).Append(full(2))
	if back := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); back != nil {
		t.Fatal(back)
	}
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatalf("it was written: %v", err)
	}
}

package ledger

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestADiskThatIsFullInTheMidstOfALine: what was written of the entry is taken back.
func TestADiskThatIsFullInTheMidstOfALine(t *testing.T) {
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
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	now := was
	now.Cur = uint64(len(before) + 10)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	err = l.Append(full(2))
	if back := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); back != nil {
		t.Fatal(back)
	}
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatalf("it was written: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("%d bytes are there, %d before, %v", len(after), len(before), err)
	}
	e := full(3)
	if err := errors.Join(l.Append(e), verified(t, dir)); err != nil || e.Seq != 2 {
		t.Errorf("the next one: seq %d, %v", e.Seq, err)
	}
}

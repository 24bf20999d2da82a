package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// TestAFullDiskIsToldOf appends to a ledger that lies where nothing can be written.
func TestAFullDiskIsToldOf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no file that is always full")
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir)
	e := Entry{Cause: CauseTool}
	if err := l.Append(&e); err == nil || e.Seq != 0 {
		t.Errorf("seq %d, %v", e.Seq, err)
	}
}

func TestNothingIsNothing(t *testing.T) {
	l := open(t, t.TempDir())
	if err := l.Sync(); err != nil {
		t.Errorf("nothing was appended, and Sync says %v", err)
	}
	if err := l.Append(&Entry{Cause: CauseTool}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, -1} {
		if got, err := l.Tail(n); err != nil || len(got) > 0 {
			t.Errorf("the last %d: %v, %v", n, got, err)
		}
	}
}

func TestAppendGivesTheTime(t *testing.T) {
	l := open(t, t.TempDir())
	before := time.Now().Add(-time.Second)
	e := Entry{Cause: CauseTool}
	if err := l.Append(&e); err != nil || e.Time.Before(before) || e.Time.Location() != time.UTC {
		t.Errorf("%v, %v", e.Time, err)
	}
}

// TestDamagedChangesAreLeftOut: a line whose change is none is no entry.
func TestDamagedChangesAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for i, change := range []string{`{"path":"/w/a","pre":null,"post":null}`, `{"path":5}`, `5`, `{"path":"/w/a","pre":"x"}`,
		`{"path":"/w/a","pre":{"kind":"file","sum":"00"}}`} {
		fmt.Fprintf(&text, `{"v":1,"seq":%d,"time":"2026-01-01T00:00:00Z","cause":"tool","exact":true,"changes":[%s]}`+"\n",
			i+1, change)
	}
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, dir).Read(0)
	if err != nil || len(got) != 1 || got[0].Seq != 1 {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestADamagedHeadIsNone: it tells no number, or has not the form of one.
func TestADamagedHeadIsNone(t *testing.T) {
	nine := fmt.Sprintf("%020d", 9)
	for _, head := range []string{strings.Repeat("9", 20) + " " + NoHash + "\n", strings.Repeat("0", 20) + " " + NoHash + "\n",
		"-" + strings.Repeat("0", 18) + "9 " + NoHash + "\n", strings.Repeat("x", 20) + " " + NoHash + "\n",
		"", "9", nine + " ", nine + " " + NoHash, nine + " " + NoHash + "\n\n", nine + "0" + NoHash + "\n", nine + " " + NoHash + "0"} {
		dir := t.TempDir()
		l := open(t, dir)
		if err := errors.Join(l.Append(&Entry{Cause: CauseTool}), l.Sync()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, headName), []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
		e := Entry{Cause: CauseTool}
		if err := open(t, dir).Append(&e); err != nil || e.Seq != 2 {
			t.Errorf("%q: seq %d, %v", head, e.Seq, err)
		}
		if err := verified(t, dir); err != nil {
			t.Errorf("%q: %v", head, err)
		}
	}
}

// TestWhatIsDurableStaysKnown, also where another process has made less durable: the end of a ledger is
// missed by all.
func TestWhatIsDurableStaysKnown(t *testing.T) {
	dir := t.TempDir()
	one, other := open(t, dir), open(t, dir)
	if err := errors.Join(one.Append(&Entry{Cause: CauseTool}), other.Append(&Entry{Cause: CauseTool}), other.Sync(), one.Sync()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	first := text[:bytes.IndexByte(text, '\n')+1]
	if err := os.WriteFile(filepath.Join(dir, fileName), first, 0o600); err != nil {
		t.Fatal(err)
	}
	var broken *BreakError
	if err := verified(t, dir); !errors.As(err, &broken) || broken.Line != 2 {
		t.Errorf("without its second entry: %v", err)
	}
}

// TestALedgerThatWasReplaced, or removed, while it is open: the next entry is in the file that has its
// name, and the one before is closed.
func TestALedgerThatWasReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be replaced")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	l := open(t, dir)
	if err := l.Append(&Entry{Cause: CauseTool, Note: "first"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir("/proc/self/fd") // none where there is no such directory
	for n := range 20 {
		want := "second"
		if n%2 == 0 {
			want = "first second"
			if err := errors.Join(os.WriteFile(path+".new", text, 0o600), os.Rename(path+".new", path)); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(&Entry{Cause: CauseTool, Note: "second"}); err != nil {
			t.Fatal(err)
		}
		entries, err := open(t, dir).Read(0)
		var notes []string
		for _, e := range entries {
			notes = append(notes, e.Note)
		}
		if err != nil || strings.Join(notes, " ") != want {
			t.Errorf("it has %q, %v, want %s", notes, err, want)
		}
	}
	if after, _ := os.ReadDir("/proc/self/fd"); len(after) > len(before) {
		t.Errorf("%d files are open, %d before", len(after), len(before))
	}
}

// TestNobodyElseReadsALedger: its directory and its files are their owner's alone.
func TestNobodyElseReadsALedger(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not those of Windows")
	}
	dir := filepath.Join(t.TempDir(), "of", "a", "workspace")
	l := open(t, dir)
	if err := errors.Join(l.Append(&Entry{Cause: CauseTool}), l.Sync(), AddMove(dir, "/w", "/v")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"..", ".", fileName, headName, movedName, lockName} {
		st, err := os.Stat(filepath.Join(dir, path))
		if err != nil || st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
}

// TestTheNameOfALedgerIsMadeDurableOnce, when it is made.
func TestTheNameOfALedgerIsMadeDurableOnce(t *testing.T) {
	dir := t.TempDir()
	for n, want := range []string{"create write sync syncdir write sync", "create write sync write sync"} {
		l := open(t, dir)
		var ops []string
		l.Hook = func(op, _ string) error {
			ops = append(ops, op)
			return nil
		}
		for range 2 {
			if err := errors.Join(l.Append(&Entry{Cause: CauseTool}), l.Sync()); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(ops, " "); got != want {
			t.Errorf("opened %d times before: %s", n, got)
		}
	}
}

// TestAnEntryThatCannotBeWritten, since its time has no form in JSON, leaves the ledger as it is.
func TestAnEntryThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	if err := l.Append(&Entry{Cause: CauseTool}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	e := Entry{Cause: CauseTool, Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if err := l.Append(&e); err == nil || e.Seq != 0 {
		t.Errorf("seq %d, %v", e.Seq, err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, fileName)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it holds %q, %v", after, err)
	}
	e.Time = time.Time{}
	if err := l.Append(&e); err != nil || e.Seq != 2 {
		t.Errorf("the next one: seq %d, %v", e.Seq, err)
	}
}

// TestARemovedLedgerIsMissingFromItsFirstLine: what is told names the line and how much there was.
func TestARemovedLedgerIsMissingFromItsFirstLine(t *testing.T) {
	dir := t.TempDir()
	written(t, dir, 3)
	if err := os.Remove(filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	var broken *BreakError
	if err := verified(t, dir); !errors.As(err, &broken) || *broken != (BreakError{1, "is missing: 3 entries were written"}) {
		t.Errorf("%v", err)
	}
}

func TestErrorsOfReadingAreToldOf(t *testing.T) {
	broken := errors.New("broken")
	text := bytes.Repeat([]byte("a line\n"), 10)
	lines := 0
	err := linesBackward(readerAt{iotest.ErrReader(broken)}, int64(len(text)), func([]byte, int64) bool { lines++; return true })
	if !errors.Is(err, broken) || lines > 0 {
		t.Errorf("%d lines, %v", lines, err)
	}
}

// readerAt reads from wherever its reader is.
type readerAt struct {
	r interface{ Read([]byte) (int, error) }
}

func (r readerAt) ReadAt(b []byte, _ int64) (int, error) { return r.r.Read(b) }

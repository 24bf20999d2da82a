package witness_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/long"
	"kerf/internal/text/delta"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/journal/dying"
)

// left is a journal whose helper died with its Kerf, behind the last line: the call that
// this line is about did not go on.
type left struct {
	*stage
	before, after snapshot
	dir           string   // of the journal
	records       []byte   // without room behind
	ends          []int    // of each record
	apart         []string // contents beside the records
}

func leave(t *testing.T) *left {
	t.Helper()
	s := newStage(t)
	s.tree200()
	s.write("t/large", strings.Repeat("large\n", 30_000))
	deeds := []deed{{Do: "append", A: "t/f1", Text: "more\n"}, {Do: "unlink", A: "t/f2"}, {Do: "write", A: "t/new", Text: "new\n"},
		{Do: "rename", A: "t/f3", B: "t/m3"}, {Do: "unlink", A: "t/large"}, {Do: "over", A: "t/f4", Text: "LINE"}, {Do: "unlink", A: "t/f5"}}
	l := &left{stage: s, before: snap(t, s.root)}
	t.Setenv(dying.Key, "9") // one for the beginning, two for the move
	_, cmd, out := s.begin(play{Lists: [][]deed{deeds}})
	_ = cmd.Wait()
	for _, stop := range s.boxes {
		stop()
	}
	s.boxes = nil
	if err := s.w.Close(); err != nil {
		t.Fatal(err)
	}
	l.after = snap(t, s.root)
	files, err := filepath.Glob(filepath.Join(s.home, "witness", "*", "*", journal.Name))
	if err != nil || len(files) != 1 {
		t.Fatalf("journals: %v %v\n%s", files, err, out)
	}
	l.dir = filepath.Dir(files[0])
	if l.records, err = os.ReadFile(files[0]); err != nil {
		t.Fatal(err)
	}
	for at := 0; ; {
		n := int(binary.LittleEndian.Uint32(l.records[at:]))
		if n == 0 {
			l.records = l.records[:at]
			break
		}
		at += 8 + n
		l.ends = append(l.ends, at)
	}
	if len(l.ends) != 9 || l.after["t/f4"] == l.before["t/f4"] || l.after["t/f5"] != l.before["t/f5"] {
		t.Fatalf("%d records\n%s", len(l.ends), out)
	}
	l.apart = l.kept(t)
	return l
}

// kept moves what lies beside the records to where a recovery does not remove it.
func (l *left) kept(t *testing.T) []string {
	t.Helper()
	aside := t.TempDir()
	list, err := os.ReadDir(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		if e.Name() == journal.Name {
			continue
		}
		to := filepath.Join(aside, e.Name())
		if out, err := os.ReadFile(filepath.Join(l.dir, e.Name())); err != nil || os.WriteFile(to, out, 0o600) != nil {
			t.Fatal(err)
		}
		names = append(names, to)
	}
	return names
}

// with recovers what is left when the journal has these bytes.
func (l *left) with(t *testing.T, b []byte) []witness.Report {
	t.Helper()
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range l.apart {
		data, err := os.ReadFile(name)
		to := filepath.Join(l.dir, filepath.Base(name))
		_ = os.Remove(to) // as a backup that was restored: it is another file
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(l.dir, journal.Name), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return l.recovered()
}

// tells is what reports tell, in lines, without their words about how it ended.
func (l *left) tells(reports []witness.Report) string {
	var lines []string
	for line := range strings.Lines(told(reports)) {
		if !strings.Contains(line, " note ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// TestTornJournalsAreReadToTheirLastWholeLine cuts the journal at every byte of its last
// line, and puts other bytes behind it: nothing that the command did is lost, and nothing
// else is told.
func TestTornJournalsAreReadToTheirLastWholeLine(t *testing.T) {
	long.Slow(t)
	l := leave(t)
	whole := l.with(t, l.records)
	adds(t, l.root, l.before, l.after, whole, "")
	want := l.tells(whole)
	last := l.ends[len(l.ends)-2]
	tails := []string{"", "\x00\x00\x00\x00\x00\x00", "\xff\x01\x02garbage behind the end", strings.Repeat("x", 5000)}
	for n := last; n < len(l.records); n++ {
		tail := tails[n%len(tails)]
		got := l.with(t, append(l.records[:n:n], tail...))
		if l.tells(got) != want {
			t.Fatalf("cut at %d of %d, then %d bytes:\n%s\nwant\n%s", n, len(l.records), len(tail), told(got), want)
		}
		if !strings.Contains(told(got), "the witness was ended while the command ran") {
			t.Fatalf("cut at %d: not a word of it:\n%s", n, told(got))
		}
	}
}

// TestJournalsThatAPowerFailureShortenedDoNotLie: of the journal only the first lines
// reached the disk, or none, or one page of it did not, while all that the command wrote
// did. What is told is true, with what was there before, and that there may be more is
// told, too.
func TestJournalsThatAPowerFailureShortenedDoNotLie(t *testing.T) {
	long.Slow(t)
	l := leave(t)
	for i := range l.ends {
		for _, hole := range []bool{false, true} { // what follows is there, behind zeros
			end := 0
			if i > 0 {
				end = l.ends[i-1]
			}
			b := l.records[:end:end]
			if hole {
				b = append(b, make([]byte, l.ends[i]-end)...)
				b = append(b, l.records[l.ends[i]:]...)
			}
			reports := l.with(t, b)
			if len(reports) != 1 || len(reports[0].Notes) == 0 || !reports[0].Ended {
				t.Fatalf("%d lines, %v: %d reports, of which nothing is said to be missing:\n%s", i, hole, len(reports), told(reports))
			}
			if err := l.true(reports[0]); err != nil {
				t.Errorf("%d lines, %v: %v", i, hole, err)
			}
		}
	}
	if err := os.RemoveAll(filepath.Join(l.home, "witness")); err != nil {
		t.Fatal(err)
	}
}

// true checks that changes are as they were.
func (l *left) true(r witness.Report) error {
	for _, p := range r.Parts {
		for _, c := range p.Set {
			for _, x := range []struct {
				img *delta.Image
				in  snapshot
			}{{c.Pre, l.before}, {c.Post, l.after}} {
				name := strings.TrimPrefix(c.Path, l.root+"/")
				if got := shown(x.img); got != x.in[name] {
					return fmt.Errorf("%s of %s (%s), it was %s", got, name, p.Certainty, x.in[name])
				}
			}
		}
	}
	return nil
}

// TestAMoveThatWasLateIsOne: the call had gone on when the helper and its Kerf were killed, and took
// its time. Both of its names are the command's, unless somebody wrote the file.
func TestAMoveThatWasLateIsOne(t *testing.T) {
	long.Slow(t)
	for _, others := range []bool{false, true} {
		got := lateMove(t, others)
		if proven := strings.Contains(got, "0 proven") && !strings.Contains(got, "unproven"); proven == others {
			t.Errorf("somebody else wrote it: %v; told:\n%s", others, got)
		}
	}
}

func lateMove(t *testing.T, others bool) string {
	s := newStage(t)
	s.tree200()
	t.Setenv(dying.Key, "3") // one for the beginning, two for the move
	_, cmd, out := s.begin(play{Lists: [][]deed{{{Do: "rename", A: "t/f3", B: "t/m3"}}}})
	_ = cmd.Wait()
	for _, stop := range s.boxes {
		stop()
	}
	s.boxes = nil
	if err := s.w.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if others {
		s.write("t/f3", "mine\n")
	}
	if err := os.Rename(filepath.Join(s.root, "t/f3"), filepath.Join(s.root, "t/m3")); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := os.Chtimes(s.journal(), began, began.Add(-200*time.Millisecond)); err != nil { // its last sign was a while ago
		t.Fatal(err)
	}
	return told(s.recovered())
}

package witness_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/long"
	"kerf/internal/work/ledger"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/journal/dying"
)

// of200 changes 200 files, one after the other, in five ways.
func of200() (list []deed) {
	for i := range 200 {
		f := fmt.Sprintf("t/f%d", i)
		switch i % 5 {
		case 0:
			list = append(list, deed{Do: "unlink", A: f})
		case 1:
			list = append(list, deed{Do: "append", A: f, Text: "more\n"})
		case 2:
			list = append(list, deed{Do: "write", A: fmt.Sprintf("t/n%d", i), Text: "new\n"})
		case 3:
			list = append(list, deed{Do: "rename", A: f, B: fmt.Sprintf("t/m%d", i)})
		case 4: // as sed -i does
			list = append(list, deed{Do: "exclusive", A: "t/sed", Text: "LINE\n"}, deed{Do: "rename", A: "t/sed", B: f})
		}
	}
	return list
}

// tree200 makes the files.
func (s *stage) tree200() {
	s.Helper()
	if err := os.RemoveAll(filepath.Join(s.root, "t")); err != nil {
		s.Fatal(err)
	}
	for i := range 200 {
		s.write(fmt.Sprintf("t/f%d", i), fmt.Sprintf("line %d\n", i))
	}
}

// killedBehind plays of200 with a helper that dies behind a line of the journal, with its
// Kerf or alone, and returns the reports and whether it died.
func (s *stage) killedBehind(t *testing.T, line int64, both bool) (reports []witness.Report, died bool) {
	t.Helper()
	s.tree200()
	before := snap(t, s.root)
	t.Setenv(dying.Key, fmt.Sprint(line))
	x, cmd, out := s.begin(play{Lists: [][]deed{of200()}})
	_ = cmd.Wait()
	if both {
		for _, stop := range s.boxes {
			stop()
		}
		s.boxes = nil
		if err := s.w.Close(); err != nil {
			t.Fatal(err)
		}
		reports = s.recovered()
		s.again()
		died = len(reports) == 1 && strings.Contains(told(reports), "the witness was ended")
	} else {
		for _, stop := range s.boxes {
			stop()
		}
		s.boxes = nil
		err := x.End(func(r witness.Report) bool { reports = append(reports, r); return true })
		died = err != nil
	}
	after := snap(t, s.root)
	adds(t, s.root, before, after, reports, out.String())
	for _, r := range reports {
		for _, p := range r.Parts {
			if p.Certainty == ledger.Outside {
				t.Errorf("nobody else was there:\n%s", told(reports))
			}
		}
	}
	return reports, died
}

// TestKilledBehindSampledLinesOfTheJournal kills the helper, with and without its Kerf, behind lines
// of the journal of a command that changes 200 files: a few of them, or with KERF_LONG all.
// What the command did until then is known, and nothing after it was done.
func TestKilledBehindSampledLinesOfTheJournal(t *testing.T) {
	long.Slow(t)
	s := newStage(t)
	lines, kills := s.lines(t), 0
	r := rand.New(rand.NewPCG(7, 7))
	for _, both := range []bool{false, true} {
		var at []int64
		for n := int64(1); n <= lines; n++ {
			at = append(at, n)
		}
		if !long.Asked() {
			r.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
			at = append(at[:plays(0, 0, 10, 2)], 1, 2)
		}
		for _, n := range at {
			reports, died := s.killedBehind(t, n, both)
			if !died {
				t.Errorf("line %d of %d, both %v: it was not killed:\n%s", n, lines, both, told(reports))
			}
			kills++
			if t.Failed() {
				t.Fatalf("line %d of %d, both %v", n, lines, both)
			}
			if !both { // the helper is gone
				for s.w.Close() != nil {
					time.Sleep(time.Millisecond)
				}
				s.again()
			}
		}
	}
	t.Logf("%d kills, the journal has %d lines", kills, lines)
}

// lines counts the records of the journal of of200, but the last: behind that nothing happens.
func (s *stage) lines(t *testing.T) (n int64) {
	t.Helper()
	s.tree200()
	x, cmd, _ := s.begin(play{Lists: [][]deed{of200()}})
	_ = cmd.Wait()
	files, err := filepath.Glob(filepath.Join(s.home, "witness", "*", "*", journal.Name))
	if err != nil || len(files) != 1 {
		t.Fatalf("journals: %v %v", files, err)
	}
	r, err := journal.Open(filepath.Dir(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list, _, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	s.end(x)
	if err := s.w.Close(); err != nil { // its helper is not to die
		t.Fatal(err)
	}
	s.again()
	return int64(len(list))
}

package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestARepairKeepsWhatIsBeforeTheCut: a session that is damaged behind its last compaction is mended
// with all of its records, not only with those that a resume needs.
func TestARepairKeepsWhatIsBeforeTheCut(t *testing.T) {
	dir := cutSession(t)
	lines := bytes.SplitAfter(mustRead(t, file1(dir)), []byte("\n"))
	mustWrite(t, file1(dir), bytes.Join(slices.Insert(lines, 4, []byte("junk\n")), nil))
	w, tail, damage, err := Resume(dir, joined(0))
	if err != nil || damage == nil || damage.Line != 5 || told(t, tail) != "one two cut three four" {
		t.Fatalf("%q, %v, %v", told(t, tail), damage, err)
	}
	w.Close()
	if records, damage, err := Read(dir); err != nil || damage != nil || texts(records) != "one two cut three four" {
		t.Errorf("after the repair %q, %v, %v", texts(records), damage, err)
	}
	if err := Verify(dir); err != nil {
		t.Error(err)
	}
}

// cutSession is one of five records with a compaction in the midst of them.
func cutSession(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "id")
	w, err := Create(dir, joined(0))
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"one", "two", "cut", "three", "four"} {
		if err := w.Append(Entry{map[bool]string{true: "compacted", false: "user_input"}[i == 2], said{text}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestARepetitionBeforeTheCutIsTold: the compaction does not hide it.
func TestARepetitionBeforeTheCutIsTold(t *testing.T) {
	dir := cutSession(t)
	lines := bytes.SplitAfter(mustRead(t, file1(dir)), []byte("\n"))
	mustWrite(t, file1(dir), bytes.Join(slices.Insert(lines, 1, lines[0]), nil))
	w, tail, damage, err := Resume(dir, joined(0))
	if err != nil || damage == nil || damage.Misplaced != 1 || told(t, tail) != "one two cut three four" {
		t.Errorf("%q, %+v, %v", told(t, tail), damage, err)
	}
	w.Close()
}

// TestTheEndTellsWhatIsLost: of the records that no disk took, and of nothing else.
func TestTheEndTellsWhatIsLost(t *testing.T) {
	for _, c := range []struct {
		failing, later int // appended while the disk is full, and behind that
		want           string
	}{{0, 1, ""}, {2, 0, "(2 records are lost)"}, {2, 1, ""}} {
		dir := session(t, 1)
		w, _, _, err := Open(dir, Options{Now: clock()})
		if err != nil {
			t.Fatal(err)
		}
		f := &faulty{File: w.file.(*os.File)}
		w.file = f
		for range c.failing {
			if err := w.Append(Entry{"user_input", said{"x"}}); !errors.Is(err, ErrPending) {
				t.Fatal(err)
			}
		}
		if c.later > 0 {
			f.left = 100
			if err := w.Append(Entry{"user_input", said{"y"}}); err != nil {
				t.Fatal(err)
			}
			f.noSync = true // what is written is not lost, though the disk may lose it
		}
		err = w.Close()
		if err == nil || strings.Contains(err.Error(), "lost") != (c.want != "") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		if Live(dir) {
			t.Errorf("%+v: the session is still held", c)
		}
	}
}

// Sync is that of the file, unless noSync is set.
func (f *faulty) Sync() error {
	f.syncs++
	if f.noSync {
		return syscall.EIO
	}
	return f.File.Sync()
}

// TestWhenTheRecordIsFlushed: at each Append if that is asked for, otherwise at Sync and Close, if anything
// came since. What fails is told.
func TestWhenTheRecordIsFlushed(t *testing.T) {
	for _, each := range []bool{false, true} {
		w, _, err := Extend(session(t, 1), Options{Now: clock(), Sync: each})
		if err != nil {
			t.Fatal(err)
		}
		f := &faulty{File: w.file.(*os.File), left: 100}
		w.file = f
		say := func() error { return w.Append(Entry{"user_input", said{"x"}}) }
		n := map[bool]int{true: 1}[each] // of one Append
		for i, step := range []struct {
			do    func() error
			syncs int
		}{{say, n}, {say, n}, {w.Sync, 1}, {w.Sync, 0}, {say, n}, {w.Sync, 1}} {
			f.syncs = 0
			if err := step.do(); err != nil || f.syncs != step.syncs {
				t.Errorf("at each %t, step %d: %d flushes, %v", each, i, f.syncs, err)
			}
		}
		f.noSync = true
		if err := say(); (err != nil) != each || errors.Is(err, ErrPending) {
			t.Errorf("at each %t: %v", each, err)
		}
		if err := w.Sync(); !errors.Is(err, syscall.EIO) {
			t.Errorf("at each %t: %v", each, err)
		}
		if err := w.Close(); !errors.Is(err, syscall.EIO) || strings.Contains(err.Error(), "lost") {
			t.Errorf("at each %t: %v", each, err)
		}
		if records, damage, err := Read(w.Dir()); len(records) != 5 || damage != nil || err != nil {
			t.Errorf("at each %t: %d records, %v, %v", each, len(records), damage, err)
		}
	}
}

// TestFieldsOfAllDepths: only those of the record itself have to leave the names of its own fields
// alone, wherever they stand.
func TestFieldsOfAllDepths(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"a":{"seq":1},"b":[{"type":2}]}`:          true,
		`{"a":{"x":1},"seq":1}`:                     false,
		`{"a":[[1,2],{"y":{}}],"Timestamp":1}`:      false,
		`{"a":"\"{","type":1}`:                      false,
		`{"a":"}","b":"\\","prev":1}`:               false,
		`{"a":"\",\"seq\":1","b":["seq","type",1]}`: true,
	} {
		if _, err := encode(Entry{"x", json.RawMessage(body)}, func(b []byte) []byte { return b }); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestRecordsInAnotherHand: a line that somebody wrote with blanks and in another order is a record,
// also where an editor put its mark before it.
func TestRecordsInAnotherHand(t *testing.T) {
	for _, mark := range []string{"", "\xEF\xBB\xBF"} {
		dir := damaged(t, 3, func(l [][]byte) []byte {
			other := `{ "type": "user_input", "seq": 2, "text": "text 2" }` + "\n"
			return slices.Concat(l[0], []byte(mark+other), l[2])
		})
		records, damage, err := Read(dir)
		if err != nil || texts(records) != "1 2 3" || (damage != nil) != (mark != "") {
			t.Errorf("%q: %q, %+v, %v", mark, texts(records), damage, err)
		}
		want := map[string]string{"": "1 2 3", "\xEF\xBB\xBF": "1 3"}[mark] // these do not mend
		var ahead, back []Record
		asked := map[int64]int{}
		for r, err := range Forward(dir, Ahead{Want: func(p Placed) bool { asked[p.Seq]++; return true }}) {
			if err != nil {
				t.Fatal(err)
			}
			ahead = append(ahead, r.Record)
		}
		for r, err := range BackwardOf(dir, Back{Want: func(kind string) bool { return kind == "user_input" }}) {
			if err != nil {
				t.Fatal(err)
			}
			back = append([]Record{r}, back...)
		}
		if texts(ahead) != want || texts(back) != want {
			t.Errorf("%q: forwards %q, backwards %q", mark, texts(ahead), texts(back))
		}
		for seq, n := range asked {
			if n != 1 {
				t.Errorf("%q: record %d is asked for %d times", mark, seq, n)
			}
		}
		for _, o := range []Back{{Want: func(kind string) bool { return kind == "x" }}, {Stop: func(r Record) bool { return r.Seq == 3 }}} {
			for r := range BackwardOf(dir, o) {
				t.Errorf("%q: %d is not asked for", mark, r.Seq)
			}
		}
		for p := range Forward(dir, Ahead{Want: func(p Placed) bool { return p.Seq > 3 }}) {
			t.Errorf("%q: %d is not asked for", mark, p.Seq)
		}
	}
}

// TestBackwardReadsNoMoreThanIsAskedFor: of some types, from a place or to it, within a number of
// bytes, and up to where the reader has enough.
func TestBackwardReadsNoMoreThanIsAskedFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "id")
	w, err := Create(dir, Options{Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	ends := []int64{0}
	for i := range 6 {
		if err := w.Append(Entry{[]string{"user_input", "event"}[i%2], said{strings.Repeat("x", 100)}}); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, w.Size())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var end int64
	for name, c := range map[string]struct {
		o    Back
		want []int64
	}{
		"all":              {Back{End: &end}, []int64{6, 5, 4, 3, 2, 1}},
		"a type":           {Back{Want: func(kind string) bool { return kind == "event" }}, []int64{6, 4, 2}},
		"from":             {Back{From: ends[4]}, []int64{4, 3, 2, 1}},
		"from behind all":  {Back{From: ends[6] + 1000}, []int64{6, 5, 4, 3, 2, 1}},
		"to":               {Back{To: ends[4]}, []int64{6, 5}},
		"between":          {Back{From: ends[4], To: ends[2]}, []int64{4, 3}},
		"to behind all":    {Back{To: ends[6] + 1000}, nil},
		"most":             {Back{Most: ends[6] - ends[4] + 1}, []int64{6, 5}},
		"most, in a line":  {Back{Most: ends[6] - ends[4] + 50}, []int64{6, 5}},
		"most, one byte":   {Back{Most: 1}, nil},
		"most is enough":   {Back{Most: ends[6]}, []int64{6, 5, 4, 3, 2, 1}},
		"most and to":      {Back{Most: ends[6], To: ends[5]}, []int64{6}},
		"until one is met": {Back{Stop: func(r Record) bool { return r.Seq == 3 }}, []int64{6, 5, 4}},
	} {
		var got []int64
		for r, err := range BackwardOf(dir, c.o) {
			if err != nil {
				t.Fatal(err)
			}
			if c.o.End != nil && end != ends[r.Seq] {
				t.Errorf("%s: record %d ends at %d, not %d", name, r.Seq, end, ends[r.Seq])
			}
			got = append(got, r.Seq)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
	for r, err := range BackwardOf(filepath.Join(dir, "none"), Back{}) {
		if err == nil || r.Seq != 0 {
			t.Errorf("nothing has %+v, %v", r, err)
		}
	}
}

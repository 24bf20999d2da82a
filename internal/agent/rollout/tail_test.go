package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// joined is a digest that forgets nothing: the texts of the records.
func joined(from int64) Options {
	return Options{Now: clock(), Digester: Digester{Cut: "compacted", From: from,
		Digest: func(prior json.RawMessage, records []Record) (json.RawMessage, error) {
			var before string
			if prior != nil {
				if err := json.Unmarshal(prior, &before); err != nil {
					return nil, err
				}
			}
			return json.Marshal(strings.TrimSpace(before + " " + texts(records)))
		}}}
}

// told is all that a tail amounts to under joined.
func told(t testing.TB, tail Tail) string {
	t.Helper()
	before := ""
	if tail.Digest != nil {
		if err := json.Unmarshal(tail.Digest, &before); err != nil {
			t.Fatal(err)
		}
	}
	return strings.TrimSpace(before + " " + texts(tail.Records))
}

// TestSEC_R6_ResumeNeedsTheTailOnly: whatever was appended, cut and resumed before, and
// whatever became of the mark, a resume gives the records since the last cut, and
// the digest of all before.
func TestSEC_R6_ResumeNeedsTheTailOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir := filepath.Join(tempDir(t), "id")
		w, err := Create(dir, joined(1))
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		cut := 0 // how many records are before the last cut
		var marks [][]byte
		for range rapid.IntRange(1, 12).Draw(t, "operations") {
			switch rapid.SampledFrom([]string{"say", "say", "say", "cut", "batch", "resume", "lose", "stale", "spoil",
				"torn"}).Draw(t, "operation") {
			case "say":
				all = append(all, fmt.Sprintf("text%d", len(all)))
				err = w.Append(Entry{"user_input", said{all[len(all)-1]}})
			case "cut":
				cut = len(all)
				all = append(all, fmt.Sprintf("cut%d", len(all)))
				err = w.Append(Entry{"compacted", said{all[len(all)-1]}})
			case "batch":
				all = append(all, fmt.Sprintf("a%d", len(all)), fmt.Sprintf("cut%d", len(all)), fmt.Sprintf("b%d", len(all)))
				cut = len(all) - 2
				err = w.Append(Entry{"user_input", said{all[cut-1]}}, Entry{"compacted", said{all[cut]}},
					Entry{"user_input", said{all[cut+1]}})
			case "lose":
				err = os.RemoveAll(filepath.Join(dir, markName))
			case "stale":
				if len(marks) > 0 {
					err = os.WriteFile(filepath.Join(dir, markName), rapid.SampledFrom(marks).Draw(t, "mark"), 0o600)
				}
			case "spoil":
				err = os.WriteFile(filepath.Join(dir, markName), rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"), 0o600)
			case "resume", "torn":
				_ = w.Close()
				if rapid.Bool().Draw(t, "torn") {
					f, _ := os.OpenFile(file1(dir), os.O_WRONLY|os.O_APPEND, 0)
					_, _ = f.WriteString(`{"seq":`)
					f.Close()
				}
				var tail Tail
				if w, tail, _, err = Resume(dir, joined(1)); err != nil {
					t.Fatal(err)
				}
				check(t, tail, all, cut)
			}
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(dir, markName)); err == nil {
				marks = append(marks, b)
			}
		}
		_ = w.Close()
		w, tail, _, err := Resume(dir, joined(1))
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		check(t, tail, all, cut)
		if err := Verify(dir); err != nil {
			t.Fatal(err)
		}
	})
}

func check(t *rapid.T, tail Tail, all []string, cut int) {
	before := ""
	if tail.Digest != nil {
		if err := json.Unmarshal(tail.Digest, &before); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.TrimSpace(before+" "+texts(tail.Records)), strings.Join(all, " "); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	if len(tail.Records) != len(all)-cut {
		t.Fatalf("%d records are held, %d follow the last cut", len(tail.Records), len(all)-cut)
	}
}

// tempDir is a directory for one case of a property.
func tempDir(t *rapid.T) string {
	dir, err := os.MkdirTemp("", "kerf-tail-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestMarksThatDoNotFit are left aside, and what they tell is not taken for true. One that fits is believed.
func TestMarksThatDoNotFit(t *testing.T) {
	good := func(dir string) (m mark) {
		m, ok := readMark(filepath.Join(dir, markName))
		if !ok {
			t.Fatal("no mark")
		}
		m.Digest = json.RawMessage(`"told"`)
		return m
	}
	for name, change := range map[string]func(m *mark, size int64){
		"fits":                    func(*mark, int64) {},
		"another format":          func(m *mark, _ int64) { m.Format++ },
		"the beginning":           func(m *mark, _ int64) { m.Offset = 0 },
		"before the beginning":    func(m *mark, _ int64) { m.Offset = -m.Offset },
		"the end":                 func(m *mark, size int64) { m.Offset = size },
		"behind the end":          func(m *mark, size int64) { m.Offset = size + 1 },
		"one byte on":             func(m *mark, _ int64) { m.Offset++ },
		"one byte back":           func(m *mark, _ int64) { m.Offset-- },
		"another number":          func(m *mark, _ int64) { m.Seq++ },
		"another number, smaller": func(m *mark, _ int64) { m.Seq-- },
		"another hash":            func(m *mark, _ int64) { m.Prev = strings.Repeat("0", 64) },
	} {
		dir := cutSession(t)
		m := good(dir)
		st, err := os.Stat(file1(dir))
		if err != nil {
			t.Fatal(err)
		}
		change(&m, st.Size())
		if err := saveMark(dir, m); err != nil {
			t.Fatal(err)
		}
		want := "one two cut three four"
		if name == "fits" {
			want = "told cut three four"
		}
		for _, from := range []int64{1, st.Size() - 1, st.Size(), 0} {
			whole := from == st.Size() || from == 0
			w, tail, damage, err := Resume(dir, joined(from))
			if err != nil || damage != nil || told(t, tail) != want && !(whole && told(t, tail) == "one two cut three four") || whole && told(t, tail) == want && name == "fits" {
				t.Errorf("%s, from %d: %q, %+v, %v", name, from, told(t, tail), damage, err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if name != "fits" && from == 1 {
				if now := good(dir); now.at(m) && now.Format == m.Format {
					t.Errorf("%s: it is still there", name)
				}
			}
		}
		if err := Verify(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := cutSession(t)
	name := filepath.Join(dir, markName)
	if err := errors.Join(os.Rename(name, name+"2"), os.Symlink(markName+"2", name)); err != nil {
		t.Skip(err)
	}
	if _, ok := readMark(name); ok {
		t.Error("a link is read")
	}
}

// TestDamageBeforeTheMark: it does not keep a large session from being resumed;
// Verify tells of it.
func TestDamageBeforeTheMark(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "id")
	w, err := Create(dir, joined(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Entry{{"user_input", said{"one"}}, {"user_input", said{"two"}}, {"compacted", said{"cut"}},
		{"user_input", said{"three"}}} {
		if err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	b := mustRead(t, file1(dir))
	b[0] = 'X'
	mustWrite(t, file1(dir), b)
	w, tail, damage, err := Resume(dir, joined(1))
	if err != nil || damage != nil || told(t, tail) != "one two cut three" {
		t.Fatalf("%q, %v, %v", told(t, tail), damage, err)
	}
	w.Close()
	if err := Verify(dir); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("verify: %v", err)
	}
	// A small session is read whole, and mended.
	w, _, damage, err = Resume(dir, joined(0))
	if err != nil || damage == nil || damage.Line != 1 {
		t.Errorf("read whole: %v, %v", damage, err)
	}
	w.Close()
}

// TestADigestGoesOnFromTheLast: each is made of the one before and of the records since, by the writer that
// cuts as by the next one.
func TestADigestGoesOnFromTheLast(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "id")
	o := joined(1)
	var made []string
	digest := o.Digest
	o.Digest = func(prior json.RawMessage, records []Record) (json.RawMessage, error) {
		made = append(made, fmt.Sprintf("%s+%s", prior, texts(records)))
		return digest(prior, records)
	}
	w, err := Create(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Entry{{"user_input", said{"one"}}, {"compacted", said{"cut"}}, {"user_input", said{"two"}}, {"compacted", said{"cut"}}} {
		if err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"+one", `"one"+cut two`}, made); d != "" {
		t.Error(d)
	}
	made = nil
	if w, _, _, err = Resume(dir, o); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(Entry{"compacted", said{"cut"}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{`"one cut two"+cut`}, made); d != "" {
		t.Error(d)
	}
}

// TestACutWithoutItsLineFeed is one like others.
func TestACutWithoutItsLineFeed(t *testing.T) {
	for _, before := range []int{1, 2} {
		dir := filepath.Join(t.TempDir(), "id")
		w, err := Create(dir, joined(1))
		if err != nil {
			t.Fatal(err)
		}
		for range before {
			err = errors.Join(err, w.Append(Entry{"user_input", said{"one"}}))
		}
		if err := errors.Join(err, w.Append(Entry{"compacted", said{"cut"}}), w.Close(), os.Remove(filepath.Join(dir, markName))); err != nil {
			t.Fatal(err)
		}
		b := mustRead(t, file1(dir))
		mustWrite(t, file1(dir), b[:len(b)-1])
		want := strings.Repeat("one ", before) + "cut"
		w, tail, damage, err := Resume(dir, joined(1))
		if err != nil || damage == nil || damage.Torn == 0 || damage.Skipped+damage.Mended != 0 || told(t, tail) != want {
			t.Fatalf("%q, %+v, %v", told(t, tail), damage, err)
		}
		if err := errors.Join(w.Append(Entry{"user_input", said{"two"}}), w.Close(), Verify(dir)); err != nil {
			t.Fatal(err)
		}
		if w, tail, damage, err = Resume(dir, joined(1)); err != nil || damage != nil || told(t, tail) != want+" two" || len(tail.Records) != 2 {
			t.Errorf("%q, %d records, %+v, %v", told(t, tail), len(tail.Records), damage, err)
		}
		w.Close()
	}
}

// TestARecordThatCannotBeScanned is an error, with a mark and without.
func TestARecordThatCannotBeScanned(t *testing.T) {
	dir := cutSession(t)
	for name, o := range map[string]Options{"from the mark": joined(1), "whole": joined(0), "without digests": {}} {
		for _, closed := range []bool{false, true} {
			f, err := os.OpenFile(file1(dir), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if closed {
				f.Close()
			}
			w := &Writer{dir: dir, o: o.filled()}
			if s, err := w.scan(f); s != nil && o.Digest != nil || err == nil {
				t.Errorf("%s, closed %v: %v, %v", name, closed, s, err)
			}
			f.Close()
		}
	}
}

func TestBackwardIsReadInReverse(t *testing.T) {
	dir := session(t, 300)
	w, _, _, err := Open(dir, Options{Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{backBlock - 200, backBlock, 3 * backBlock} {
		if err := w.Append(Entry{"user_input", said{strings.Repeat("x", n)}},
			Entry{"user_input", said{"after"}}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	all, _, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []Record
	for r, err := range Backward(dir) {
		if err != nil {
			t.Fatal(err)
		}
		got = append([]Record{r}, got...)
	}
	if d := cmp.Diff(len(all), len(got)); d != "" {
		t.Fatal(d)
	}
	for i := range all {
		if string(all[i].Raw) != string(got[i].Raw) || all[i].Seq != got[i].Seq {
			t.Fatalf("record %d differs", i+1)
		}
	}
	if _, err := os.Stat(file1(dir)); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkResume resumes a session of 100 MB, of 1 GB with KERF_LONG=1, that was
// compacted 2 MB before its end. It reports what the heap grew by.
func BenchmarkResume(b *testing.B) {
	size := int64(100 << 20)
	if os.Getenv("KERF_LONG") != "" {
		size = 1 << 30
	}
	dir := filepath.Join(b.TempDir(), "id")
	o := joined(0)
	o.Digest = func(json.RawMessage, []Record) (json.RawMessage, error) { return json.RawMessage(`"short"`), nil }
	w, err := Create(dir, o)
	if err != nil {
		b.Fatal(err)
	}
	line := Entry{"tool_call", said{strings.Repeat("output of a tool\n", 1000)}}
	for part := int64(0); w.size < size; part++ {
		if err := w.Append(line, line, line, line); err != nil {
			b.Fatal(err)
		}
		if left := size - w.size; part%500 == 499 && left > 3<<20 || left < 2<<20 && left+80_000 >= 2<<20 {
			if err := w.Append(Entry{"compacted", said{"cut"}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	w.Close()
	var before, after runtime.MemStats
	b.ResetTimer()
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		w, tail, _, err := Resume(dir, o)
		if err != nil {
			b.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.Sys-before.Sys+after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB-more")
		b.ReportMetric(float64(len(tail.Records)), "records")
		w.Close()
	}
}

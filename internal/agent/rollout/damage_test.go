package rollout

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/growth"
)

// damaged puts b in the place of the rollout of a fresh session of n records.
func damaged(t *testing.T, n int, change func(lines [][]byte) []byte) string {
	t.Helper()
	dir := session(t, n)
	lines := bytes.SplitAfter(mustRead(t, file1(dir)), []byte("\n"))
	mustWrite(t, file1(dir), change(lines[:n]))
	return dir
}

// checkMended opens the session, appends to it and reads it again: damage is
// told once, the records are kept, nothing of the old bytes is lost.
func checkMended(t *testing.T, dir, want string) {
	t.Helper()
	before := mustRead(t, file1(dir))
	records, seen, err := Read(dir)
	if err != nil || texts(records) != want {
		t.Fatalf("read: records %q, want %q; %v, %v", texts(records), want, seen, err)
	}
	if !bytes.Equal(before, mustRead(t, file1(dir))) {
		t.Fatal("reading changed the file")
	}
	w, records, damage, err := Open(dir, Options{Now: clock()})
	if err != nil || texts(records) != want {
		t.Fatalf("open: records %q, want %q; %v, %v", texts(records), want, damage, err)
	}
	if damage != nil && damage.Kept != "" {
		kept := mustRead(t, filepath.Join(dir, damage.Kept))
		if !bytes.Equal(kept, before) && !bytes.HasSuffix(before, kept) {
			t.Errorf("kept %q of %q", kept, before)
		}
	} else if after := mustRead(t, file1(dir)); !bytes.HasPrefix(after, before) {
		t.Errorf("bytes are gone: %q is now %q", before, after)
	}
	if (seen == nil) != (damage == nil) || damage != nil && damage.String() == "" {
		t.Errorf("read tells %v, open %v", seen, damage)
	}
	if err := w.Append(Entry{"user_input", said{"text new"}}); err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	if len(records) > 0 {
		last = records[len(records)-1].Seq
	}
	w.Close()
	records, damage, err = Read(dir)
	if err != nil || damage != nil || texts(records) != strings.TrimSpace(want+" new") {
		t.Fatalf("after the repair: records %q, damage %v, %v", texts(records), damage, err)
	}
	if got := records[len(records)-1].Seq; got != last+1 {
		t.Errorf("the new record has number %d after %d", got, last)
	}
}

func TestSEC_R1_R2_Damage(t *testing.T) {
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	half := func(l []byte) []byte { return l[:len(l)/2] }
	chop := func(l []byte) []byte { return bytes.TrimSuffix(l, []byte("\n")) }
	nuls := make([]byte, 4096)
	for name, c := range map[string]struct {
		want   string
		change func(l [][]byte) []byte
	}{
		"empty":                   {"", func(l [][]byte) []byte { return nil }},
		"zero page at the end":    {"1 2 3 4", func(l [][]byte) []byte { return join(l[0], l[1], l[2], l[3], nuls) }},
		"zero page and newline":   {"1 2 3 4", func(l [][]byte) []byte { return join(l[0], l[1], l[2], l[3], nuls, []byte("\n")) }},
		"zero page in the middle": {"1 2 3 4", func(l [][]byte) []byte { return join(l[0], l[1], nuls, l[2], l[3]) }},
		"zero page over a line":   {"1 2 4", func(l [][]byte) []byte { return join(l[0], l[1], half(l[2]), nuls, l[3]) }},
		"only zeros":              {"", func(l [][]byte) []byte { return nuls }},
		"half line, then a line":  {"1 3 4", func(l [][]byte) []byte { return join(l[0], half(l[1]), l[2], l[3]) }},
		"half line by itself":     {"1 3 4", func(l [][]byte) []byte { return join(l[0], half(l[1]), []byte("\n"), l[2], l[3]) }},
		"two lines glued":         {"1 2 3 4", func(l [][]byte) []byte { return join(l[0], chop(l[1]), l[2], l[3]) }},
		"all lines glued":         {"1 2 3 4", func(l [][]byte) []byte { return join(chop(l[0]), chop(l[1]), chop(l[2]), chop(l[3])) }},
		"line, then a half":       {"1 2 4", func(l [][]byte) []byte { return join(l[0], chop(l[1]), half(l[2]), []byte("\n"), l[3]) }},
		"interleaved":             {"1 4", func(l [][]byte) []byte { return join(l[0], l[1][:50], l[2][:60], l[1][50:], l[2][60:], l[3]) }},
		"duplicate":               {"1 2 3 4", func(l [][]byte) []byte { return join(l[0], l[1], l[1], l[2], l[3], l[3]) }},
		"out of order":            {"1 2 3 4", func(l [][]byte) []byte { return join(l[0], l[2], l[1], l[3]) }},
		"crlf":                    {"1 2 3 4", func(l [][]byte) []byte { return bytes.ReplaceAll(join(l...), []byte("\n"), []byte("\r\n")) }},
		"bom":                     {"1 2 3 4", func(l [][]byte) []byte { return join([]byte("\xEF\xBB\xBF"), join(l...)) }},
		"not utf-8": {"1 � 3 4", func(l [][]byte) []byte {
			return join(l[0], bytes.Replace(l[1], []byte("text 2"), []byte("text \xff"), 1), l[2], l[3])
		}},
		"not utf-8 outside": {"1 3 4", func(l [][]byte) []byte { return join(l[0], []byte("\xff\xfe"), half(l[1]), []byte("\n"), l[2], l[3]) }},
		"20 MB line": {"1 2 3 4", func(l [][]byte) []byte {
			return join(l[0], l[1], bytes.Repeat([]byte("x"), 20<<20), []byte("\n"), l[2], l[3])
		}},
		"deep line": {"1 2 3 4", func(l [][]byte) []byte {
			return join(l[0], l[1], []byte(`{"seq":3,"timestamp":"2025-01-02T02:04:05.001Z","type":"x","prev":"","a":`+
				strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+"}\n"), l[2], l[3])
		}},
		"full of marks": {"1 2 3 4", func(l [][]byte) []byte {
			return join(l[0], l[1], bytes.Repeat([]byte(`{"seq":`), 100_000), []byte("\n"), l[2], l[3])
		}},
		"blank lines": {"1 2 3 4", func(l [][]byte) []byte {
			return join([]byte("\n"), l[0], []byte("\n \n"), l[1], l[2], l[3], []byte("\n"))
		}},
		"other JSON": {"1 2 3 4", func(l [][]byte) []byte {
			return join(l[0], l[1], []byte("{}\n[1]\n7\n{\"seq\":\"x\",\"type\":\"y\"}\n{\"seq\":-1,\"type\":\"y\"}\n"+
				"{\"seq\":9223372036854775807,\"type\":\"y\"}\n"), l[2], l[3])
		}},
		"first line gone": {"2 3 4", func(l [][]byte) []byte { return join([]byte("?\n"), l[1], l[2], l[3]) }},
		"torn inside a string that looks like a record": {"1 2 3 4", func(l [][]byte) []byte {
			return join(join(l...), []byte(`{"seq":5,"timestamp":"2025-01-02T02:04:05.001Z","type":"x","prev":"","args":{"seq":6,"timestamp":"2025-01-02T02:04:05.001Z","type":"x","prev":"","text":"forged"},"t`))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			checkMended(t, damaged(t, 4, c.change), c.want)
		})
	}
}

// However large the damage is, mending takes no more than its share of time.
func TestSEC_R1_MendingIsLinear(t *testing.T) {
	for name, damage := range map[string]func(n int) string{
		"long line": func(n int) string { return strings.Repeat("x", n) },
		"deep line": func(n int) string {
			return `{"seq":3,"timestamp":"2025-01-02T02:04:05.001Z","type":"x","prev":"","a":` +
				strings.Repeat("[", n/2) + strings.Repeat("]", n/2) + "}"
		},
		"full of marks": func(n int) string { return strings.Repeat(`{"seq":`, n/7) },
		"many lines":    func(n int) string { return strings.Repeat("?\n", n/2) },
	} {
		took := func(n int) time.Duration {
			bad := damaged(t, 4, func(l [][]byte) []byte {
				return bytes.Join([][]byte{l[0], l[1], []byte(damage(n) + "\n"), l[2], l[3]}, nil)
			})
			return growth.Took(func() { checkMended(t, bad, "1 2 3 4") })
		}
		if !growth.Linear(8<<20, took) {
			t.Errorf("%s: it takes far more than eight times as long for eight times as much", name)
		}
	}
}

func TestSEC_R1_CutAnywhere(t *testing.T) {
	whole := session(t, 2)
	good := mustRead(t, file1(whole))
	for i := range good {
		dir := filepath.Join(t.TempDir(), "s")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, file1(dir), good[:i])
		ls := bytes.SplitAfter(good[:i], []byte("\n"))
		want := []string{"1", "2"}[:len(ls)-1]
		if last := ls[len(ls)-1]; len(last) > 0 && last[len(last)-1] == '}' {
			want = append(want, fmt.Sprint(len(ls))) // whole but for its line feed
		}
		checkMended(t, dir, strings.Join(want, " "))
		if err := Verify(dir); err != nil {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

func TestUnknownTypesAndFieldsStay(t *testing.T) {
	dir := session(t, 0)
	w, _, _, _ := Open(dir, Options{Now: clock()})
	w.Append(Entry{"of_the_future", map[string]any{"x": 1}})
	w.Close()
	records, damage, err := Read(dir)
	if err != nil || damage != nil || len(records) != 1 || records[0].Type != "of_the_future" {
		t.Errorf("%v, %v, %v", records, damage, err)
	}
}

func TestDamageIsTold(t *testing.T) {
	dir := damaged(t, 4, func(l [][]byte) []byte {
		return bytes.Join([][]byte{l[0], []byte("junk\n"), l[1], l[2][:20]}, nil)
	})
	_, _, damage, err := Open(dir, Options{})
	want := &Damage{Line: 2, Skipped: 1, Torn: 20, Missing: 2, Kept: "rollout.damaged-1"}
	if d := cmp.Diff(want, damage); d != "" || err != nil {
		t.Errorf("%v -want +got\n%s", err, d)
	}
	const words = "1 unreadable line skipped, the last line was cut off, the last 2 records are missing (first at line " +
		"2); the original bytes are in rollout.damaged-1"
	if got := damage.String(); got != words {
		t.Errorf("got %q", got)
	}
}

func TestWordsOfDamage(t *testing.T) {
	for want, d := range map[string]*Damage{
		"none":                      nil,
		"1 unreadable line skipped": {Skipped: 1},
		"2 unreadable lines skipped, 1 line mended (first at line 1)":                                 {Line: 1, Skipped: 2, Mended: 1},
		"2 lines mended, 1 record out of place (first at line 7)":                                     {Line: 7, Mended: 2, Misplaced: 1},
		"2 records out of place, the last line was cut off":                                           {Misplaced: 2, Torn: 1},
		"the last record is missing":                                                                  {Missing: 1},
		"the last 2 records are missing; the original bytes are in rollout.damaged-1":                 {Missing: 2, Kept: "rollout.damaged-1"},
		"the last line was cut off (first at line 3); the original bytes are in x":                    {Line: 3, Torn: 5, Kept: "x"},
		"1 unreadable line skipped, 1 line mended, 1 record out of place, the last record is missing": {Skipped: 1, Mended: 1, Misplaced: 1, Missing: 1},
	} {
		if got := d.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestLinesThatAreTooLong are left out by whoever reads; one that is as long as may be is a record.
func TestLinesThatAreTooLong(t *testing.T) {
	begin, end := `{"seq":2,"timestamp":"2025-01-02T02:04:05.001Z","type":"user_input","prev":"","text":"2`, `"}`+"\n"
	long := func(size int) string {
		return damaged(t, 3, func(l [][]byte) []byte {
			return slices.Concat(l[0], []byte(begin), bytes.Repeat([]byte("x"), size-len(begin)-len(end)), []byte(end), l[2])
		})
	}
	ahead := func(dir string) (seqs []int64) {
		for p, err := range Forward(dir, Ahead{}) {
			if seqs = append(seqs, p.Seq); err != nil {
				t.Fatal(err)
			}
		}
		return seqs
	}
	dir := long(maxLine + 1)
	var back []int64
	for r, err := range Backward(dir) {
		if back = append(back, r.Seq); err != nil {
			t.Fatal(err)
		}
	}
	if got := ahead(dir); !slices.Equal(got, []int64{1, 3}) || !slices.Equal(back, []int64{3, 1}) {
		t.Errorf("forwards %v, backwards %v", got, back)
	}
	if records, damage, err := Read(dir); err != nil || texts(records) != "1 3" || damage == nil || damage.Skipped != 1 || damage.Line != 2 {
		t.Errorf("%d records, %+v, %v", len(records), damage, err)
	}
	if err := Verify(dir); err == nil || !strings.Contains(err.Error(), "line 2: is longer than") {
		t.Errorf("verify: %v", err)
	}
	if got := ahead(long(maxLine)); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("as long as may be: forwards %v", got)
	}
}

// TestCutAtALineIsSeen needs the head: nothing is wrong with the lines left.
func TestCutAtALineIsSeen(t *testing.T) {
	dir := damaged(t, 4, func(l [][]byte) []byte { return bytes.Join(l[:2], nil) })
	_, damage, err := Read(dir)
	if d := cmp.Diff(&Damage{Missing: 2}, damage); d != "" || err != nil {
		t.Errorf("%v -want +got\n%s", err, d)
	}
	if err := Verify(dir); err == nil {
		t.Error("the cut was not found")
	}
	checkMended(t, dir, "1 2")
	if err := Verify(dir); err != nil {
		t.Error(err)
	}
}

func TestReadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Read(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("empty directory: %v", err)
	}
	os.Mkdir(file1(dir), 0o700)
	if _, _, err := Read(dir); err == nil {
		t.Error("a directory was read")
	}
	if _, _, _, err := Open(dir, Options{}); err == nil {
		t.Error("a directory was opened")
	}
}

// faulty fails from the nth write on until it is healed; a failing write
// leaves some of its bytes.
type faulty struct {
	*os.File
	left     int // writes that work
	some     int // bytes of a failing write
	noCut    bool
	noSync   bool
	syncs    int
	attempts int
}

func (f *faulty) WriteAt(b []byte, off int64) (int, error) {
	f.attempts++
	if f.left > 0 {
		f.left--
		return f.File.WriteAt(b, off)
	}
	n, _ := f.File.WriteAt(b[:min(len(b), f.some)], off)
	return n, syscall.ENOSPC
}

func (f *faulty) Truncate(size int64) error {
	if f.noCut {
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

func TestSEC_R4_NoSpace(t *testing.T) {
	for _, noCut := range []bool{false, true} {
		for left := range 6 {
			for _, some := range []int{0, 1, 100, 200} {
				name := fmt.Sprintf("after %d writes, %d bytes, cut fails %v", left, some, noCut)
				dir := session(t, 1)
				w, _, _, err := Open(dir, Options{Now: clock()})
				if err != nil {
					t.Fatal(err)
				}
				f := &faulty{File: w.file.(*os.File), left: left, some: some, noCut: noCut}
				w.file = f
				failed := 0
				for i := range 5 {
					err := w.Append(Entry{"user_input", said{fmt.Sprintf("text %d", i+2)}})
					if err != nil {
						failed++
						if !errors.Is(err, ErrPending) || !errors.Is(err, syscall.ENOSPC) {
							t.Fatalf("%s: %v", name, err)
						}
						if records, damage, _ := Read(file1(dir)); !noCut && (len(records) != 1+left || damage != nil) {
							t.Fatalf("%s: %d records and %v on disk", name, len(records), damage)
						}
					}
				}
				if failed != 5-min(5, left) {
					t.Errorf("%s: %d appends failed", name, failed)
				}
				f.left = 100
				if err := w.Sync(); err != nil {
					t.Fatal(err)
				}
				w.Close()
				if records, damage, err := Read(dir); err != nil || damage != nil || texts(records) != "1 2 3 4 5 6" {
					t.Errorf("%s: %q, %v, %v", name, texts(records), damage, err)
				}
				if err := Verify(dir); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

func TestSEC_R4_MemoryIsBounded(t *testing.T) {
	dir := session(t, 0)
	w, _, _, _ := Open(dir, Options{Now: clock()})
	f := &faulty{File: w.file.(*os.File)}
	w.file = f
	big := said{strings.Repeat("x", 9<<20)}
	taken, full := 0, 0
	for range 12 {
		switch err := w.Append(Entry{"user_input", big}); {
		case errors.Is(err, ErrFull):
			full++
		case errors.Is(err, ErrPending):
			taken++
		default:
			t.Fatal(err)
		}
	}
	if taken != 7 || full != 5 {
		t.Errorf("%d taken, %d refused", taken, full)
	}
	f.left = 100
	if err := w.Append(Entry{"user_input", said{"small"}}); err != nil {
		t.Error(err)
	}
	w.Close()
	if records, damage, _ := Read(dir); len(records) != taken+1 || damage != nil {
		t.Errorf("%d records, %v", len(records), damage)
	}
	if err := Verify(dir); err != nil {
		t.Error(err)
	}
}

func TestSEC_R5_ClockJumpsBack(t *testing.T) {
	dir := session(t, 2)
	past := func() time.Time { return time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC) }
	w, _, _, _ := Open(dir, Options{Now: past})
	w.Append(Entry{"user_input", said{"text 3"}})
	w.Close()
	if records, damage, _ := Read(dir); texts(records) != "1 2 3" || damage != nil {
		t.Errorf("%q, %v", texts(records), damage)
	}
}

func TestFileChangedUnderTheWriter(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"cut":     func(p string) error { return os.Truncate(p, 30) },
		"emptied": func(p string) error { return os.Truncate(p, 0) },
		"added":   func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("x", 2000)), 0o600) },
	} {
		dir := session(t, 2)
		w, _, _, _ := Open(dir, Options{Now: clock()})
		if err := change(file1(dir)); err != nil {
			t.Fatal(err)
		}
		w.Append(Entry{"user_input", said{"text 3"}}, Entry{"user_input", said{"text 4"}})
		w.Close()
		if records, _, err := Read(dir); texts(records) != "3 4" || err != nil {
			t.Errorf("%s: %q, %v", name, texts(records), err)
		}
	}
}

// TestKillKeepsWhatWasAppended kills a writer in the midst of its work.
func TestKillKeepsWhatWasAppended(t *testing.T) {
	if dir := os.Getenv("ROLLOUT_TEST_DIR"); dir != "" {
		w, err := Create(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; ; i++ {
			if err := w.Append(Entry{"user_input", said{fmt.Sprintf("text %d", i)}}); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(os.Stdout, "%d\n", i)
		}
	}
	dir := filepath.Join(t.TempDir(), "s")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillKeepsWhatWasAppended$")
	cmd.Env = append(os.Environ(), "ROLLOUT_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := 0
	for told < 50 {
		if _, err := fmt.Fscan(out, &told); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := Open(dir, Options{}); !errors.Is(err, ErrLive) {
		t.Errorf("beside a living process: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	w, records, _, err := Open(dir, Options{})
	if err != nil || len(records) < told {
		t.Fatalf("%d records of %d, %v", len(records), told, err)
	}
	w.Close()
	if err := Verify(dir); err != nil {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	dir := session(f, 3)
	f.Add(mustRead(f, file1(dir)))
	f.Add([]byte("{\"seq\":1,\"timestamp\":\"2025-01-02T02:04:05.001Z\",\"type\":\"x\",\"prev\":\"\"}{\"seq\":2\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		mustWrite(t, file1(dir), b)
		records, _, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = Verify(dir)
		w, again, damage, err := Open(dir, Options{Now: clock()})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(records, again); d != "" {
			t.Fatalf("read and open differ: %s", d)
		}
		if err := w.Append(Entry{"user_input", said{"text"}}); err != nil {
			t.Fatal(err)
		}
		w.Close()
		after, left, err := Read(dir)
		if err != nil || left != nil || len(after) != len(records)+1 {
			t.Fatalf("%d records of %d, damage %v then %v, %v", len(after), len(records)+1, damage, left, err)
		}
	})
}

// Open resumes a session with all of its records.
func Open(dir string, o Options) (*Writer, []Record, *Damage, error) {
	o.Digester = Digester{}
	w, tail, damage, err := Resume(dir, o)
	return w, tail.Records, damage, err
}

package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kerf/internal/text/redact"
)

func TestBlobsAreKeptOnceAndWhole(t *testing.T) {
	dir := session(t, 1)
	w, _, _, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.Dir() != dir || w.Size() != int64(len(mustRead(t, file1(dir)))) {
		t.Errorf("%s, %d bytes", w.Dir(), w.Size())
	}
	name, err := w.SaveBlob([]byte("a picture"))
	again, err2 := w.SaveBlob([]byte("a picture"))
	other, err3 := w.SaveBlob(nil)
	if err = errors.Join(err, err2, err3); err != nil || name != again || name == other {
		t.Fatalf("%s, %s, %s: %v", name, again, other, err)
	}
	if b, err := LoadBlob(dir, name); err != nil || string(b) != "a picture" {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := LoadBlob(dir, other); err != nil || len(b) > 0 {
		t.Errorf("%q, %v", b, err)
	}
	mustWrite(t, filepath.Join(dir, blobsName, name), []byte("another picture"))
	for _, bad := range []string{name, "../" + rolloutName, "", strings.Repeat("0", 64), name[:62], name + "00"} {
		if b, err := LoadBlob(dir, bad); err == nil {
			t.Errorf("%q has %q", bad, b)
		}
	}
}

func TestPlanIsRedacted(t *testing.T) {
	dir := session(t, 1)
	w, _, _, err := Open(dir, Options{Redact: redact.New([]string{"A_KEY=hunter2hunter2"}).Bytes})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, text := range []string{"use hunter2hunter2", "done"} {
		if err := w.SavePlan(text); err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(text, "hunter2hunter2", "[redacted]", 1) + "\n"; string(mustRead(t, filepath.Join(dir, planName))) != want {
			t.Errorf("not %q", want)
		}
	}
}

// TestWhatCannotBeSavedIsTold: where a file has the name of the directory for it.
func TestWhatCannotBeSavedIsTold(t *testing.T) {
	dir := session(t, 1)
	w, _, _, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.SaveDiff([]byte("+x\n")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{diffsName, blobsName} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, filepath.Join(dir, name), nil)
	}
	if name, err := w.SaveDiff([]byte("+x\n")); err == nil || name != "" {
		t.Errorf("a diff is saved as %q", name)
	}
	if name, err := w.SaveBlob([]byte("x")); err == nil || name != "" {
		t.Errorf("a blob is saved as %q", name)
	}
	mustRemove := errors.Join(os.Remove(filepath.Join(dir, diffsName)), os.Mkdir(filepath.Join(dir, diffsName), 0o700))
	if name, err := w.SaveDiff([]byte("+x\n")); err != nil || mustRemove != nil || filepath.Base(name) != "002.diff" {
		t.Errorf("the next one is %q: %v, %v", name, err, mustRemove)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if name, err := w.SaveDiff([]byte("+x\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed session has %q: %v", name, err)
	}
	if err := w.Append(Entry{"user_input", said{"x"}}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed session goes on: %v", err)
	}
}

func TestHoldAndLive(t *testing.T) {
	dir := session(t, 1)
	if Live(dir) || Live(filepath.Join(dir, "none")) {
		t.Error("nobody has it")
	}
	w, damage, err := Extend(dir, Options{Now: clock()})
	if err != nil || damage != nil || !Live(dir) {
		t.Fatalf("%v, %v", damage, err)
	}
	if _, err := Hold(dir); !errors.Is(err, ErrLive) {
		t.Errorf("held beside a writer: %v", err)
	}
	if err := errors.Join(w.Append(Entry{"user_input", said{"more"}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	release, err := Hold(dir)
	if err != nil || !Live(dir) {
		t.Fatal(err)
	}
	if _, _, err := Extend(dir, Options{}); !errors.Is(err, ErrLive) {
		t.Errorf("written while it is held: %v", err)
	}
	release()
	if Live(dir) {
		t.Error("it was released")
	}
	if records, _, err := Read(dir); err != nil || texts(records) != "1 more" {
		t.Errorf("%q, %v", texts(records), err)
	}
	if _, err := Hold(filepath.Join(dir, "none")); err == nil {
		t.Error("nothing is held")
	}
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	live := Live(dir)
	if _, err := os.Lstat(filepath.Join(dir, lockName)); live || err == nil {
		t.Error("whoever asks makes a lock")
	}
}

// TestNumbersStayWhatTheyAre: also where the strings of a record are redacted one by one.
func TestNumbersStayWhatTheyAre(t *testing.T) {
	r := redact.New([]string{`C_KEY="result"`})
	b, err := encode(Entry{"x", json.RawMessage(`{"result":1,"n":12345678901234567890123,"f":0.10}`)}, r.Bytes)
	if err != nil || !bytes.Contains(b, []byte("12345678901234567890123")) || !bytes.Contains(b, []byte("0.10")) {
		t.Errorf("%s, %v", b, err)
	}
}

// TestARecordIsText: bytes of others that are none are replaced, and no others.
func TestARecordIsText(t *testing.T) {
	plain := func(b []byte) []byte { return b }
	for in, want := range map[string]string{"{\"a\":\"x\xffy\"}": "{\"a\":\"x\uFFFDy\"}", "{\"a\":\"ü\"}": "{\"a\":\"ü\"}"} {
		if b, err := encode(Entry{"x", json.RawMessage(in)}, plain); err != nil || string(b) != want {
			t.Errorf("%q is %q, %v", in, b, err)
		}
	}
}

// TestWhatIsMendedIsNotCalledLost: lines whose records are whole among other bytes.
func TestWhatIsMendedIsNotCalledLost(t *testing.T) {
	for name, change := range map[string]func(l [][]byte) []byte{
		"bom":   func(l [][]byte) []byte { return slices.Concat([]byte("\xEF\xBB\xBF"), l[0], l[1], l[2]) },
		"nuls":  func(l [][]byte) []byte { return slices.Concat(l[0], []byte("\x00\x00"), l[1], l[2]) },
		"glued": func(l [][]byte) []byte { return slices.Concat(bytes.TrimSuffix(l[0], []byte("\n")), l[1], l[2]) },
		"blank": func(l [][]byte) []byte { return slices.Concat(l[0], []byte("\n"), l[1], l[2]) },
	} {
		records, damage, err := Read(damaged(t, 3, change))
		if err != nil || texts(records) != "1 2 3" || damage == nil || damage.Mended != 1 || damage.Skipped+damage.Misplaced != 0 ||
			damage.Torn+damage.Missing != 0 {
			t.Errorf("%s: %q, %+v, %v", name, texts(records), damage, err)
		}
	}
}

// TestForward reads parts of a session: each record with its place, which names it among others.
func TestForward(t *testing.T) {
	dir := session(t, 5)
	text := mustRead(t, file1(dir))
	lines := bytes.SplitAfter(text, []byte("\n"))[:5]
	ends := []int64{0}
	for _, l := range lines {
		ends = append(ends, ends[len(ends)-1]+int64(len(l)))
	}
	read := func(o Ahead) (seqs []int64, err error) {
		for p, err := range Forward(dir, o) {
			if err != nil {
				return seqs, err
			}
			if p.From != ends[p.Seq-1] || p.End != ends[p.Seq] || !bytes.Equal(p.Raw, bytes.TrimSuffix(lines[p.Seq-1], []byte("\n"))) {
				t.Errorf("record %d stands from %d to %d", p.Seq, p.From, p.End)
			}
			seqs = append(seqs, p.Seq)
		}
		return seqs, nil
	}
	closed := make(chan struct{})
	close(closed)
	var begin, end int64
	odd := func(p Placed) bool { return p.Seq%2 == 1 }
	for name, c := range map[string]struct {
		o    Ahead
		want []int64
		err  error
	}{
		"all": {Ahead{}, []int64{1, 2, 3, 4, 5}, nil}, "from": {Ahead{From: ends[2]}, []int64{3, 4, 5}, nil},
		"to": {Ahead{To: ends[2]}, []int64{1, 2}, nil}, "between": {Ahead{From: ends[1], To: ends[3]}, []int64{2, 3}, nil},
		"most": {Ahead{Most: 1}, []int64{1}, nil}, "most of two": {Ahead{Most: ends[1] + 1}, []int64{1, 2}, nil},
		"wanted": {Ahead{Want: odd, Begin: &begin, End: &end}, []int64{1, 3, 5}, nil}, "done": {Ahead{Done: closed}, nil, context.Canceled},
	} {
		got, err := read(c.o)
		if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if begin != ends[4] || end != ends[5] {
		t.Errorf("the last line stands from %d to %d", begin, end)
	}
	sums := map[string]bool{}
	for i := range 5 {
		sum, err := LineSum(dir, ends[i], ends[i+1])
		if err != nil || sums[sum] {
			t.Errorf("line %d: %s, %v", i+1, sum, err)
		}
		sums[sum] = true
	}
	for _, at := range [][2]int64{{0, 0}, {-1, ends[1]}, {0, ends[1] - 1}, {ends[2], ends[1]}, {0, ends[5] + 1}} {
		if sum, err := LineSum(dir, at[0], at[1]); err == nil {
			t.Errorf("from %d to %d there is %s", at[0], at[1], sum)
		}
	}
	var damagedAt []int64
	mustWrite(t, file1(dir), slices.Concat(lines[0], []byte("junk\n"), lines[1], lines[2][:20]))
	for p, err := range Forward(dir, Ahead{Damaged: func(from int64) { damagedAt = append(damagedAt, from) }}) {
		if err != nil || p.Seq > 2 {
			t.Errorf("%d, %v", p.Seq, err)
		}
	}
	if !slices.Equal(damagedAt, []int64{ends[1]}) {
		t.Errorf("damaged at %v", damagedAt)
	}
	if _, err := OpenRecord(filepath.Join(dir, "none")); err == nil {
		t.Error("nothing is opened")
	}
	f, err := OpenRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var back []string
	whole := slices.Concat(lines[0], []byte("junk\n"), lines[1], lines[2][:20])
	for line, err := range LinesBackward(f, int64(len(whole))) {
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, string(line))
	}
	want := strings.Split(string(whole), "\n")
	slices.Reverse(want)
	if !slices.Equal(back, want) {
		t.Errorf("%q, not %q", back, want)
	}
}

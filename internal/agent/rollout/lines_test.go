package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWhatIsARecord: a line that begins as Kerf's do, or an object with a number and a type in any order.
func TestWhatIsARecord(t *testing.T) {
	const stamp = `"timestamp":"2025-01-02T03:04:05.006Z"`
	at := time.Date(2025, 1, 2, 3, 4, 5, 6e6, time.UTC)
	for line, want := range map[string]head{
		`{"seq":7,` + stamp + `,"type":"x","prev":"p"}`:                          {7, at, "x", "p"},
		`{"seq":7,` + stamp + `,"type":"x","prev":""}`:                           {7, at, "x", ""},
		fmt.Sprintf(`{"seq":%d,%s,"type":"x","prev":""}`, int64(maxSeq), stamp):  {maxSeq, at, "x", ""},
		fmt.Sprintf(`{ "seq":%d,%s,"type":"x","prev":""}`, int64(maxSeq), stamp): {maxSeq, at, "x", ""},
		`{"seq":1,"type":"x"}`:                                                        {1, time.Time{}, "x", ""},
		`{"type":"x","seq":1,"timestamp":"yesterday"}`:                                {1, time.Time{}, "x", ""},
		`{"seq":2,"timestamp":"yesterday","type":"x","prev":"p"}`:                     {2, time.Time{}, "x", "p"},
		`{"seq":2,` + stamp + `,"type":"\u0078","prev":"p"}`:                          {2, at, "x", "p"},
		`{"seq":2,` + stamp + `,"type":"x","prev":"\u0070"}`:                          {2, at, "x", "p"},
		`{"seq":2.0,` + stamp + `,"type":"x","prev":"p"}`:                             {},
		fmt.Sprintf(`{"seq":%d,%s,"type":"x","prev":""}`, int64(maxSeq)+1, stamp):     {},
		fmt.Sprintf(`{ "seq":%d,%s,"type":"x","prev":""}`, int64(maxSeq)+1, stamp):    {},
		`{"seq":0,` + stamp + `,"type":"x","prev":"p"}`:                               {},
		`{"seq":07,` + stamp + `,"type":"x","prev":"p"}`:                              {},
		`{"seq":,` + stamp + `,"type":"x","prev":"p"}`:                                {},
		`{"seq":-1,"type":"x"}`:                                                       {},
		`{"seq":` + strings.Repeat("1", 18) + `,` + stamp + `,"type":"x","prev":"p"}`: {},
		`{"seq":` + strings.Repeat("1", 40) + `,` + stamp + `,"type":"x","prev":"p"}`: {},
		`{"seq":7,` + stamp + `,"type":"","prev":"p"}`:                                {},
		`{"type":"x"}`:            {},
		`{"seq":7}`:               {},
		`{"seq":null,"type":"x"}`: {},
		`{"seq":7,` + stamp + `,"type":"x","prev":"p"`:   {},
		`{"seq":7,` + stamp + `,"type":"x","prev":"p"}}`: {},
		`{"seq":7,"type":"x"} `:                          {7, time.Time{}, "x", ""},
		` {"seq":7,"type":"x"}`:                          {},
		`[{"seq":7,"type":"x"}]`:                         {},
		``:                                               {},
		`{"seq":7,` + stamp + `,"type":"x","prev":"p","a":[1,{"b":"\"}"}],"c":null,"d":true}`: {7, at, "x", "p"},
	} {
		got, ok := parse([]byte(line))
		if ok != (want != head{}) || ok && (got.seq != want.seq || got.kind != want.kind || got.prev != want.prev || !got.time.Equal(want.time)) {
			t.Errorf("%s: %+v, %t", line, got, ok)
		}
	}
	for line, want := range map[string]bool{`{"seq":7,` + stamp + `,"type":"x","prev":"p` + `","a":"cut he`: true, `{"seq":7,` + stamp + `,"type":"x"}`: false,
		`{"seq":7,"type":"x"}`: false, `{"seq":7,` + stamp + `,"type":"x","prev":"p`: false, `{"seq":7,"timestamp":"x","type":"x","prev":"p"}`: false} {
		if r, ok := Head([]byte(line)); ok != want || ok && (r.Seq != 7 || r.Type != "x" || !r.Time.Equal(at) || r.Raw != nil) {
			t.Errorf("%s: %+v, %t", line, r, ok)
		}
	}
}

// TestTypesArePlainWords.
func TestTypesArePlainWords(t *testing.T) {
	for word, want := range map[string]bool{"": false, "az09_-.": true, "A": false, "`": false, "{": false, "/": false, ":": false, "a b": false, "é": false} {
		if plainWord(word) != want {
			t.Errorf("%q", word)
		}
	}
}

// TestRedactionLeavesAnObject: where what is left of a record is none, its texts are redacted one by one.
func TestRedactionLeavesAnObject(t *testing.T) {
	body := json.RawMessage(`{"a":"secret","n":7,"b":["x",{"secret":"y"}]}`)
	for name, left := range map[string][]byte{"nothing": nil, "a list": []byte("[]"), "a text": []byte(`"x"`), "half": []byte(`{"a":"`)} {
		b, err := encode(Entry{"x", body}, func(b []byte) []byte {
			if bytes.HasPrefix(b, []byte("{")) {
				return left
			}
			return bytes.ReplaceAll(b, []byte("secret"), []byte("-"))
		})
		if want := `{"a":"-","b":["x",{"-":"y"}],"n":7}`; err != nil || string(b) != want {
			t.Errorf("%s: %s, %v", name, b, err)
		}
	}
	b, err := encode(Entry{"x", body}, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("secret"), []byte("public")) })
	if want := strings.ReplaceAll(string(body), "secret", "public"); err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := encode(Entry{"x", body}, func(b []byte) []byte { return []byte(`{"seq":1}`) }); err == nil {
		t.Error("redaction makes a number of its own")
	}
}

// TestNamesOfDiffsThatAreTaken are passed over, also if somebody takes them meanwhile.
func TestNamesOfDiffsThatAreTaken(t *testing.T) {
	dir := session(t, 1)
	w, _, err := Extend(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, want := range []string{"diffs/001.diff", "diffs/004.diff", "diffs/005.diff"} {
		if got, err := w.SaveDiff([]byte("ours")); err != nil || got != want || string(mustRead(t, filepath.Join(dir, got))) != "ours" {
			t.Errorf("%q, %v, not %q", got, err, want)
		}
		for _, n := range []string{"002", "003"} {
			mustWrite(t, filepath.Join(dir, diffsName, n+".diff"), []byte("theirs"))
		}
	}
	if got := string(mustRead(t, filepath.Join(dir, "diffs/002.diff"))); got != "theirs" {
		t.Errorf("theirs is %q", got)
	}
}

// TestNoMarkOverDamage: a part that is damaged by the time it ends is not put in short.
func TestNoMarkOverDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "id")
	w, err := Create(dir, joined(1))
	if err != nil {
		t.Fatal(err)
	}
	say := func(kind, text string) {
		t.Helper()
		if err := w.Append(Entry{kind, said{text}}); err != nil {
			t.Fatal(err)
		}
	}
	say("compacted", "one") // nothing is before it
	if _, ok := readMark(filepath.Join(dir, markName)); ok {
		t.Error("the first record has a mark")
	}
	say("user_input", "two")
	say("compacted", "three")
	first, ok := readMark(filepath.Join(dir, markName))
	if !ok || string(first.Digest) != `"one two"` || first.Seq != 2 {
		t.Fatalf("%+v, %t", first, ok)
	}
	b := mustRead(t, file1(dir))
	b[len(b)-2] = 'X'
	mustWrite(t, file1(dir), b)
	say("compacted", "four")
	if now, ok := readMark(filepath.Join(dir, markName)); !ok || !now.at(first) {
		t.Errorf("%+v, %t", now, ok)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w, tail, damage, err := Resume(dir, joined(1))
	if err != nil || damage == nil || told(t, tail) != "one two four" {
		t.Fatalf("%q, %v, %v", told(t, tail), damage, err)
	}
	if err := errors.Join(w.Close(), Verify(dir)); err == nil {
		t.Error("the record that is gone is not missed")
	}
}

// TestLineSumsAreOfTheBeginning of a line, however long that is.
func TestLineSumsAreOfTheBeginning(t *testing.T) {
	sum := func(at int, c byte) string {
		dir := t.TempDir()
		line := bytes.Repeat([]byte("x"), sumBytes+100)
		line[at], line[len(line)-1] = c, '\n'
		mustWrite(t, file1(dir), line)
		s, err := LineSum(dir, 0, int64(len(line)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	whole := sum(0, 'x')
	if sum(0, 'y') == whole || sum(sumBytes-1, 'y') == whole || sum(sumBytes, 'y') != whole {
		t.Error("the sum is of another part")
	}
	if _, err := LineSum(t.TempDir(), 0, 1); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

package brief

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// lined writes a line to a record of its own, between two others.
func lined(t testing.TB, line []byte) (dir string, from, end int64) {
	t.Helper()
	dir = t.TempDir()
	before := `{"seq":1,"timestamp":"2026-01-01T00:00:00.000Z","type":"x","prev":"p"}` + "\n"
	all := append(append([]byte(before), line...), '\n')
	end = int64(len(all))
	all = append(all, before...)
	if err := os.WriteFile(filepath.Join(dir, "rollout.jsonl"), all, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, int64(len(before)), end
}

// nasty are parts of texts that look like something else where they are cut.
var nasty = []string{`"`, `\`, `\\`, `\"`, "\n", "\u001b[31m", "é", "日本", "\U0001F600", `","success":true,"x":"`, `{"a":[1,2`, `]}`, ",1,2,3,",
	"true,false", "x", "plain text ", `"result":"`, "\x00", "<>&", "\u2028"}

func text(r *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		part := nasty[r.IntN(len(nasty))]
		b.WriteString(strings.Repeat(part, 1+r.IntN(20)))
	}
	return b.String()
}

// TestBriefTellsNothingFalse reads long lines of calls and messages by their ends, with what is long in
// any field: each field that is told is as it stands there, or a beginning and an end of it.
func TestBriefTellsNothingFalse(t *testing.T) {
	type body struct {
		Turn    string          `json:"turn_id"`
		Name    string          `json:"name"`
		Args    json.RawMessage `json:"args"`
		Input   string          `json:"input,omitempty"`
		Result  string          `json:"result"`
		Images  []string        `json:"images,omitempty"`
		Success bool            `json:"success"`
		Saw     []any           `json:"saw,omitempty"`
		Command string          `json:"command,omitempty"`
		Exit    int             `json:"exit_code"`
	}
	joined := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		size := func() int { return []int{0, 10, 500, 9000}[r.IntN(4)] }
		args, err := json.Marshal(map[string]any{"cmd": text(r, size()), "list": []any{1, text(r, 5), nil}})
		if err != nil {
			t.Fatal(err)
		}
		b := body{Turn: "t", Name: "exec", Args: args, Input: text(r, size()/4), Result: text(r, size()+2000), Success: seed%2 == 0,
			Command: text(r, size()/8), Exit: int(seed)}
		if seed%5 == 0 {
			b.Images, b.Saw = []string{text(r, 30)}, []any{map[string]any{"path": text(r, size())}}
		}
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(b); err != nil {
			t.Fatal(err)
		}
		line := []byte(`{"seq":7,"timestamp":"2026-01-01T00:00:00.000Z","type":"tool_call","prev":"p",` + strings.TrimSpace(buf.String())[1:])
		dir, from, end := lined(t, line)
		brief, ok, err := Of(dir, from, end)
		if err != nil || !ok {
			t.Fatalf("seed %d: %t %v: %.300q", seed, ok, err, brief.Raw)
		}
		var want, got map[string]json.RawMessage
		if json.Unmarshal(line, &want) != nil || json.Unmarshal(brief.Raw, &got) != nil {
			t.Fatalf("seed %d: %.300q", seed, brief.Raw)
		}
		for name, v := range got {
			if name != brief.Field {
				if !bytes.Equal(v, want[name]) {
					t.Errorf("seed %d: %s is %.200q, want %.200q", seed, name, v, want[name])
				}
				continue
			}
			var part, all string
			if json.Unmarshal(v, &part) != nil || json.Unmarshal(want[name], &all) != nil {
				t.Fatalf("seed %d: %s is %.200q", seed, name, v)
			}
			if !brief.Joined {
				if !strings.HasPrefix(all, part) {
					t.Errorf("seed %d: %s begins with %.200q", seed, name, part)
				}
				continue
			}
			joined++
			// The text may itself have NULs: some place between two of them fits.
			fits := false
			for i := range part {
				if part[i] == 0 && strings.HasPrefix(all, part[:i]) && strings.HasSuffix(all, part[i+1:]) {
					fits = true
				}
			}
			if !fits {
				t.Errorf("seed %d: %s is %.200q, of %.200q", seed, name, part, all)
			}
		}
		for name := range want {
			if _, told := got[name]; !told && len(want[name]) < 20 && int64(len(line)) < 4*edge && (name == "turn_id" || name == "exit_code") {
				t.Errorf("seed %d: %s is not told", seed, name)
			}
		}
	}
	if joined < 100 {
		t.Errorf("only %d are joined", joined)
	}
}

// TestTextIsTheField reads fields as streams: they are what a decoder of JSON finds, also where the text is
// none that may be in JSON.
func TestTextIsTheField(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		want := strings.ToValidUTF8(text(r, 1+r.IntN(100_000)), "?")
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		args, err := json.Marshal(map[string]any{"result": text(r, 50), `"result":"`: []any{text(r, 50)}})
		if err != nil {
			t.Fatal(err)
		}
		dir, from, end := lined(t, fmt.Appendf(nil, `{"seq":7,"type":"x","args":%s,"a\"result":1,"n":-1.5e3,"result":%s,"success":true}`, args, raw))
		f, err := TextOf(dir, from, end, "result")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || string(got) != want {
			t.Errorf("seed %d: %.200q, want %.200q: %v", seed, got, want, err)
		}
		f.Close()
	}
}

// TestTextOfOddLines: a field is read where there is one, and a text that is cut or none is told.
func TestTextOfOddLines(t *testing.T) {
	cut := io.ErrUnexpectedEOF
	for line, want := range map[string]struct {
		text string
		err  error
	}{
		`{"a":"x"}`: {"", nil}, `{"result":5}`: {"", nil}, `[]`: {"", nil}, ``: {"", nil}, `{"a":1}{"result":"x"}`: {"", nil},
		`["result":"x"}`: {"", nil}, `{result":"x"}`: {"", nil}, `{"result","x"}`: {"", nil}, `{"result"`: {"", nil}, `{"res`: {"", nil},
		`{"a":[1,{"b":"]"},"x"],"result":"yes"}`: {"yes", nil}, `{"a":"\\\"","result":"yes"}`: {"yes", nil},
		`{"a":{"result":"no"},"result":"yes"}`: {"yes", nil}, `{"result":1,"result":"yes"}`: {"yes", nil},
		`{"r\"esult":"no","result":"yes"}`: {"yes", nil}, `{"` + strings.Repeat("k", 1<<10) + `":1,"result":"yes"}`: {"yes", nil},
		`{"` + strings.Repeat("k", 1<<10+1) + `":1,"result":"no"}`: {"", nil},
		`{"result":"` + strings.Repeat("x", 32<<10-1) + "é":        {strings.Repeat("x", 32<<10-1) + "é", cut}, // where a part ends
		`{"result":"` + strings.Repeat("x", 32<<10-2) + "日":        {strings.Repeat("x", 32<<10-2) + "日", cut},
		`{"result":"`: {"", cut}, `{"result":"ab`: {"ab", cut}, `{"result":"ab\`: {"ab", cut}, `{"result":"a\u`: {"a", cut}, `{"result":"a\u12`: {"a", cut},
		`{"result":"\"\\\/\b\f\n\r\t"}`: {"\"\\/\b\f\n\r\t", nil}, `{"result":"\u0041\u00e9\u2028"}`: {"Aé\u2028", nil},
		`{"result":"\ud83d\ude00"}`: {"😀", nil}, `{"result":"\ud83dx"}`: {"\uFFFDx", nil}, `{"result":"\ud83d\u0041x"}`: {"\uFFFDAx", nil},
		`{"result":"\ud83d\nxyz1"}`: {"\uFFFD\nxyz1", nil}, `{"result":"\ud83dxu1234"}`: {"\uFFFDxu1234", nil},
		`{"result":"\uzzzzx"}`: {"\uFFFDx", nil}, "{\"result\":\"\xff\xc3\"}": {"\uFFFD\uFFFD", nil}, "{\"result\":\"é\xff": {"é\uFFFD", cut},
	} {
		dir, from, end := lined(t, []byte(line))
		f, err := TextOf(dir, from, end-1, "result")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(f); string(got) != want.text || err != want.err {
			t.Errorf("%.100s: %.100q, %v, want %.100q, %v", line, got, err, want.text, want.err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := f.f.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("it is open: %v", err)
		}
	}
	if _, err := TextOf(t.TempDir(), 0, 1, "result"); err == nil {
		t.Error("there is no record")
	}
}

// TestFieldsOfCutLines: wherever a line is cut, what is told of its beginning are its first fields as they
// stand there, and the beginning of the next text.
func TestFieldsOfCutLines(t *testing.T) {
	line := []byte(`{"seq":7,"a":"x\\\"y","b":{"c":[1,"]}",{"d":"\\"}]},"e":[],"f":null,"g\u0041":-1.5,"text":"\u00e9\né日","h":true}`)
	names := []string{"seq", "a", "b", "e", "f", "gA", "text", "h"}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(line, &whole); err != nil {
		t.Fatal(err)
	}
	for cut := range len(line) + 1 {
		p := fieldsOf(line[:cut])
		for i, m := range p.fields {
			if i >= len(names) || m.name != names[i] || !bytes.Equal(m.value, whole[m.name]) {
				t.Fatalf("%s: field %d is %s, %s", line[:cut], i, m.name, m.value)
			}
		}
		// A field that is followed by a comma, or ends the object, is there; so is a text that is not whole.
		least := 0
		for i, name := range names {
			value := string(whole[name])
			if end := bytes.Index(line, []byte(value)) + len(value); i > 0 && end < cut || i == 0 && cut > 9 {
				least++
			}
		}
		if len(p.fields) < least-1 {
			t.Errorf("%s: only %d fields", line[:cut], len(p.fields))
		}
		if p.open == "" {
			continue
		}
		if len(p.fields) >= len(names) || p.open != names[len(p.fields)] || !bytes.HasPrefix(whole[p.open][1:], p.text) || !json.Valid(append(append([]byte{'"'}, p.text...), '"')) {
			t.Errorf("%s: %s begins with %q", line[:cut], p.open, p.text)
		}
		if begun := bytes.LastIndex(line[:cut], []byte(`"`+p.open+`":"`)) + len(p.open) + 4; cut-begun-len(p.text) > 5 {
			t.Errorf("%s: only %q of %s", line[:cut], p.text, p.open)
		}
	}
	if p := fieldsOf(line); len(p.fields) != len(names) || p.open != "" {
		t.Errorf("%d fields, and %s", len(p.fields), p.open)
	}
	for odd, n := range map[string]int{`{"a":1}"b":2}`: 1, `{"a":1]"b":2`: 1, `{"a" 1}`: 0, `{a:1}`: 0, `{"a":"x" "b":1}`: 1, ``: 0, `{`: 0, `{"a":"\ud8`: 0} {
		if p := fieldsOf([]byte(odd)); len(p.fields) != n {
			t.Errorf("%s: %d fields, not %d", odd, len(p.fields), n)
		}
	}
}

// TestWholeEscapes: what is told of a text ends with a whole character, and leaves out no more than it must.
func TestWholeEscapes(t *testing.T) {
	text := "a\\n\\u00e9\\\\é日😀\\\"z"
	for cut := range len(text) + 1 {
		got := wholeEscapes([]byte(text[:cut]))
		rest := text[len(got):cut]
		if !strings.HasPrefix(text, string(got)) || !utf8.Valid(got) || !json.Valid([]byte(`"`+string(got)+`"`)) || len(rest) > 5 ||
			len(rest) > 0 && rest[0] != '\\' && rest[0] < utf8.RuneSelf {
			t.Errorf("%q gives %q", text[:cut], got)
		}
	}
	for _, whole := range []string{"", "x", "é", "日", "😀", `\\`, `\u1234`} {
		if got := wholeEscapes([]byte(whole)); string(got) != whole {
			t.Errorf("%q gives %q", whole, got)
		}
	}
}

// TestEndsThatTellNothing: where it cannot be told how the end of a line is to be read, nothing is.
func TestEndsThatTellNothing(t *testing.T) {
	for _, end := range []string{"", "x", `"a":1}`, strings.Repeat(`\`, 9000), strings.Repeat(`\x`, 3000) + `","a":1}`, `plain text with no end`,
		`plain text","a":1]`, `plain text","a":1}?`, "0000000", `0000000,1,2}`} {
		if p := endOf([]byte(end)); len(p.fields) > 0 || p.inString {
			t.Errorf("%.50q: %+v", end, p)
		}
	}
	for end, want := range map[string]part{
		`some text","success":true}`:                    {fields: []member{{"success", []byte("true")}}, text: []byte("ext"), inString: true},
		`some text"}`:                                   {text: []byte("ext"), inString: true},
		`some text","a":{"b":[1,"}"]},"c":"d"}`:         {fields: []member{{"a", []byte(`{"b":[1,"}"]}`)}, {"c", []byte(`"d"`)}}, text: []byte("ext"), inString: true},
		`some text in it"]},"a":1}`:                     {fields: []member{{"a", []byte("1")}}},
		`1234567890,11],"a":"x","b":null}`:              {fields: []member{{"a", []byte(`"x"`)}, {"b", []byte("null")}}},
		`\\\\\\seven plain ones","a":1}`:                {fields: []member{{"a", []byte("1")}}, text: []byte("plain ones"), inString: true},
		strings.Repeat(`\n`, 2000) + `and then","a":1}`: {fields: []member{{"a", []byte("1")}}, text: []byte("hen"), inString: true},
	} {
		p := endOf([]byte(end))
		if p.inString != want.inString || !bytes.Equal(p.text, want.text) || fmt.Sprintf("%s", p.fields) != fmt.Sprintf("%s", want.fields) {
			t.Errorf("%.60q: %q %s %t, want %q %s %t", end, p.text, p.fields, p.inString, want.text, want.fields, want.inString)
		}
	}
}

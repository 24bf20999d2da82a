package brief

import (
	"bytes"
	"encoding/json"
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
	for line, want := range map[string]string{`{"a":"x"}`: "", `{"result":5}`: "", `[]`: "", ``: "", `{"result":"`: "", `{"result":"ab`: "ab",
		`{"result":"\ud83d\ude00\ud83dx\u12"}`: "😀\uFFFDx", `{"a":{"result":"no"},"result":"yes"}`: "yes", "{\"result\":\"\xff\xc3\"}": "\uFFFD\uFFFD"} {
		dir, from, end := lined(t, []byte(line))
		f, err := TextOf(dir, from, end-1, "result")
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(f)
		if !utf8.Valid(got) || !strings.HasPrefix(string(got), strings.TrimSuffix(want, "x")) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
		f.Close()
	}
}

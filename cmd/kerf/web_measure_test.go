//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/browser"
)

// longRecord is a session of about 1 GB that nobody had.
type longRecord struct {
	id, name string
	turns    int
	calls    int // of each turn
	// output is how many bytes the call of a turn prints.
	output func(turn, call int) int
}

var longRecords = []longRecord{
	{"01a21663-0000-7000-8000-0000000000a1", "many small turns", 400_000, 1, func(int, int) int { return 1500 }},
	{"01a21663-0000-7000-8000-0000000000a2", "few huge lines", 18, 1, func(int, int) int { return 60 << 20 }},
	{"01a21663-0000-7000-8000-0000000000a3", "many tools", 4, 7500, func(int, int) int { return 38 << 10 }},
	{"01a21663-0000-7000-8000-0000000000a4", "mixed", 5000, 3, func(turn, call int) int {
		switch {
		case turn%1000 == 999 && call == 1:
			return 30 << 20
		case turn%50 == 7 && call == 2:
			return 3 << 20
		}
		return 1 << (8 + (turn*3+call*7)%9) * 2
	}},
}

// middle is a turn in the midst of the session, and call one of its calls.
func (r longRecord) middle() (turn, call string) {
	return fmt.Sprintf("turn-%07d", r.turns/2), fmt.Sprintf("call-%d-%d", r.turns/2, r.calls/2)
}

// write makes the record in a directory of sessions, if it is not there.
func (r longRecord) write(sessions, cwd string) error {
	dir := filepath.Join(sessions, r.id)
	if _, err := os.Stat(filepath.Join(dir, "metadata.json")); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "rollout.jsonl"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	seq, at := 0, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	put := func(kind, body string) {
		seq++
		at = at.Add(200 * time.Millisecond)
		fmt.Fprintf(w, `{"seq":%d,"timestamp":"%s","type":"%s","prev":"%064x",%s}`+"\n", seq, at.Format("2006-01-02T15:04:05.000Z"),
			kind, seq*7919, body)
	}
	put("session_meta", fmt.Sprintf(`"id":"%s","cwd":%q,"model":"script-1"`, r.id, cwd))
	lines := strings.Repeat(`ok  \t\u001b[32mexample.org/thing/part\u001b[0m\t0.412s\tcoverage: 71.2%% of \"statements\"\n`, 1<<20/80)
	for n := range r.turns {
		turn := fmt.Sprintf(`"turn_id":"turn-%07d"`, n)
		put("turn_context", turn+`,"settings":{"model":"script-1"}`)
		put("user_input", fmt.Sprintf(`%s,"text":"request number%d: make the tests of part %d pass and tell what was wrong"`, turn, n, n%97))
		for c := range r.calls {
			put("tool_call", fmt.Sprintf(`%s,"round":%d,"index":0,"call_id":"call-%d-%d","name":"exec_command",`+
				`"args":{"cmd":"go test ./..."},"style":"function","result":"begin %d `, turn, c+1, n, c, c))
			w.Flush()
			// The line is not ended by put, so that its text is never in memory as a whole.
			if err := unend(f, w); err != nil {
				return err
			}
			for left := r.output(n, c); left > 0; left -= len(lines) {
				_, _ = w.WriteString(cutEscaped(lines, left))
			}
			fmt.Fprintf(w, ` end %d","success":true,"duration_ms":400,"command":"go test ./...","exit_code":0}`+"\n", c)
			if c%50 == 49 || c == r.calls-1 {
				put("token_usage", fmt.Sprintf(`%s,"round":%d,"usage":{"input_tokens":9000,"output_tokens":300}`, turn, c+1))
			}
		}
		put("assistant_message", fmt.Sprintf(`%s,"round":%d,"text":"The test of part %d was **wrong**: it is mended, answer number%d."`,
			turn, r.calls+1, n%97, n))
		put("event", turn+`,"event":"turn_completed"`)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	meta := fmt.Sprintf(`{"id":%q,"title":%q,"cwd":%q,"model":"script-1","created":"2026-01-01T00:00:00Z","updated":"2026-01-02T00:00:00Z","turns":%d}`,
		r.id, r.name, cwd, r.turns)
	return os.WriteFile(filepath.Join(dir, "metadata.json"), []byte(meta), 0o600)
}

// unend takes back the end of the line that was written last.
func unend(f *os.File, w *bufio.Writer) error {
	if err := w.Flush(); err != nil {
		return err
	}
	at, err := f.Seek(-2, 2)
	if err != nil {
		return err
	}
	return f.Truncate(at)
}

// cutEscaped is a beginning of a text of JSON, without half an escape.
func cutEscaped(text string, n int) string {
	if n >= len(text) {
		return text
	}
	if i := strings.LastIndexByte(text[:n], 'n'); i > 0 && text[i-1] == '\\' {
		return text[:i+1]
	}
	return text[:strings.LastIndex(text[:n], `\n`)+2]
}

// TestWebOfLongSessions measures pages of sessions of 1 GB. $KERF_MEASURE names the directory where they
// are kept. It fails for nothing that has to do with time: it prints a table.
//
// A cold load has a server that was just started, no outline, and nothing of the files in memory; it
// needs root. Outlined is a server that was just started, with nothing in memory but the outline kept.
func TestWebOfLongSessions(t *testing.T) {
	base := os.Getenv("KERF_MEASURE")
	if base == "" {
		t.Skip("KERF_MEASURE names no directory")
	}
	loads := 20
	if n := os.Getenv("KERF_LOADS"); n != "" {
		if err := json.Unmarshal([]byte(n), &loads); err != nil {
			t.Fatal(err)
		}
	}
	only := func(name, word string) bool { return os.Getenv(name) == "" || strings.Contains(os.Getenv(name), word) }
	v := newVictim(t)
	v.env = slices.DeleteFunc(v.env, func(e string) bool { return strings.HasPrefix(e, "KERF_HOME=") })
	env := v.env
	p := browser.Open(t)
	for _, r := range longRecords {
		if !only("KERF_RECORDS", r.name) {
			continue
		}
		v.own = filepath.Join(base, r.id) // each has a home of its own
		v.env = append(slices.Clip(env), "KERF_HOME="+v.own)
		sessions := filepath.Join(v.own, "sessions")
		if err := r.write(sessions, base); err != nil {
			t.Fatal(err)
		}
		turn, call := r.middle()
		here := "/sessions/" + r.id
		pages := []struct{ name, path, wait string }{
			{"newest", here, "true"},
			{"far by number", here + fmt.Sprint("?skip=", r.turns/2), "true"},
			{"far turn", here + "?turn=" + turn, "document.getElementById('turn-" + turn + "')"},
			{"far call", here + "?turn=" + turn + "&call=" + call, "document.getElementById('call-" + call + "')"},
			{"sessions", "/", "true"},
			{"usage", "/usage?days=0", "true"},
			{"search", "/?q=number" + fmt.Sprint(r.turns/2), "true"},
		}
		for _, state := range []string{"cold", "outlined", "warm"} {
			if !only("KERF_STATES", state) {
				continue
			}
			if state != "cold" {
				v.readWhole(t, here)
			}
			for _, page := range pages {
				if !only("KERF_PAGES", page.name) || state == "cold" && strings.HasPrefix(page.name, "far") {
					continue
				}
				first, inter := v.loads(t, p, loads, state, filepath.Join(sessions, r.id), page.path, page.wait)
				fmt.Printf("%-17s %-9s %-14s first byte %s; interactive %s\n", r.name, state, page.name, spread(first), spread(inter))
			}
		}
	}
}

// readWhole waits until the record of a session is read, and its outline kept.
func (v *victim) readWhole(t *testing.T, session string) {
	t.Run("reading", func(t *testing.T) {
		v.t = t
		in := visit(t, v.web())
		for end := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) {
			if _, text, _ := in.ask("GET", session+"/reading", "", map[string]string{"Cookie": in.cookie}); strings.Contains(text, "The record is read.") {
				return
			}
			if time.Now().After(end) {
				t.Fatal("the record is never read")
			}
		}
	})
}

// loads opens a page so many times, and tells after how many milliseconds its first byte was there, and
// after how many it could be used.
func (v *victim) loads(t *testing.T, p *browser.Page, n int, state, dir, path, wait string) (first, interactive []int) {
	forget := func() {
		_ = exec.Command("sync").Run()
		if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
			t.Fatal(err)
		}
	}
	one := func(t *testing.T, u *url.URL) {
		if state != "warm" {
			forget()
		}
		p.Go("about:blank")
		p.Go(at(u, path))
		p.Wait(ready + wait)
		times := browser.Eval[[]int](p, `(() => { const n = performance.getEntriesByType("navigation")[0];
			return [Math.round(n.responseStart), Math.round(n.domContentLoadedEventEnd)]; })()`)
		first, interactive = append(first, times[0]), append(interactive, times[1])
	}
	if state == "warm" {
		t.Run("warm", func(t *testing.T) {
			v.t = t
			u := v.web()
			p.Go(u.String())
			p.Wait(ready + `document.title.startsWith("Sessions")`)
			for range n + 1 {
				one(t, u)
			}
			first, interactive = first[1:], interactive[1:]
		})
		return first, interactive
	}
	for range n {
		t.Run(state, func(t *testing.T) {
			if state == "cold" {
				for _, name := range []string{"rollout.outline", "rollout.index", "../words.cache"} {
					_ = os.Remove(filepath.Join(dir, name))
				}
			}
			v.t = t
			u := v.web()
			p.Go(u.String())
			p.Wait(ready + `document.title.startsWith("Sessions")`)
			one(t, u)
		})
	}
	return first, interactive
}

// spread is the median, the 95th of a hundred and the most of some numbers.
func spread(list []int) string {
	if len(list) == 0 {
		return "-"
	}
	slices.Sort(list)
	return fmt.Sprintf("%4d %4d %4d", list[len(list)/2], list[min(len(list)-1, len(list)*95/100)], list[len(list)-1])
}

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/browser"
)

const readingID = "01a21663-0000-7000-8000-000000000001"

// longSession records a session of so many turns without an outline, as an older Kerf did.
func (v *victim) longSession(turns int) {
	v.t.Helper()
	dir := filepath.Join(v.own, "sessions", readingID)
	var b bytes.Buffer
	seq := 0
	put := func(kind string, fields map[string]any) {
		seq++
		body, err := json.Marshal(fields)
		if err != nil {
			v.t.Fatal(err)
		}
		fmt.Fprintf(&b, `{"seq":%d,"timestamp":"2026-01-01T00:00:00.000Z","type":"%s","prev":"%d",%s`+"\n", seq, kind, seq, body[1:])
	}
	put("session_meta", map[string]any{"id": readingID, "cwd": v.repo, "model": "script-1"})
	output := strings.Repeat("a line of output\n", 600)
	for n := range turns {
		id := fmt.Sprint("t", n)
		put("turn_context", map[string]any{"turn_id": id, "settings": map[string]any{"model": "script-1"}})
		put("user_input", map[string]any{"turn_id": id, "text": fmt.Sprintf("request %d.", n)})
		put("tool_call", map[string]any{"turn_id": id, "round": 1, "call_id": "c1", "name": "exec_command", "args": map[string]any{},
			"style": "function", "command": "make", "success": true, "result": output})
		put("assistant_message", map[string]any{"turn_id": id, "round": 2, "text": fmt.Sprintf("answer %d.", n)})
		put("token_usage", map[string]any{"turn_id": id, "round": 2, "usage": map[string]any{"input_tokens": 1000, "output_tokens": 10}})
		put("event", map[string]any{"turn_id": id, "event": "turn_completed"})
	}
	v.write(filepath.Join(dir, "rollout.jsonl"), b.String())
	v.write(filepath.Join(dir, "metadata.json"), fmt.Sprintf(`{"id":"%s","title":"a long session","cwd":%q,"model":"script-1",
		"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","turns":%d}`, readingID, v.repo, turns))
}

// TestWebShowsTheEndOfALongRecordAtOnce opens sessions whose records nobody has read: the page
// has the newest turns and says how much is read. A page of an early turn waits and goes on by
// itself; then all is there, also for the next server.
func TestWebShowsTheEndOfALongRecordAtOnce(t *testing.T) {
	const turns = 1500 // 16 MB
	v := newVictim(t)
	v.longSession(turns)
	u := v.web()
	in := visit(t, u)
	page := "/sessions/" + readingID
	ask := func(path string) string {
		t.Helper()
		code, text, _ := in.ask("GET", path, "", map[string]string{"Cookie": in.cookie, "Kerf-Part": "1"})
		if code != 200 {
			t.Errorf("%s answers %d: %.300s", path, code, text)
		}
		return text
	}
	text := ask(page)
	for _, want := range []string{fmt.Sprintf("request %d.", turns-1), fmt.Sprintf("answer %d.", turns-10), "is read for the first time: ",
		"Earlier turns"} {
		if !strings.Contains(text, want) {
			t.Errorf("the first page has no %q", want)
		}
	}
	if text := ask(page + "?skip=10"); !strings.Contains(text, fmt.Sprintf("request %d.", turns-11)) {
		t.Error("the turns before are not shown at once")
	}
	for end := time.Now().Add(runLimit); !strings.Contains(ask(page+"/reading"), "The record is read."); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the record is never read")
		}
	}
	for path, want := range map[string]string{page: "Earlier turns", page + "?turn=t0": "request 0.", page + "/cost": "price unknown",
		page + fmt.Sprint("?skip=", turns-3): "request 2.", page + "?turn=t7&call=c1": `id="call-c1"`} {
		if text := ask(path); !strings.Contains(text, want) || strings.Contains(text, "is read for the first time") {
			t.Errorf("%s has no %q: %.200s", path, want, text)
		}
	}
	outline := filepath.Join(v.own, "sessions", readingID, "rollout.outline")
	if _, err := os.Stat(outline); err != nil {
		t.Error(err)
	}
	if text := ask("/usage?days=0"); !strings.Contains(text, readingID) || strings.Contains(text, "are counted") {
		t.Errorf("the usage is %.300s", text)
	}
	next := visit(t, v.web())
	if _, text, _ := next.ask("GET", page+"?turn=t3", "", map[string]string{"Cookie": next.cookie}); !strings.Contains(text, "request 3.") {
		t.Error("the next server does not use what was read")
	}
	if err := os.Remove(outline); err != nil {
		t.Fatal(err)
	}
	u = v.web()
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	p.Wait(`document.querySelector("td[data-label=Cost]").textContent.includes("unknown")`) // told when it is known
	p.Go(at(u, page+"?turn=t0"))
	p.Wait(ready + `document.body.textContent.includes("request 0.")`)
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
}

// TestWebTellsThatItReads draws what a page says while a record is read, on each screen.
func TestWebTellsThatItReads(t *testing.T) {
	v := newVictim(t)
	v.longSession(900)
	record := filepath.Join(v.own, "sessions", readingID, "rollout.jsonl")
	f, err := os.OpenFile(record, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(40 << 30); err != nil { // a hole that takes long to read
		t.Skipf("no file of 40 GB can be made here: %v", err)
	}
	tail := strings.Repeat("\n", 1)
	for n := range 3 {
		tail += fmt.Sprintf(`{"seq":%d,"timestamp":"2026-01-01T00:00:00.000Z","type":"turn_context","prev":"x","turn_id":"last%d"}`+"\n"+
			`{"seq":%d,"timestamp":"2026-01-01T00:00:00.000Z","type":"user_input","prev":"x","turn_id":"last%d","text":"the last %d."}`+"\n",
			90000+2*n, n, 90001+2*n, n, n)
	}
	if _, err := f.WriteString(tail); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	u := v.web()
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	p.Wait(`/^reading, \d+%$/.test(document.querySelector("td[data-label=Cost]").textContent)`)
	p.Go(at(u, "/sessions/"+readingID))
	p.Wait(ready + `document.body.textContent.includes("the last 2.") && document.querySelector("[data-wait]")`)
	fits(t, p, "reading")
	p.Go(at(u, "/sessions/"+readingID+"?turn=t0"))
	p.Wait(ready + `document.title.startsWith("Reading the record")`)
	fits(t, p, "waiting")
	p.Go(at(u, "/usage?days=0"))
	p.Wait(ready + `document.body.textContent.includes("0 of 1 session")`)
	fits(t, p, "usage-reading")
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
}

// TestWebTellsOfDamage changes a line of a ledger, cuts it, and puts lines into a record that
// are none: each page that shows them says so, and where.
func TestWebTellsOfDamage(t *testing.T) {
	v := aDay(t)
	ledgers, err := filepath.Glob(filepath.Join(v.own, "workspaces", "*", "ledger.jsonl"))
	if err != nil || len(ledgers) != 1 {
		t.Fatalf("%q %v", ledgers, err)
	}
	sound, err := os.ReadFile(ledgers[0])
	if err != nil {
		t.Fatal(err)
	}
	u := v.web()
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	root := "?root=" + url.QueryEscape(v.repo)
	id := v.sessionIDs()[1]
	pages := map[string]string{"changes": "/changes", "change": "/changes/1" + root, "undo": "/undo" + root,
		"blame": "/blame" + root + "&path=README.md", "time": "/sessions/" + id + "/time"}
	told := func(state string, want *regexp.Regexp) {
		t.Helper()
		for name, path := range pages {
			p.Go(at(u, path))
			p.Wait(ready + `document.querySelector("main h1") && !document.querySelector("[data-wait]")`)
			text := p.Text(`[...document.querySelectorAll(".problem")].map(e => e.textContent).filter(t => t.startsWith("The history")).join("\n")`)
			if want == nil && text != "" || want != nil && !want.MatchString(text) {
				t.Errorf("%s, %s says %q", state, name, text)
			}
		}
		if want != nil {
			fits(t, p, "damage")
		}
	}
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(ledgers[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	told("sound", nil)
	write(bytes.Replace(sound, []byte("src/util.go"), []byte("src/evil.go"), 1))
	told("changed", regexp.MustCompile(`is not what was written: ledger\.jsonl line \d was changed.*kerf verify`))
	write(sound[:bytes.IndexByte(sound, '\n')+1])
	told("cut", regexp.MustCompile(`ledger\.jsonl line \d is missing or damaged: \d entries were written`))
	write(append([]byte(`{"seq":1}`+"\n"), sound...))
	told("added to", regexp.MustCompile(`ledger\.jsonl line \d `))
	write(sound)
	told("sound again", nil)

	record := filepath.Join(v.own, "sessions", id, "rollout.jsonl")
	b, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(b, '\n') + 1
	b = append(append(append([]byte{}, b[:first]...), "no record\n\x00\xff\n"...), b[first:]...)
	if err := os.WriteFile(record, b, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Go(at(u, "/sessions/"+id))
	p.Wait(ready + fmt.Sprintf(`document.querySelector(".problem").textContent.includes("2 lines of its record cannot be read, the first at byte %d")`, first))
	if !strings.Contains(p.Text("document.body.textContent"), "change the second line") {
		t.Error("what can be read is not shown")
	}
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
}

// TestWebSearchesInParts looks for a word in two sessions, one of them with a record of 40 GB: the page is
// there at once with what was found in the other, says how much is searched, and tells more by itself.
func TestWebSearchesInParts(t *testing.T) {
	v := newVictim(t)
	v.longSession(100)
	record := filepath.Join(v.own, "sessions", readingID, "rollout.jsonl")
	if err := os.Truncate(record, 40<<30); err != nil { // a hole that takes long to read
		t.Skipf("no file of 40 GB can be made here: %v", err)
	}
	v.did("look for request 77. of the others", ends("ok"))
	u := v.web()
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	p.Go(at(u, "/?q=request+77."))
	p.Wait(ready + `document.querySelector(".excerpt") && document.querySelector("[data-wait]")`)
	fits(t, p, "searching")
	p.Wait(`document.querySelectorAll(".excerpt").length == 2 && /Searched .* of 40.0 GB/.test(document.querySelector("[data-wait]").textContent)`)
	browser.Eval[bool](p, `(document.querySelectorAll(".excerpt")[1].parentElement.querySelector("a").focus(), window.was = document.querySelector("[data-wait]").textContent, true)`)
	p.Wait(`document.querySelector("[data-wait]").textContent != window.was`)
	if !browser.Eval[bool](p, `document.activeElement.href?.includes("turn=t77")`) {
		t.Error("the focus is lost when more is told")
	}
	in := visit(t, u)
	if code, text, _ := in.ask("GET", "/search?q=%22+%22", "", map[string]string{"Cookie": in.cookie}); code != 200 || strings.Contains(text, "Searched") {
		t.Errorf("a search for nothing answers %d: %s", code, text)
	}
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
}

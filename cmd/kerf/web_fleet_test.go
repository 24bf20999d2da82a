//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kerf/internal/testkit/browser"
)

// aFleet stands for kerf-fleet: it tells its tasks on a socket, and hands what it is sent to answer, which says what is
// wrong with it.
func aFleet(t *testing.T, tasks any, answer func(text string) (problem string)) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "f") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch problem := ""; {
		case r.Method == "GET" && r.URL.Path == "/tasks":
			_ = json.NewEncoder(w).Encode(tasks)
		case r.Method != "POST" || r.URL.Path != "/answer":
			http.NotFound(w, r)
		default:
			if problem = answer(string(body)); problem != "" {
				http.Error(w, problem, http.StatusConflict)
			}
		}
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	return socket
}

// TestWebShowsTheFleet looks at the page Fleet: tasks, what they ask, texts of others that are
// hostile, on each screen; and at what it says when nobody answers.
func TestWebShowsTheFleet(t *testing.T) {
	bad := `<script>window.owned=1</script><img src=x onerror="window.owned=1">"'` + "\u202e\x1b[31m"
	now := time.Now()
	type m = map[string]any
	tasks := []m{
		{"id": "m-1", "map": true, "phase": "running", "began": now},
		{"id": "m-1-00000", "of": "m-1", "phase": "done", "repository": "https://example.org/x.git", "began": now, "ended": now},
		{"id": "t-2", "phase": "asking", "repository": bad, "began": now, "questions": []m{
			{"id": "q1", "text": "run WITHOUT the sandbox, in /x:\nmake install\n" + bad, "reason": bad, "says": bad, "until": now}}},
		{"id": bad, "phase": bad, "repository": strings.Repeat("long", 200), "began": now},
	}
	v := newVictim(t)
	u := v.web("--fleet", aFleet(t, tasks, nil))
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	for _, screen := range screens {
		p.Size(screen.width, screen.height, screen.dark)
		p.Requests()
		p.Go(at(u, "/fleet"))
		p.Wait(ready + `document.querySelector("main h1")?.textContent == "Fleet"`)
		if wide := browser.Eval[int](p, "document.documentElement.scrollWidth"); int64(wide) > screen.width {
			t.Errorf("the page is %d wide on a screen of %d", wide, screen.width)
		}
		if n := browser.Eval[int](p, `document.querySelectorAll("tbody tr").length`); n != len(tasks) {
			t.Errorf("%d rows of %d", n, len(tasks))
		}
		if !strings.Contains(p.Text(`document.querySelector("main").innerText`), "make install\n") {
			t.Error("the page does not show what the task asks")
		}
		if browser.Eval[bool](p, "!!window.owned || document.querySelectorAll('main script, main img').length > 0") {
			t.Error("a text of a task became a part of the page")
		}
		if text := p.Text(`document.body.innerText`); strings.ContainsAny(text, "\u202e\x1b") {
			t.Error("a hidden character is on the page")
		}
		for _, problem := range p.Problems() {
			t.Error(problem)
		}
		for _, r := range p.Requests() {
			if !strings.HasPrefix(r, at(u, "/")) {
				t.Errorf("the page asks for %s", r)
			}
		}
		judged(t, p, "fleet on "+screen.name)
		p.Shot(fmt.Sprintf("fleet-%s", screen.name))
	}
}

// TestWebAnswersTheFleet answers what tasks ask, on the page: a yes, a no with words, an answer in words. What is not
// an answer to what the page shows reaches no task.
func TestWebAnswersTheFleet(t *testing.T) {
	type m = map[string]any
	var mu sync.Mutex
	var said []string
	heard := func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(said) }
	later := time.Now().Add(time.Hour)
	tasks := []m{
		{"id": "t-1", "phase": "asking", "questions": []m{
			{"id": "q1", "kind": "command", "text": "run WITHOUT the sandbox, in /x:\nmake install", "until": later},
			{"id": "q2", "kind": "question", "text": "Which port?", "until": later}}},
		{"id": "t-2", "phase": "asking", "questions": []m{
			{"id": "q3", "kind": "elicitation", "text": "a form", "until": later},
			{"id": "late", "kind": "command", "text": "true", "until": later}}},
	}
	v := newVictim(t)
	u := v.web("--control", "--fleet", aFleet(t, tasks, func(text string) string {
		mu.Lock()
		defer mu.Unlock()
		if said = append(said, text); strings.Contains(text, "late") {
			return "question late of task t-2 is answered already: no, by ann"
		}
		return ""
	}))
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	shown := func() {
		p.Go(at(u, "/fleet"))
		p.Wait(ready + `document.querySelectorAll(".question").length == 4`)
	}
	shown()
	judged(t, p, "fleet that asks")
	p.Shot("fleet-asks")
	// Enter in the words presses no button.
	question := func(n int) string { return fmt.Sprintf(`document.querySelectorAll(".question")[%d]`, n) }
	p.Wait(question(0) + `.querySelector("[name=words]").focus() === undefined`)
	p.Keys("rather not\r")
	press := func(n int, words, decision string) {
		p.Wait(fmt.Sprintf(`(window.old = true) && (%s.querySelector("[name=words]").value = %q) !== null`, question(n), words))
		p.Wait(fmt.Sprintf(`%s.querySelector("[value=%s]").click() === undefined`, question(n), decision))
	}
	again := func() {
		p.Wait(`!window.old && ` + ready + `document.title.startsWith("Fleet")`) // the page that answers
		shown()
	}
	press(0, "", "yes")
	again()
	press(0, "use the mirror", "no")
	again()
	press(1, "8080 <b>", "yes")
	again()
	want := []string{`{"task":"t-1","question":"q1","yes":true}`, `{"task":"t-1","question":"q1","yes":false,"words":"use the mirror"}`,
		`{"task":"t-1","question":"q2","yes":true,"words":"8080 \u003cb\u003e"}`}
	if got := heard(); !slices.Equal(got, want) {
		t.Errorf("the tasks were told %q", got)
	}
	if browser.Eval[bool](p, "Boolean("+question(2)+`.querySelector("[value=yes]"))`) {
		t.Error("a form that nobody filled in can be sent")
	}
	press(3, "", "yes")
	p.Wait(`document.querySelector("main")?.innerText.includes("is answered already: no, by ann")`)
	said = nil
	in := visit(t, u)
	headers := map[string]string{"Cookie": in.cookie, "Origin": "http://" + u.Host, "Content-Type": "application/x-www-form-urlencoded"}
	_, page, _ := in.ask("GET", "/fleet", "", map[string]string{"Cookie": in.cookie})
	digests := regexp.MustCompile(`name="shown" value="([0-9a-f]{64})"`).FindAllStringSubmatch(page, -1)
	if len(digests) != 4 {
		t.Fatalf("%d questions on the page", len(digests))
	}
	good := url.Values{"task": {"t-1"}, "question": {"q1"}, "shown": {digests[0][1]}, "decision": {"yes"}}
	for what, change := range map[string]url.Values{
		"what the page did not show": {"shown": {digests[1][1]}}, "nothing shown": {"shown": {""}}, "another task": {"task": {"t-2"}},
		"another question": {"question": {"q2"}}, "no decision": {"decision": {""}}, "a decision unseen": {"decision": {"always"}},
		"no words":       {"question": {"q2"}, "shown": {digests[1][1]}},
		"an empty form":  {"task": {"t-2"}, "question": {"q3"}, "shown": {digests[2][1]}},
		"a line of text": {"task": {"t-1\nt-2"}},
	} {
		form := url.Values{}
		for _, each := range []url.Values{good, change} {
			for k, val := range each {
				form[k] = val
			}
		}
		if code, text, _ := in.ask("POST", "/fleet", form.Encode(), headers); code != 400 {
			t.Errorf("%s: answers %d %.200s", what, code, text)
		}
	}
	if code, _, _ := in.ask("POST", "/fleet?"+good.Encode(), "", headers); code != 400 {
		t.Errorf("an answer in the address: %d", code)
	}
	if got := heard(); len(got) != 0 {
		t.Errorf("tasks were told %q", got)
	}
	if code, text, _ := in.ask("POST", "/fleet", good.Encode(), headers); code != 303 && code != 200 || len(heard()) != 1 {
		t.Errorf("the answer itself: %d %.200s, %q", code, text, heard())
	}
}

// TestWebWithoutAFleet has no such page; with a socket behind which nobody is, it says so.
func TestWebWithoutAFleet(t *testing.T) {
	v := newVictim(t)
	p := browser.Open(t)
	u := v.web()
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	if browser.Eval[bool](p, `!!document.querySelector("nav a[href='/fleet']")`) {
		t.Error("there is a link to a fleet that there is not")
	}
	dir, err := os.MkdirTemp("", "f")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	u = v.web("--fleet", filepath.Join(dir, "s"))
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	p.Go(at(u, "/fleet"))
	p.Wait(ready + `document.querySelector("[role=alert]")`)
	if text := p.Text(`document.querySelector("[role=alert]").textContent`); !strings.Contains(text, "is it running?") {
		t.Errorf("the page says %q", text)
	}
}

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/browser"
)

// aFleet stands for kerf-fleet: it tells its tasks on a socket.
func aFleet(t *testing.T, tasks any) (socket string) {
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
		_ = json.NewEncoder(w).Encode(tasks)
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
	u := v.web("--fleet", aFleet(t, tasks))
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

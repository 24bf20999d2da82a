//go:build unix

package main

import (
	"context"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kerf/internal/testkit/browser"
)

// ready begins a condition that waits for the script, too.
const ready = "document.documentElement.dataset.ready && "

// button is the button with these words, as JavaScript.
func button(words string) string {
	return fmt.Sprintf("[...document.querySelectorAll('main button')].find(b => b.textContent.trim() === %q)", words)
}

// TestWebTakesBackWithAConflict undoes a change in whose place the user wrote since: the
// page shows both sides, writes nothing until a way is chosen, and does then exactly what it
// showed.
func TestWebTakesBackWithAConflict(t *testing.T) {
	v := newVictim(t)
	v.write("a.txt", "one\ntwo\nthree\n")
	v.did("change it", call("read_file", map[string]any{"path": "a.txt"}),
		call("write_file", map[string]any{"path": "a.txt", "content": "one\nTWO\nthree\n"}), ends("done"))
	if got := v.read("a.txt"); got != "one\nTWO\nthree\n" {
		t.Fatalf("the agent wrote %q", got)
	}
	v.write("a.txt", "one\nTWO of the user\nthree\n")
	u := v.web("--control")
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	p.Keys("2")
	p.Wait(ready + `document.querySelector(".log [data-undo]")`)
	p.Keys("j")
	for i := 0; !browser.Eval[bool](p, `document.activeElement.matches(".log [data-nav]")`); i++ {
		if i > 20 {
			t.Fatal("j never reaches a change")
		}
		p.Keys("j")
	}
	p.Keys("u")
	p.Wait(`document.querySelector("main h2") && document.body.innerText.includes("Conflicts")`)
	text := p.Text("document.querySelector('main').innerText")
	for _, want := range []string{"a.txt", "conflict", "TWO of the user", "two"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q:\n%s", want, text)
		}
	}
	if browser.Eval[bool](p, "Boolean("+button("Undo")+")") {
		t.Error("it offers an undo that does not fit")
	}
	p.Shot("conflict")
	choose(t, p, `document.querySelector("select[name=conflicts]")`, "theirs")
	press(t, p, "Show what that would do")
	p.Wait(button("Undo"))
	if got := v.read("a.txt"); got != "one\nTWO of the user\nthree\n" {
		t.Fatalf("a page that only showed wrote %q", got)
	}

	// The user writes again, so the page is out of date: nothing is written.
	v.write("a.txt", "one\nTWO of the user, again\nthree\n")
	press(t, p, "Undo")
	p.Wait(`document.body.innerText.includes("something changed since the page was made")`)
	if got := v.read("a.txt"); got != "one\nTWO of the user, again\nthree\n" {
		t.Fatalf("an undo that the page did not show wrote %q", got)
	}
	p.Wait(button("Undo"))
	press(t, p, "Undo")
	p.Wait(`document.title.startsWith("Undone")`)
	if got := v.read("a.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("the undo wrote %q", got)
	}
	p.Go(at(u, "/undo?redo=1"))
	p.Wait(button("Redo"))
	press(t, p, "Redo")
	p.Wait(`document.title.startsWith("Redone")`)
	if got := v.read("a.txt"); got != "one\nTWO of the user, again\nthree\n" {
		t.Errorf("the redo wrote %q", got)
	}
	if list := p.Problems(); len(list) > 0 {
		t.Errorf("the browser complains: %q", list)
	}
}

// TestWebManyPressUndoAtOnce presses undo in six tabs at the same time: one does it, the others
// are told that something changed, and what an undo would do now.
func TestWebManyPressUndoAtOnce(t *testing.T) {
	v := newVictim(t)
	v.write("a.txt", "one\n")
	v.did("change it", call("read_file", map[string]any{"path": "a.txt"}),
		call("write_file", map[string]any{"path": "a.txt", "content": "two\n"}), ends("done"))
	u := v.web("--control")
	in := visit(t, u)
	headers := map[string]string{"Cookie": in.cookie}
	_, page, _ := in.ask("GET", "/undo", "", headers)
	form := url.Values{}
	_, page, _ = strings.Cut(page, `method="post"`)
	for _, f := range regexp.MustCompile(`name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		form.Set(f[1], html.UnescapeString(f[2]))
	}
	own := map[string]string{"Cookie": in.cookie, "Origin": "http://" + u.Host, "Content-Type": "application/x-www-form-urlencoded"}
	var g sync.WaitGroup
	var done, told atomic.Int32
	for range 6 {
		g.Go(func() {
			code, text, _ := in.ask("POST", "/undo", form.Encode(), own)
			switch {
			case code == 200 && strings.Contains(text, "<h1>Undone</h1>"):
				done.Add(1)
			case code == 200 && strings.Contains(text, "something changed since the page was made"):
				told.Add(1)
			default:
				t.Errorf("it answers %d: %.400s", code, text)
			}
		})
	}
	g.Wait()
	if done.Load() != 1 || told.Load() != 5 || v.read("a.txt") != "one\n" {
		t.Errorf("%d did it, %d were told; the file is %q", done.Load(), told.Load(), v.read("a.txt"))
	}
}

// served starts kerf serve with a scripted model, and returns what ends it.
func (v *victim) served(rounds ...map[string]any) func() {
	v.t.Helper()
	args := append(v.scripted(rounds...), "serve", "--detach")
	v.must(args...)
	return func() { v.must("serve", "stop") }
}

// settled notes of each question whether it came with all of its buttons off.
const settled = `window.settled = []; new MutationObserver(list => {
	for (const m of list) for (const n of m.addedNodes)
		if (n.matches?.(".question")) settled.push([...n.querySelectorAll("button:not([hidden])")].every(b => b.disabled));
}).observe(document, { childList: true, subtree: true });`

// TestWebAnswersWhatItShows watches a session while it works, sees its question whole, and
// answers it.
func TestWebAnswersWhatItShows(t *testing.T) {
	v := newVictim(t)
	v.must("trust", "--yes")
	hidden := "touch made.txt # \u202etxt.elif"
	defer v.served(call("exec_command", map[string]any{"cmd": "echo first"}), call("exec_command", map[string]any{"cmd": hidden}),
		call("write_file", map[string]any{"path": "b.txt", "content": "b\n"}), ends("All **done** now."))()
	attach := v.command(context.Background(), "attach", "--new", "--json", "-a", "untrusted", "do <i>three</i> things")
	out, err := os.Create(filepath.Join(v.base, "events"))
	if err != nil {
		t.Fatal(err)
	}
	attach.Stdout, attach.Stderr = out, out
	if err := attach.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = attach.Process.Kill(); _ = attach.Wait(); _ = out.Close() }()
	u := v.web("--control")
	p := browser.Open(t)
	p.Begin(settled)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	p.Keys("4")
	p.Wait(`document.title.startsWith("Running now")`)
	p.Wait(`document.querySelector("main [data-nav]")`) // the list renews itself
	p.Wait(ready + "true")
	p.Keys("j")
	p.Keys("\r")
	p.Wait(`document.querySelector(".question")`)
	text := p.Text("document.querySelector('.question').innerText")
	if !strings.Contains(text, "touch made.txt # <U+202E>txt.elif") || strings.Contains(text, "\u202e") {
		t.Errorf("the question does not show what will run: %q", text)
	}
	p.Shot("question")
	fits(t, p, "the question")
	if got := browser.Eval[[]bool](p, "window.settled"); len(got) == 0 || !got[0] {
		t.Error("the answer can be given at once, by a click that was meant for something else")
	}
	p.Wait("!" + button("Yes, once") + ".disabled")
	if _, err := os.Stat(filepath.Join(v.repo, "made.txt")); err == nil {
		t.Fatal("the command ran before anybody answered")
	}
	tabTo(t, p, `document.querySelector(".question [name=words]")`)
	p.Keys("rather not\r")
	time.Sleep(300 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(v.repo, "made.txt")); err == nil || !browser.Eval[bool](p, `Boolean(document.querySelector(".question"))`) {
		t.Fatal("enter behind the reason for a no allowed the command")
	}
	// An answer to a question that is not the one shown is refused.
	in := visit(t, u)
	id, shown := p.Text(`document.querySelector(".question").dataset.question`), p.Text(`document.querySelector("[name=shown]").value`)
	sid := strings.TrimPrefix(browser.Eval[string](p, "location.pathname"), "/now/")
	headers := map[string]string{"Cookie": in.cookie, "Origin": "http://" + u.Host, "Accept": "text/plain",
		"Content-Type": "application/x-www-form-urlencoded"}
	for what, form := range map[string]url.Values{
		"another text":      {"question": {id}, "shown": {strings.Repeat("0", 64)}, "decision": {"once"}},
		"no text":           {"question": {id}, "decision": {"once"}},
		"a decision unseen": {"question": {id}, "shown": {shown}, "decision": {"void"}},
		"no decision":       {"question": {id}, "shown": {shown}},
	} {
		if code, said, _ := in.ask("POST", "/now/"+sid+"/answer", form.Encode(), headers); code != 400 {
			t.Errorf("%s: answers %d %s", what, code, said)
		}
	}
	press(t, p, "Yes, once")
	p.Wait(`document.querySelector(".question")?.dataset.question !== ` + fmt.Sprintf("%q", id))
	p.Wait(`document.querySelector(".question") && !` + button("Yes, once") + ".disabled") // the change of the file
	press(t, p, "Yes, once")
	p.Wait(`document.querySelector("#state").textContent.startsWith("idle")`)
	text = p.Text("document.querySelector('main').innerText")
	for _, want := range []string{"do <i>three</i> things", "echo first", "All done now.", "Changed by this turn"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q:\n%s", want, text)
		}
	}
	p.Shot("watched")
	fits(t, p, "a session that is watched")
	if _, err := os.Stat(filepath.Join(v.repo, "made.txt")); err != nil {
		t.Error("the command that was allowed did not run")
	}
	p.Keys("/")
	p.Keys("and again")
	press(t, p, "Send")
	p.Wait(`[...document.querySelectorAll(".item.user")].some(e => e.innerText.includes("and again"))`)
	p.Go(at(u, "/sessions/"+sid))
	p.Wait(ready + `document.querySelector(".asked")`)
	if said := p.Text(`document.querySelector(".asked").textContent`); !strings.Contains(said, "Allowed by user") {
		t.Errorf("the record of the answer says %q", said)
	}
	if list := p.Problems(); len(list) > 0 {
		t.Errorf("the browser complains: %q", list)
	}
}

// TestWebByKeysAlone finds a change, looks at what undo would do, does it and reads a session,
// with keys alone.
func TestWebByKeysAlone(t *testing.T) {
	v := newVictim(t)
	v.did("write a file", call("write_file", map[string]any{"path": "a.txt", "content": "one\n"}), ends("Written."))
	u := v.web("--control")
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	on := func(selector string) func() bool {
		return func() bool { return browser.Eval[bool](p, fmt.Sprintf("document.activeElement.matches(%q)", selector)) }
	}
	until := func(key string, there func() bool) {
		t.Helper()
		for range 40 {
			if there() {
				return
			}
			p.Keys(key)
		}
		t.Fatalf("%q leads nowhere: %s", key, p.Text("document.activeElement.outerHTML"))
	}
	until("j", on("tbody [data-nav]"))
	p.Keys("\r")
	p.Wait(ready + `document.querySelector(".item.agent")`)
	until("j", on(".item.change summary[data-nav]"))
	p.Keys("\r")
	p.Wait(`!document.querySelector(".item.change details").open`) // enter opens and closes what an item holds
	p.Keys("u")
	p.Wait(ready + `location.search.includes("call=") && document.querySelector("main h1").textContent === "What undo would do"`)
	p.Keys("/")
	p.Wait(ready + `location.pathname === "/" && document.activeElement.matches("input[type=search]")`)
	p.Keys("\x1b")
	until("j", on("tbody [data-nav]"))
	p.Keys("\r")
	p.Wait(ready + `document.querySelector(".item.agent")`)
	p.Keys("?")
	p.Wait(`document.querySelector("dialog[open]")`)
	p.Keys("\x1b")
	p.Wait(`!document.querySelector("dialog[open]")`)
	p.Keys("2")
	p.Wait(ready + `document.title.startsWith("Changes")`)
	p.Keys("/")
	if !on("input[type=search]")() {
		t.Error("/ does not lead to the search")
	}
	p.Keys("2j")
	if !strings.HasSuffix(browser.Eval[string](p, `document.querySelector("input[type=search]").value`), "2j") {
		t.Error("keys in a field are taken for commands")
	}
	p.Keys("\x1b")
	until("j", on(".log [data-nav]"))
	p.Keys("u")
	p.Wait(ready + button("Undo"))
	until("\t", on("button.do"))
	p.Keys("\r")
	p.Wait(ready + `document.title.startsWith("Undone")`)
	if _, err := os.Stat(filepath.Join(v.repo, "a.txt")); err == nil {
		t.Error("the file is still there")
	}
	p.Keys("4")
	p.Wait(ready + `document.title.startsWith("Running now")`)
	p.Keys("5")
	p.Wait(`document.title.startsWith("Usage")`)
}

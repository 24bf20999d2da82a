//go:build unix

package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"kerf/internal/testkit/browser"
)

// TestWebTakesSomeLinesBack takes one of three edits of a change back: the
// others and what the user wrote since stay. An edit in whose place the user wrote is a
// conflict, and what the page did not show is not done.
func TestWebTakesSomeLinesBack(t *testing.T) {
	v := newVictim(t)
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("line %d", i+1))
	}
	text := func(changes map[int]string) string {
		out := append([]string{}, lines...)
		for i, s := range changes {
			out[i-1] = s
		}
		return strings.Join(out, "\n") + "\n"
	}
	v.write("a.txt", text(nil))
	v.did("change three lines", call("read_file", map[string]any{"path": "a.txt"}),
		call("write_file", map[string]any{"path": "a.txt", "content": text(map[int]string{5: "FIVE", 20: "<b>TWENTY</b>\u202e", 35: "THIRTY"})}),
		call("write_file", map[string]any{"path": "new.txt", "content": "new\n"}), ends("done"))
	v.write("a.txt", text(map[int]string{5: "FIVE of the user", 20: "<b>TWENTY</b>\u202e", 35: "THIRTY", 40: "the end"}))
	u := v.web("--control")
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	p.Go(at(u, "/changes/1"))
	p.Wait(ready + `[...document.querySelectorAll("main a")].some(a => a.textContent === "Take some lines back")`)
	tabTo(t, p, `[...document.querySelectorAll("main a")].find(a => a.textContent === "Take some lines back")`)
	p.Keys("\r")
	p.Wait(ready + `document.querySelectorAll("[name=edit]").length === 3`)
	if got := p.Text(`document.querySelectorAll(".edit")[1].innerText`); !strings.Contains(got, "line 20") ||
		!strings.Contains(got, "<b>TWENTY</b><U+202E>") {
		t.Errorf("the second edit shows %q", got)
	}
	p.Shot("edits")
	for range 20 {
		if browser.Eval[bool](p, `document.activeElement.matches("[name=edit][value='0.1']")`) {
			break
		}
		p.Keys("j")
	}
	p.Keys(" ")
	press(t, p, "Show what that would do")
	p.Wait(ready + `document.title.startsWith("What undo")`)
	shown := p.Text("document.querySelector('main').innerText")
	if !strings.Contains(shown, "line 20") || strings.Contains(shown, "THIRTY") || strings.Contains(shown, "FIVE") {
		t.Errorf("the plan is:\n%s", shown)
	}
	press(t, p, "Undo")
	p.Wait(ready + `document.title.startsWith("Undone")`)
	want := text(map[int]string{5: "FIVE of the user", 35: "THIRTY", 40: "the end"})
	if got := v.read("a.txt"); got != want {
		t.Errorf("the file holds\n%s", got)
	}

	p.Go(at(u, "/undo?entry=1&edit=0.0"))
	p.Wait(ready + `document.body.innerText.includes("Conflicts")`)
	if browser.Eval[bool](p, "Boolean("+button("Undo")+")") || v.read("a.txt") != want {
		t.Error("an edit in conflict is taken back")
	}
	p.Go(at(u, "/changes/2/edits"))
	p.Wait(ready + `document.body.innerText.includes("no single edits")`)
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
	in := visit(t, u)
	headers := map[string]string{"Cookie": in.cookie, "Origin": "http://" + u.Host, "Content-Type": "application/x-www-form-urlencoded"}
	for _, edit := range []string{"1.0", "-1.0", "0.-1", "0", "x", "0.99999999999999999999"} {
		if code, _, _ := in.ask("POST", "/undo", "entry=1&shown=x&edit="+url.QueryEscape(edit), headers); code != 400 {
			t.Errorf("the edit %s answers %d", edit, code)
		}
	}
	if code, _, _ := in.ask("POST", "/undo", "entry=1&edit=0.2&shown="+strings.Repeat("0", 64), headers); code != 200 || v.read("a.txt") != want {
		t.Errorf("what no page showed answers %d, and the file is %q", code, v.read("a.txt"))
	}
	// What took it back is a change of its own, and can be taken back.
	v.must("undo", "3", "--yes")
	if got := v.read("a.txt"); !strings.Contains(got, "TWENTY") {
		t.Errorf("the undo of the undo leaves\n%s", got)
	}
}

//go:build unix

package main

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"kerf/internal/testkit/browser"
)

// TestWebShowsALongDiff scrolls through a diff of 100,000 lines: however far, the page holds
// a few windows of it, and the rows are those of the file.
func TestWebShowsALongDiff(t *testing.T) {
	const lines = 100_000
	v := newVictim(t)
	v.did("write a long file", call("exec_command", map[string]any{"cmd": fmt.Sprintf("seq 1 %d > long.txt", lines)}), ends("ok"))
	u := v.web()
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	p.Go(at(u, "/changes/1"))
	p.Wait(ready + `document.querySelectorAll(".diff .r").length > 100`)
	for _, part := range []float64{0, 0.37, 0.99, 0.5, 0.01} {
		browser.Eval[bool](p, fmt.Sprintf("(scrollTo(0, document.documentElement.scrollHeight * %g), true)", part))
		p.Wait(`(() => { const m = document.elementFromPoint(400, 450)?.closest(".r"); return m && m.querySelector("code"); })()`)
		row := browser.Eval[string](p, `(() => { const m = document.elementFromPoint(400, 450).closest(".r");
			return m.querySelectorAll("i")[1].textContent + "=" + m.querySelector("code").textContent; })()`)
		n, text, _ := strings.Cut(row, "=")
		if n == "" || n != text {
			t.Errorf("at %g the row is %q", part, row)
		}
		if held := browser.Eval[int](p, `document.querySelectorAll(".diff .r").length`); held > 5000 {
			t.Errorf("at %g the page holds %d rows", part, held)
		}
	}
	if high := browser.Eval[int](p, "document.querySelector('#diff').scrollHeight"); high < lines*20 {
		t.Errorf("the diff is %d high", high)
	}
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
}

// TestWebShowsALongTurn pages through a turn of 700 commands, of which each prints much: a
// page has some of them and is small, every output can be read whole, and none is left out.
func TestWebShowsALongTurn(t *testing.T) {
	const commands = 700
	v := newVictim(t)
	var rounds []map[string]any
	for i := 0; i < commands; i += 7 {
		var items []any
		for k := range 7 {
			cmd := fmt.Sprintf("echo begin %d; seq -s, 1 2000; echo end %d", i+k, i+k)
			items = append(items, map[string]any{"call": "exec_command", "args": map[string]any{"cmd": cmd}})
		}
		rounds = append(rounds, map[string]any{"items": items})
	}
	v.did("do much", append(rounds, ends("ok"))...)
	u := v.web()
	in := visit(t, u)
	headers := map[string]string{"Cookie": in.cookie}
	path := "/sessions/" + v.sessionIDs()[0]
	seen := map[string]bool{}
	pages := 0
	session := path
	first, turn := "", ""
	for ; path != ""; pages++ {
		code, text, _ := in.ask("GET", path, "", headers)
		if code != 200 || len(text) > 2<<20 {
			t.Fatalf("%s answers %d with %d bytes", path, code, len(text))
		}
		for _, part := range strings.Split(text, "echo begin ")[1:] {
			n, _, _ := strings.Cut(part, ";")
			seen[n] = true
		}
		if id := regexp.MustCompile(`id="call-([^"]*)"`).FindStringSubmatch(text); id != nil {
			first, turn = id[1], regexp.MustCompile(`id="turn-([^"]*)"`).FindStringSubmatch(text)[1]
		}
		link := regexp.MustCompile(`<a href="([^"]*before=[^"]*)"[^>]*>Earlier items`).FindStringSubmatch(text)
		if path = ""; link != nil {
			path = html.UnescapeString(link[1])
		}
		whole := regexp.MustCompile(`<a href="([^"]*)">All of the output`).FindStringSubmatch(text)
		if whole == nil {
			t.Fatal("no output can be read whole")
		}
		if _, all, _ := in.ask("GET", html.UnescapeString(whole[1]), "", headers); !strings.Contains(all, "begin ") ||
			!strings.Contains(all, "1,2,3,") || !strings.Contains(all, "end ") {
			t.Errorf("all of the output is %.200s", all)
		}
	}
	if len(seen) != commands || pages < 4 || pages > 10 {
		t.Errorf("%d pages show %d commands", pages, len(seen))
	}
	code, text, _ := in.ask("GET", session+"?turn="+turn+"&call="+first, "", headers) // as blame leads to it
	if code != 200 || !strings.Contains(text, `id="call-`+first+`"`) || !strings.Contains(text, "Later items") {
		t.Errorf("the page of the call %s answers %d with %d bytes", first, code, len(text))
	}
}

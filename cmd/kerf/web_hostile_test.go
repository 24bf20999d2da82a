//go:build unix

package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/testkit/browser"
)

// attacks are texts that would run, load or restyle something where they are not escaped.
var attacks = []string{
	`<script>hit(1)</script>`,
	`"><script>hit(2)</script>`,
	`<img src=x onerror=hit(3)>`,
	`'"--></style></script></title></textarea><svg onload=hit(4)>`,
	`<iframe srcdoc="<script>parent.hit(5)</script>">`,
	`<a href="javascript:hit(6)" id=hit-link>x</a>`,
	`[click](javascript:hit(7))`,
	`[click](  JaVaScRiPt:hit(8))`,
	`[click](data:text/html,<script>hit(9)</script>)`,
	`![p](https://evil.example/pixel.png)`,
	`<https://evil.example/"onmouseover="hit(10)>`,
	"```\"><img src=x onerror=hit(11)>\ncode</code></pre><script>hit(12)</script>\n```",
	`<base href="https://evil.example/">`,
	`<meta http-equiv="refresh" content="0;url=https://evil.example/">`,
	`<link rel=stylesheet href="https://evil.example/x.css">`,
	`<form action="https://evil.example"><button id=hit-button>go</button></form>`,
	`{{.}} ${hit(13)} <%= 1 %>`,
	`<div style="position:fixed;inset:0;background:url(https://evil.example/bg)">`,
	"\u202egpj.exe\u2066 \u200b\u00ad hidden",
	"\x1b]0;title\x07\x1b[2J",
	`<math><mtext><table><mglyph><style><img src=x onerror=hit(14)>`,
	`&lt;script&gt;hit(15)&lt;/script&gt;`,
	"| a | b |\n|---|---|\n| <img src=x onerror=hit(16)> | [x](javascript:hit(17)) |",
	"| a | b |\n|:-:|--:|\n| x | y |",
	"- [x] <b>done</b>\n- [ ] open",
	"<details open ontoggle=hit(18)>",
	"`<img src=x onerror=hit(19)>`",
	"[ref]: javascript:hit(20)\n[ref]",
	"# <img src=x onerror=hit(21)>",
	`<x onfocus=hit(22) autofocus tabindex=1>`,
	`<svg xmlns="http:∕∕www.w3.org∕2000∕svg" onload="hit(23)">.svg`,
	"\x1b]8;;javascript:hit(24)\x07click\x1b]8;;\x07 \x1b[31;1mred\x1b[0m \u009b31mred \x1bP1$r\x1b\\ \x1b]52;c;aGl0\x07",
	`[click](jav&#x61;script:hit(25)) [click](VbScRiPt:hit(26)) [click](&#106;avascript:hit(27)) [click](javascript&colon;hit(28))`,
	"[click](java\nscript:hit(29)) [click](java\tscript:hit(31)) [click](\x01javascript:hit(32)) [click](<javascript:hit(33)>)",
	`[click](dAtA:text/html;base64,PHNjcmlwdD5oaXQoMzQpPC9zY3JpcHQ+) [click](//evil.example/x) [click](file:///etc/passwd) [click](blob:x)`,
	`![p](data:image/svg+xml,<svg onload=hit(35)>) ![p](data:image/png;base64,AA==" onerror="hit(36)) <JAVASCRIPT:hit(37)>`,
	"a\u200db\u200cc\u2060d\ufeffe\u061cf\u180eg\u200fh\u200ei \U000e0041\U000e0042\U000e007f j\u2028k\u2029l\u00adm\u034fn\u115fo\u3164p",
	`<iframe srcdoc="&lt;script&gt;parent.hit(38)&lt;/script&gt;"></iframe><embed src="javascript:hit(39)"><object data="data:text/html,x">`,
	`<noscript><p title="</noscript><img src=x onerror=hit(40)>"> <template><script>hit(41)</script></template> <!--><img src=x onerror=hit(42)>-->`,
}

// TestWebShowsHostileTextAsText puts attacks into everything that others write: prompts,
// messages of the model, its plan, file names, contents, output and diffs. On no page does
// one of them run, load something, make an element or hide what it is.
func TestWebShowsHostileTextAsText(t *testing.T) {
	v := newVictim(t)
	var plan, rounds []any
	everything := strings.Join(attacks, "\n\n")
	for i, a := range attacks {
		plan = append(plan, map[string]any{"step": a, "status": "pending"})
		name := strings.NewReplacer("/", "∕", "\n", " ", "\x00", "").Replace(a)
		if len(name) > 200 {
			name = name[:200]
		}
		v.write(filepath.Join("dir", fmt.Sprintf("%02d %s.md", i, name)), a+"\n")
		rounds = append(rounds, call("write_file", map[string]any{"path": fmt.Sprintf("new/%02d %s.html", i, strings.ToValidUTF8(
			strings.Map(func(r rune) rune {
				if r < ' ' {
					return '_'
				}
				return r
			}, name), "?")), "content": a + "\n"}))
	}
	v.write("all.txt", everything)
	list := []map[string]any{call("exec_command", map[string]any{"cmd": "cat all.txt; mv dir moved; echo '<script>hit(30)</script>' > moved/extra"}),
		call("update_plan", map[string]any{"explanation": everything, "plan": plan})}
	for _, r := range rounds {
		list = append(list, r.(map[string]any))
	}
	v.did(attacks[3]+" "+everything, append(list, ends(everything))...)
	u := v.web("--control")
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	id := v.sessionIDs()[0]
	root := "root=" + url.QueryEscape(v.repo)
	pages := []string{"/sessions/" + id + "?view=split", "/sessions/" + id + "/time?dir=moved",
		"/sessions/" + id + "/time?find=" + url.QueryEscape(attacks[2]), "/sessions/" + id + "/time?dir=" + url.QueryEscape(attacks[1]),
		"/sessions/" + id + "/time?path=" + url.QueryEscape(attacks[3]), "/undo?entry=1&edit=" + url.QueryEscape(attacks[1]), "/", "/?q=" + url.QueryEscape(attacks[3]), "/sessions/" + id, "/sessions/" + id + "/time",
		"/changes?" + root, "/changes?path=" + url.QueryEscape(attacks[1]), "/undo?" + root + "&unproven=1", "/blame?" + root + "&path=all.txt",
		"/blame?" + root, "/blame?" + root + "&path=" + url.QueryEscape(attacks[3]), "/usage", "/nowhere" + url.PathEscape(attacks[0]),
		"/changes?root=" + url.QueryEscape(attacks[3]), "/undo?conflicts=" + url.QueryEscape(attacks[1]),
		"/sessions/" + url.PathEscape(attacks[3]), "/?dir=" + url.QueryEscape(attacks[3]) + "&ended=" + url.QueryEscape(attacks[3])}
	names, err := os.ReadDir(filepath.Join(v.repo, "moved"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		pages = append(pages, "/blame?"+root+"&path="+url.QueryEscape("moved/"+n.Name()))
	}
	for n := 1; n < 6; n++ {
		pages = append(pages, fmt.Sprintf("/changes/%d?%s", n, root), fmt.Sprintf("/changes/%d?%s&view=split", n, root),
			fmt.Sprintf("/changes/%d/edits?%s", n, root))
	}
	turn := ""
	for i := 0; i < len(pages); i++ {
		path := pages[i]
		p.Requests()
		p.Problems()
		p.Go(at(u, path))
		p.Wait(ready + `document.querySelector("main h1")`)
		if found := browser.Eval[string](p, foreign); found != "" {
			t.Errorf("%s: %s", path, found)
		}
		for _, r := range p.Requests() {
			if !strings.HasPrefix(r, at(u, "/")) && !strings.HasPrefix(r, "data:") {
				t.Errorf("%s asks for %s", path, r)
			}
		}
		for _, problem := range p.Problems() {
			if !strings.Contains(problem, "404") && !strings.Contains(problem, "400") {
				t.Errorf("%s: %s", path, problem)
			}
		}
		if path == "/sessions/"+id && turn == "" {
			turn = browser.Eval[string](p, `document.querySelector(".net a").getAttribute("href")`)
			pages = append(pages, turn, turn+"&view=split")
		}
	}
	if turn == "" {
		t.Error("the session shows no diff")
	}
	in := visit(t, u)
	code, document, _ := in.ask("GET", "/sessions/"+id+"/page.html", "", map[string]string{"Cookie": in.cookie})
	if code != 200 {
		t.Fatalf("the document answers %d", code)
	}
	p.Requests()
	p.Go("file://" + v.write(filepath.Join(v.base, "document.html"), document))
	p.Wait(`document.querySelector("main h1")`)
	if found := browser.Eval[string](p, foreign); found != "" {
		t.Errorf("the document: %s", found)
	}
	for _, r := range p.Requests() {
		if !strings.HasPrefix(r, "file://"+v.base) && !strings.HasPrefix(r, "data:") {
			t.Errorf("the document asks for %s", r)
		}
	}
}

// foreign finds what no page of Kerf's has: elements, attributes and addresses that texts of
// others made, a script that ran, and characters that nobody sees.
const foreign = `(() => {
  const bad = [];
  if (window.hits) bad.push("a script ran: " + window.hits);
  for (const e of document.querySelectorAll("iframe,object,embed,base,math,x,svg:not(.chart),link:not([rel=stylesheet]):not([rel=icon]),meta[http-equiv=refresh],style,[style],audio,video"))
    if (!(e.matches(".win,#diff.diff[data-wide]") || e.matches("style") && location.protocol === "file:")) bad.push("element " + e.outerHTML.slice(0, 200));
  for (const e of document.querySelectorAll("script:not([type=module][src^='/assets/'])")) bad.push("script " + e.outerHTML.slice(0, 200));
  for (const e of document.querySelectorAll("form")) if (e.method !== "dialog" && !(e.getAttribute("action") || "").startsWith("/")) bad.push("form " + e.outerHTML.slice(0, 200));
  for (const e of document.querySelectorAll("*")) for (const a of e.attributes) if (/^on/i.test(a.name)) bad.push("handler " + a.name);
  for (const a of document.querySelectorAll("a[href]")) if (!/^(http|https|file):$/.test(a.protocol)) bad.push("link " + a.href);
  for (const i of document.querySelectorAll("img")) if (!i.src.startsWith("data:image/")) bad.push("picture " + i.src);
  const hidden = /[\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u001b\u0007\u009b\u{e0000}-\u{e007f}]/u.exec(document.body.textContent + document.title);
  if (hidden) bad.push("a hidden character: " + hidden[0].codePointAt(0).toString(16));
  return bad.join("; ").slice(0, 2000);
})()`

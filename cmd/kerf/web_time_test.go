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

// TestWebShowsTheTreeAtAnyMoment moves the slider through a session that made, changed, moved
// and deleted files: the tree has at each moment the files that were there, those that nobody
// changed among them, in pages, and shows each as it was.
func TestWebShowsTheTreeAtAnyMoment(t *testing.T) {
	v := newVictim(t)
	v.write(".gitignore", "ignored/\n")
	v.write("ignored/x.txt", "x\n")
	v.write("keep.txt", "kept as it is\n")
	v.write("dir/a.txt", "a\n")
	v.write("dir/b.txt", "b\n")
	for i := range 450 {
		v.write(fmt.Sprintf("many/%03d.txt", i), "x\n")
	}
	v.write(filepath.Join(v.base, "outside.txt"), "outside\n")
	v.did("make a file", call("write_file", map[string]any{"path": "new.txt", "content": "first\n"}), ends("1"))
	first := v.sessionIDs()[0]
	v.did("change it", call("exec_command", map[string]any{"cmd": "echo second > new.txt"}), ends("2"))
	v.did("delete one", call("exec_command", map[string]any{"cmd": "rm dir/b.txt"}), ends("3"))
	v.did("move it", call("exec_command", map[string]any{"cmd": "mv new.txt dir/moved.txt"}), ends("4"))
	u := v.web()
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	names := `[...document.querySelectorAll("ul[aria-label='Files of the tree'] a")].map(a => a.textContent).join(" ")`
	shows := func(want string) { p.Wait(names + fmt.Sprintf(" === %q", want)) }
	click := func(name string) {
		tabTo(t, p, fmt.Sprintf(`[...document.querySelectorAll("[data-moment]")].findLast(a => a.textContent === %q)`, name))
		p.Keys("\r")
	}
	holds := func(want string) {
		p.Wait(fmt.Sprintf(`document.querySelector(".code")?.innerText.includes(%q)`, want))
	}
	p.Go(at(u, "/sessions/"+first+"/time"))
	p.Wait(ready + `document.querySelector("#at")`)
	shows("dir/ many/ .gitignore keep.txt")
	p.Shot("tree")
	click("keep.txt")
	holds("kept as it is")
	click("dir/")
	shows("a.txt moved.txt")
	click("moved.txt")
	holds("second")
	tabTo(t, p, `document.querySelector("#at")`)
	left := func() { p.Keys(keyLeft) }
	left()
	shows("a.txt")
	left()
	shows("a.txt b.txt")
	click("b.txt")
	holds("b")
	click("all")
	shows("dir/ many/ .gitignore keep.txt new.txt")
	click("new.txt")
	holds("second")
	tabTo(t, p, `document.querySelector("#at")`)
	left()
	holds("first")
	left()
	shows("dir/ many/ .gitignore keep.txt")
	p.Wait(`document.querySelector("main").innerText.includes("There was no such file at this moment.")`)

	click("many/")
	p.Wait(names + `.split(" ").length === 200`)
	click("1 to 200; more")
	p.Wait(names + `.startsWith("200.txt ")`)
	click("201 to 400; more")
	p.Wait(names + `.split(" ").length === 50`)
	p.Keys("/")
	if !browser.Eval[bool](p, `(document.activeElement.value = "", document.activeElement.matches("[name=find]"))`) {
		t.Error("/ does not lead to the search")
	}
	p.Keys("dir/")
	shows("dir/a.txt dir/b.txt")
	p.Size(360, 740, true)
	p.Shot("tree-phone")
	if wide := browser.Eval[int](p, "document.documentElement.scrollWidth"); wide > 360 {
		t.Errorf("the page is %d wide on a phone", wide)
	}
	if list := p.Problems(); len(list) > 0 {
		t.Errorf("the browser complains: %q", list)
	}

	in := visit(t, u)
	for _, path := range []string{"../outside.txt", filepath.Join(v.base, "outside.txt"), "dir/../../outside.txt", "/etc/hostname"} {
		code, text, _ := in.ask("GET", "/sessions/"+first+"/time?path="+url.QueryEscape(path), "", map[string]string{"Cookie": in.cookie})
		if code != 404 || strings.Contains(text, "outside\n") {
			t.Errorf("%s: answers %d", path, code)
		}
	}
	if err := os.Symlink(filepath.Join(v.base, "outside.txt"), filepath.Join(v.repo, "link")); err != nil {
		t.Fatal(err)
	}
	if _, text, _ := in.ask("GET", "/sessions/"+first+"/time?path=link", "", map[string]string{"Cookie": in.cookie}); strings.Contains(text, "<code>outside") {
		t.Error("a link leads out of the workspace")
	}
}

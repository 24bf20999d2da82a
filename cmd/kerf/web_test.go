//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/browser"
)

// call is a round in which a scripted model calls one tool.
func call(tool string, args map[string]any) map[string]any {
	return map[string]any{"items": []any{map[string]any{"call": tool, "args": args}}}
}

// ends is a round in which it ends the turn.
func ends(text string) map[string]any {
	return map[string]any{"items": []any{map[string]any{"message": text}},
		"usage": map[string]any{"input_tokens": 12_000, "cached_input_tokens": 9_000, "output_tokens": 800}}
}

// scripted is the configuration of a model that plays rounds.
func (v *victim) scripted(rounds ...map[string]any) []string {
	v.t.Helper()
	b, err := json.Marshal(map[string]any{"version": 1, "rounds": rounds})
	if err != nil {
		v.t.Fatal(err)
	}
	f, err := os.CreateTemp(v.base, "rounds-*.json")
	if err != nil {
		v.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		v.t.Fatal(err)
	}
	return []string{"-c", "model=script-1", "-c", "model_provider=s", "-c", "model_providers.s.name=s", "-c",
		"model_providers.s.wire_api=script", "-c", "model_providers.s.base_url=" + f.Name()}
}

// did lets a scripted model work in the repository, without a sandbox.
func (v *victim) did(prompt string, rounds ...map[string]any) {
	v.t.Helper()
	args := append(v.scripted(rounds...), "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", "-a", "never", prompt)
	v.must(args...)
}

// read is a file of the repository.
func (v *victim) read(name string) string {
	v.t.Helper()
	b, err := os.ReadFile(filepath.Join(v.repo, name))
	if err != nil {
		v.t.Fatal(err)
	}
	return string(b)
}

// web starts kerf web and returns the address that it printed.
func (v *victim) web(args ...string) *url.URL {
	v.t.Helper()
	cmd := v.command(context.Background(), append([]string{"web"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { v.ended(cmd) })
	said := make(chan string, 1)
	go func() { // ends with the program
		line, _ := bufio.NewReader(out).ReadString('\n')
		said <- line
	}()
	select {
	case line := <-said:
		u, err := url.Parse(strings.TrimSpace(line))
		if err != nil || u.Host == "" {
			v.t.Fatalf("kerf web printed %q", line)
		}
		return u
	case <-time.After(runLimit):
		v.t.Fatal("kerf web prints no address")
	}
	return nil
}

// sessionIDs are those of the recorded sessions, newest first.
func (v *victim) sessionIDs() []string {
	v.t.Helper()
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(v.must("sessions", "list", "--json").out), &list); err != nil {
		v.t.Fatal(err)
	}
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

// aDay is a repository with two sessions, an edit of somebody else and an undo.
func aDay(t *testing.T) *victim {
	v := newVictim(t)
	v.write("README.md", "# Things\n\nOne.\nTwo.\nThree.\n")
	v.did("write a program", call("exec_command", map[string]any{"cmd": "mkdir -p src && printf 'package main\\n\\n" +
		"// main greets.\\nfunc main() {\\n\\tprintln(\"hi\", 42)\\n}\\n' > src/main.go && ls src"}),
		call("update_plan", map[string]any{"explanation": "two steps", "plan": []any{
			map[string]any{"step": "write it", "status": "completed"}, map[string]any{"step": "test it", "status": "in_progress"}}}),
		call("write_file", map[string]any{"path": "src/util.go", "content": "package main\n\nfunc twice(n int) int { return 2 * n }\n"}),
		ends("I **made** two files:\n\n- `src/main.go`\n- `src/util.go`\n\n```go\nfunc main() {}\n```\n\n| file | lines |\n|---|---|\n| main | 6 |\n"))
	v.did("change the second line", call("exec_command", map[string]any{"cmd": "sed -i 's/^Two\\./Two and more./' README.md; exit 3"}),
		ends("Done."))
	v.write("README.md", "# Things\n\nOne.\nTwo and more, said the user.\nThree.\n")
	v.did("look again", call("exec_command", map[string]any{"cmd": "cat README.md"}), ends("I looked."))
	return v
}

// at is an address of the server.
func at(u *url.URL, path string) string { return "http://" + u.Host + path }

// webPages are addresses of every kind of page that a day has, by name.
func (v *victim) webPages() map[string]string {
	ids := v.sessionIDs()
	root := "?root=" + url.QueryEscape(v.repo)
	return map[string]string{"sessions": "/", "session": "/sessions/" + ids[2], "time": "/sessions/" + ids[1] + "/time",
		"moment":  "/sessions/" + ids[1] + "/time?at=1&path=" + url.QueryEscape(v.repo+"/README.md"),
		"changes": "/changes", "change": "/changes/2" + root, "split": "/changes/2" + root + "&view=split",
		"edits": "/changes/3/edits" + root, "session-split": "/sessions/" + ids[2] + "?view=split", "undo": "/undo" + root,
		"conflict": "/undo" + root + "&unproven=1&session=" + ids[1], "blame": "/blame" + root,
		"blamed": "/blame" + root + "&path=src/main.go", "usage": "/usage", "now": "/now", "search": "/?q=program"}
}

// screens are windows in which pages are looked at.
var screens = []struct {
	name          string
	width, height int64
	dark          bool
}{{"wide", 1200, 800, false}, {"dark", 1200, 800, true}, {"phone", 360, 740, false}}

// TestWebPages looks at every page in a wide window, in the dark and on a phone: it fits, the
// browser does not complain, and nothing is asked for from elsewhere.
func TestWebPages(t *testing.T) {
	v := aDay(t)
	u := v.web()
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	pages := v.webPages()
	for _, screen := range screens {
		p.Size(screen.width, screen.height, screen.dark)
		for name, path := range pages {
			p.Requests()
			p.Go(at(u, path))
			p.Wait(ready + `document.querySelector("main h1")`)
			if wide := browser.Eval[int](p, "document.documentElement.scrollWidth"); int64(wide) > screen.width {
				t.Errorf("%s: the page is %d wide on a screen of %d", name, wide, screen.width)
			}
			if wide := p.Text(`[...document.querySelectorAll("table:not(.md table):not(.code table)")].filter(e => e.offsetWidth > innerWidth).length + ""`); screen.name == "phone" && wide != "0" {
				t.Errorf("%s: %s tables are wider than a phone", name, wide)
			}
			asked := p.Requests()
			for _, r := range asked {
				if !strings.HasPrefix(r, at(u, "/")) && !strings.HasPrefix(r, "data:") {
					t.Errorf("%s asks for %s", name, r)
				}
			}
			if len(asked) > 8 { // the page, what it is made of, and the cost of each session
				t.Errorf("%s asks %d times: %q", name, len(asked), asked)
			}
			if screen.name == "wide" {
				t.Logf("%s: %d requests; first byte, interactive and loaded after %s ms", name, len(asked), p.Text(`(() => {
					const n = performance.getEntriesByType("navigation")[0];
					return [n.responseStart, n.domInteractive, n.loadEventEnd].map(x => Math.round(x)).join(", "); })()`))
			}
			for _, problem := range p.Problems() {
				t.Errorf("%s: %s", name, problem)
			}
			p.Shot(fmt.Sprintf("%s-%s", name, screen.name))
		}
	}
}

// TestWebOpensTheBrowser lets a program stand for the one that opens pages: it is given a file
// that only the user can read, and no token; a browser that opens the file is let in. The file
// goes with the server.
func TestWebOpensTheBrowser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs xdg-open")
	}
	v := newVictim(t)
	v.write(filepath.Join(v.base, "bin", "xdg-open"), "#!/bin/sh\necho \"$#:$1\" > "+filepath.Join(v.base, "opened")+"\n")
	if err := os.Chmod(filepath.Join(v.base, "bin", "xdg-open"), 0o700); err != nil {
		t.Fatal(err)
	}
	v.env = append(v.env, "PATH="+filepath.Join(v.base, "bin")+":"+os.Getenv("PATH"))
	page := filepath.Join(v.own, "run", "web.html")
	t.Run("open", func(t *testing.T) {
		v.t = t
		u := v.web("--open")
		p := browser.Open(t)
		var given []byte
		for end := time.Now().Add(runLimit); len(given) == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			given, _ = os.ReadFile(filepath.Join(v.base, "opened"))
		}
		if got := strings.TrimSpace(string(given)); got != "1:"+page {
			t.Fatalf("the program is given %q", got)
		}
		if st, err := os.Stat(page); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("the page: %v %v", st, err)
		}
		p.Go("file://" + page)
		p.Wait(`document.title.startsWith("Sessions")`)
		if got := browser.Eval[string](p, "location.href"); got != at(u, "/") {
			t.Errorf("the browser is at %s", got)
		}
	})
	if _, err := os.Stat(page); err == nil {
		t.Error("the page is still there when the server is gone")
	}
}

// judged lets axe-core judge a page. KERF_NPM names the directory that it is installed in;
// without one nothing is judged.
func judged(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	axe, err := os.ReadFile(filepath.Join(os.Getenv("KERF_NPM"), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return
	}
	p.Inject(string(axe))
	found := browser.Eval[[]string](p, `axe.run().then(r => r.violations.flatMap(v =>
		v.nodes.map(n => v.impact + " " + v.id + ": " + n.html.slice(0, 160) + " " + n.failureSummary)))`)
	for _, f := range found {
		t.Errorf("%s: %s", name, f)
	}
}

// fits looks at a page on each screen: it is not wider, and axe-core finds nothing.
func fits(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	for _, screen := range screens {
		p.Size(screen.width, screen.height, screen.dark)
		if wide := browser.Eval[int](p, "document.documentElement.scrollWidth"); int64(wide) > screen.width {
			t.Errorf("%s is %d wide on a screen of %d", name, wide, screen.width)
		}
		p.Shot(name + "-" + screen.name)
		judged(t, p, name+" on "+screen.name)
	}
	p.Size(screens[0].width, screens[0].height, screens[0].dark)
}

// TestWebIsAccessible lets axe-core judge every page.
func TestWebIsAccessible(t *testing.T) {
	if _, err := os.Stat(filepath.Join(os.Getenv("KERF_NPM"), "node_modules", "axe-core", "axe.min.js")); err != nil {
		t.Skip("KERF_NPM names no directory with axe-core")
	}
	v := aDay(t)
	u := v.web("--control")
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	for _, screen := range screens {
		p.Size(screen.width, screen.height, screen.dark)
		for name, path := range v.webPages() {
			p.Go(at(u, path))
			p.Wait(ready + `document.querySelector("main h1")`)
			judged(t, p, name+" on "+screen.name)
		}
	}
}

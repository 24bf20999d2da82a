//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"

	"kerf/internal/testkit/browser"
)

// live starts a session below kerf serve that does what rounds say, and returns its id when
// its first turn is over.
func (v *victim) live(prompt string) string {
	v.t.Helper()
	v.must("attach", "--new", "--json", "-a", "never", prompt)
	return v.sessionIDs()[0]
}

// idle waits for a page that follows an idle session.
const idle = ready + `document.querySelector("#state")?.textContent.startsWith("idle")`

// wasSaid is that the page shows these words of the user, as JavaScript.
func wasSaid(words string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".item.user")].some(e => e.innerText.includes(%q))`, words)
}

// tell sends a message from a page that follows a session, with keys alone.
func tell(t *testing.T, p *browser.Page, words string) {
	t.Helper()
	tabTo(t, p, `document.querySelector("#steer")`)
	p.Keys(words)
	press(t, p, "Send")
}

// TestWebManyTabsFollowSessions has ten tabs of one browser follow two sessions, more than
// browsers have connections for: each shows what happens, pages open as before, and tabs that
// were closed are no longer followed.
func TestWebManyTabsFollowSessions(t *testing.T) {
	v := newVictim(t)
	v.must("trust", "--yes")
	defer v.served(ends("first"), ends("second"), ends("third"), ends("fourth"))()
	ids := []string{v.live("one"), v.live("two")}
	u := v.web("--control")
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	var tabs []*browser.Page
	for i := range 10 {
		tab := p.Tab()
		tab.Go(at(u, "/now/"+ids[i%2]))
		tab.Wait(idle)
		tabs = append(tabs, tab)
	}
	p.Go(at(u, "/changes"))
	p.Wait(ready + `document.title.startsWith("Changes")`)
	heard := func(tab *browser.Page, words string) {
		tab.Wait(wasSaid(words))
		tab.Wait(idle)
	}
	tell(t, tabs[9], "hello all")
	for i, tab := range tabs {
		if i%2 == 1 {
			heard(tab, "hello all")
		}
	}
	if browser.Eval[bool](tabs[0], `document.body.innerText.includes("hello all")`) {
		t.Error("a tab shows what another session was told")
	}
	for _, tab := range tabs[1:] {
		tab.Close()
	}
	tell(t, tabs[0], "are you there")
	heard(tabs[0], "are you there")
	tabs[0].Go(at(u, "/now/"+ids[1])) // the page before is gone, and so is the worker
	tabs[0].Wait(idle)
	for _, problem := range append(p.Problems(), tabs[0].Problems()...) {
		t.Error(problem)
	}
}

// TestWebFollowsWithoutASharedWorker takes the worker away that tabs share, or lets it not load or
// say nothing: a tab follows its session as long as it is seen, holds no connection while it is not,
// and shows what it missed when it is seen again.
func TestWebFollowsWithoutASharedWorker(t *testing.T) {
	for name, without := range map[string]string{"none": "delete window.SharedWorker",
		"not loaded": `{ const S = SharedWorker;
			window.SharedWorker = class extends S { constructor() { super("/assets/none.js"); } } }`,
		"silent": "window.SharedWorker = class { port = new MessageChannel().port1 }"} {
		t.Run(name, func(t *testing.T) { followsAlone(t, without) })
	}
}

func followsAlone(t *testing.T, without string) {
	v := newVictim(t)
	v.must("trust", "--yes")
	defer v.served(ends("first"), ends("second"), ends("third"))()
	id := v.live("one")
	u := v.web("--control")
	p := browser.Open(t)
	p.Begin(without + `; window.sources = [];
		window.EventSource = class extends EventSource { constructor(u) { super(u); sources.push(this); } };
		window.seen = (yes) => { Object.defineProperty(document, "hidden", { configurable: true, get: () => !yes });
			document.dispatchEvent(new Event("visibilitychange", { bubbles: true })); return true; };`)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	p.Go(at(u, "/now/"+id))
	p.Wait(idle)
	tell(t, p, "while seen")
	p.Wait(wasSaid("while seen"))
	p.Wait(idle)
	browser.Eval[bool](p, "seen(false)")
	if got := browser.Eval[[]int](p, "sources.map(s => s.readyState)"); len(got) != 1 || got[0] != 2 {
		t.Errorf("a tab that nobody sees has the connections %v", got)
	}
	tell(t, p, "while not seen")
	p.Wait(`document.querySelector(".result").textContent === "sent"`)
	if browser.Eval[bool](p, wasSaid("while not seen")) {
		t.Error("a tab that nobody sees follows its session")
	}
	browser.Eval[bool](p, "seen(true)")
	p.Wait(wasSaid("while not seen"))
	p.Wait(idle)
	for _, problem := range p.Problems() {
		if !strings.Contains(problem, "/assets/none.js") && !strings.Contains(problem, "Failed to fetch a worker script") {
			t.Error(problem)
		}
	}
}

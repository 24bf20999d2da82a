package main

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"kerf/internal/testkit/browser"
)

// cut stands between a browser and the server, at the same port of another address of this
// machine, so that connections can be cut.
type cut struct {
	t    *testing.T
	port string

	mu   sync.Mutex
	open []net.Conn
}

const cutAddress = "127.0.0.2"

func newCut(t *testing.T, port string) *cut {
	l, err := net.Listen("tcp", net.JoinHostPort(cutAddress, port))
	if err != nil {
		t.Fatal(err)
	}
	c := &cut{t: t, port: port}
	var g sync.WaitGroup
	g.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			g.Go(func() { c.join(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); c.all(); g.Wait() })
	return c
}

// join carries one connection until either side ends it.
func (c *cut) join(from net.Conn) {
	to, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", c.port))
	if err != nil {
		_ = from.Close()
		return
	}
	c.mu.Lock()
	c.open = append(c.open, from, to)
	c.mu.Unlock()
	var g sync.WaitGroup
	g.Go(func() { _, _ = io.Copy(to, from); _ = to.Close() })
	g.Go(func() { _, _ = io.Copy(from, to); _ = from.Close() })
	g.Wait()
}

// all cuts what is open.
func (c *cut) all() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
}

// TestWebFollowsAgainAfterACut cuts the connections of a browser two of whose tabs follow a
// session: the pages say so, connect again by themselves, and show each message once.
func TestWebFollowsAgainAfterACut(t *testing.T) {
	v := newVictim(t)
	v.must("trust", "--yes")
	defer v.served(ends("first"), ends("second"), ends("third"))()
	id := v.live("one")
	u := v.web("--control")
	between := newCut(t, u.Port())
	p := browser.OpenWith(t, "MAP "+u.Hostname()+" "+cutAddress)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	tabs := []*browser.Page{p, p.Tab()}
	for _, tab := range tabs {
		tab.Go(at(u, "/now/"+id))
		tab.Wait(idle)
	}
	tell(t, p, "before")
	const noted = `(window.states = [], new MutationObserver(() => states.push(document.querySelector("#state").textContent))
		.observe(document.querySelector("#state"), { childList: true, characterData: true, subtree: true }), true)`
	for _, tab := range tabs {
		tab.Wait(wasSaid("before"))
		tab.Wait(idle)
		browser.Eval[bool](tab, noted)
	}
	between.all()
	for _, tab := range tabs {
		tab.Wait(`states.includes("the connection is lost; trying again") && states.at(-1) === "idle"`)
	}
	tell(t, p, "after")
	for i, tab := range tabs {
		tab.Wait(wasSaid("after"))
		said := browser.Eval[[]string](tab, `[...document.querySelectorAll(".item.user .said")].map(e => e.textContent)`)
		if want := []string{"one", "before", "after"}; !slices.Equal(said, want) {
			t.Errorf("tab %d shows %q", i, said)
		}
	}
}

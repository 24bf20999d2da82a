package web

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"kerf/internal/protocol"
)

// fixed are sessions and changes that are always the same. What it does not have, no page of
// this test asks for.
type fixed struct{ Data }

func (fixed) Sessions(context.Context, SessionQuery) ([]protocol.SessionInfo, bool, error) {
	return []protocol.SessionInfo{{ID: "s1", Title: "one"}}, false, nil
}
func (fixed) Session(_ context.Context, id string) (protocol.SessionInfo, error) {
	return protocol.SessionInfo{ID: protocol.SessionID(id), Title: id, Cwd: "/w"}, nil
}
func (fixed) Outcome(context.Context, string) string              { return "completed" }
func (fixed) Cost(context.Context, string) (UsageLine, error)     { return UsageLine{Requests: 1}, nil }
func (fixed) Workspaces(context.Context) ([]string, error)        { return []string{"/w"}, nil }
func (fixed) Behind(context.Context, string, string) (int, error) { return 0, nil }
func (fixed) Usage(context.Context, int) (Usage, error) {
	return Usage{Total: UsageLine{Requests: 1}}, nil
}
func (fixed) Edits(context.Context, string, int64) ([]FileEdits, error) { return nil, nil }
func (fixed) Page(context.Context, string, int, int, Room) (Page, error) {
	return Page{Turns: []Part{{PastTurn: protocol.PastTurn{ID: "t1"}, Changes: 1}}}, nil
}
func (fixed) Reading(context.Context, string) (Reading, error) { return Reading{Enough: true}, nil }
func (fixed) Damage(context.Context, string) (Damage, error) { // it is still being looked at
	return Damage{Checking: true}, nil
}
func (fixed) Part(context.Context, string, string, Place, Room) (Part, error) {
	return Part{Changes: 1}, nil
}
func (fixed) TurnDiff(context.Context, string, string) (string, error) { return patch("a.go"), nil }
func (fixed) Entry(_ context.Context, _ string, seq int64) (Entry, error) {
	name := fmt.Sprintf("f%d.go", seq)
	return Entry{Seq: seq, Changes: []Change{{Path: "/w/" + name, Operation: "modified"}}, Diff: patch(name)}, nil
}

// patch changes one line of a file.
func patch(name string) string {
	return strings.ReplaceAll("diff --git a/F b/F\n--- a/F\n+++ b/F\n@@ -1 +1 @@\n-func F() {}\n+func F() int { return 1 }\n", "F", name)
}

// nobody is no running session.
type nobody struct{}

func (nobody) List(context.Context) ([]LiveSession, error) { return nil, nil }
func (nobody) Join(context.Context, protocol.SessionID) (protocol.Session, error) {
	return nil, protocol.ErrNoSession
}

// TestManyAskAtOnce asks for pages from many sides: each is answered with its own page. Under
// the race detector it tells what they share.
func TestManyAskAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(l.Addr(), Options{Data: fixed{}, Live: nobody{}, Log: func(line string) { t.Error(line) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	get := func(path, cookie string) (string, string) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Error(err)
			return "", ""
		}
		r.Host = strings.TrimPrefix(strings.SplitN(s.URL(), "/enter", 2)[0], "http://")
		r.Header.Set("Cookie", cookie)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return "", ""
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s answers %s: %.200s", path, res.Status, b)
		}
		set, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
		return string(b), set
	}
	_, cookie := get(s.URL()[strings.Index(s.URL(), "/enter"):], "")
	var g sync.WaitGroup
	for i := range 16 {
		g.Go(func() {
			for n := range 20 {
				seq := (i + n) % 12
				for path, want := range map[string]string{
					"/": ">one</a>", "/usage": "<h1>Usage</h1>", "/assets/app.js": "const $", "/sessions/s1/cost": "$",
					fmt.Sprintf("/changes/%d", seq):                fmt.Sprintf("f%d.go", seq),
					fmt.Sprintf("/changes/%d?q=%d", seq, n):        `data-poll="/damage?root=%2Fw"`,
					fmt.Sprintf("/changes/%d?part=1&from=0", seq):  "return",
					fmt.Sprintf("/sessions/x%d/diff?turn=t1", seq): "a.go",
					fmt.Sprintf("/sessions/x%d?view=split", seq):   fmt.Sprintf("<title>x%d", seq),
				} {
					if text, _ := get(path, cookie); !strings.Contains(text, want) {
						t.Errorf("%s has no %q: %.300s", path, want, text)
						return
					}
				}
			}
		})
	}
	g.Wait()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the server does not end")
	}
}

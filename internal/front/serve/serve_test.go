//go:build linux || darwin

package serve

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kerf/internal/front/serve/client"
	"kerf/internal/front/serve/endpoint"
	"kerf/internal/front/serve/hub"
	"kerf/internal/front/serve/message"
	"kerf/internal/protocol"
)

// echo is a session that says what it is told, a turn for each message.
type echo struct {
	id     protocol.SessionID
	ops    chan protocol.Op
	events chan protocol.Event
	once   sync.Once
}

func newEcho(id protocol.SessionID) *echo {
	e := &echo{id: id, ops: make(chan protocol.Op, 64), events: make(chan protocol.Event)}
	go e.run()
	return e
}

func (s *echo) run() {
	defer close(s.events)
	seq := uint64(0)
	tell := func(turn string, m protocol.Msg) {
		seq++
		s.events <- protocol.Event{Seq: seq, Turn: protocol.TurnID(turn), Msg: m}
	}
	tell("", protocol.SessionStarted{Session: s.id})
	n := 0
	for op := range s.ops {
		in, ok := op.(protocol.UserInput)
		if !ok {
			tell("", protocol.Warning{Message: fmt.Sprintf("%T", op)})
			continue
		}
		n++
		turn := fmt.Sprint("t", n)
		tell(turn, protocol.TurnStarted{})
		tell(turn, protocol.ItemCompleted{Item: protocol.Item{ID: protocol.ItemID(turn), Status: protocol.Completed,
			Body: protocol.AgentMessage{Text: in.Items[0].Text}}})
		tell(turn, protocol.TurnCompleted{LastMessage: in.Items[0].Text})
	}
	tell("", protocol.SessionEnded{})
}

func (s *echo) ID() protocol.SessionID        { return s.id }
func (s *echo) Events() <-chan protocol.Event { return s.events }
func (s *echo) Close() error {
	s.once.Do(func() { close(s.ops) })
	return nil
}

func (s *echo) Submit(_ context.Context, sub protocol.Submission) error {
	s.ops <- sub.Op
	return nil
}

type echoes struct {
	mu sync.Mutex
	n  int
}

func (e *echoes) Open(_ context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	if o.Settings.Model == "none" {
		return nil, &protocol.CredentialsError{Provider: "p", Err: errors.New("no key for p")}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n++
	return newEcho(cmp.Or(protocol.SessionID(o.Resume), protocol.SessionID(fmt.Sprint("s", e.n)))), nil
}

// served starts a server in a home of its own.
func served(t *testing.T) (client.Client, *endpoint.Listener) {
	t.Helper()
	return servedFor(t, 0)
}

// servedFor is served with a patience of its own.
func servedFor(t *testing.T, patience time.Duration) (client.Client, *endpoint.Listener) {
	t.Helper()
	home, err := os.MkdirTemp("", "k") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	ln, err := endpoint.Listen(home, "", "test")
	if err != nil {
		t.Fatal(err)
	}
	h := hub.New(hub.Options{Sessions: &echoes{}, Find: func(_ context.Context,
		o protocol.OpenOptions) (protocol.SessionID, error) {
		return protocol.SessionID(o.Resume), nil
	}})
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		over <- Serve(ctx, ln, Options{Hub: h, Token: ln.Endpoint.Token, Version: "test", Stop: stop,
			Patience: patience})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
		h.Close()
		if err := ln.Release(); err != nil {
			t.Error(err)
		}
		if _, err := endpoint.Find(home); !errors.Is(err, endpoint.ErrNone) {
			t.Errorf("after the end: %v", err)
		}
	})
	return client.Client{Home: home}, ln
}

// until takes events up to the end of a turn with this message.
func until(t *testing.T, s protocol.Session, message string) []protocol.Event {
	t.Helper()
	var all []protocol.Event
	for {
		select {
		case e, ok := <-s.Events():
			if !ok {
				t.Fatalf("the events ended before %q: %v", message, all)
			}
			all = append(all, e)
			if m, ok := e.Msg.(protocol.TurnCompleted); ok && m.LastMessage == message {
				return all
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q does not come; so far %v", message, all)
		}
	}
}

func say(t *testing.T, s protocol.Session, text string) {
	t.Helper()
	err := s.Submit(context.Background(), protocol.Submission{Op: protocol.UserInput{Items: []protocol.Input{{Text: text}}}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestASessionOutlivesItsFrontEnds(t *testing.T) {
	c, _ := served(t)
	ctx := context.Background()
	a, err := c.Open(ctx, protocol.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	say(t, a, "one")
	until(t, a, "one")
	b, err := c.Join(ctx, a.ID())
	if err != nil {
		t.Fatal(err)
	}
	say(t, b, "two")
	if ea, eb := until(t, a, "two"), until(t, b, "two"); ea[len(ea)-1].Seq != eb[len(eb)-1].Seq {
		t.Error("two front ends see different events")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Submit(ctx, protocol.Submission{Op: protocol.Compact{}}); err == nil {
		t.Error("a front end that left can still submit")
	}
	say(t, b, "three")
	until(t, b, "three")
	_ = b.Close()
	list, err := c.List(ctx)
	if err != nil || len(list) != 1 || list[0].ID != "s1" {
		t.Fatal(list, err)
	}
	late, err := c.Attach(ctx, "s1", 4) // behind "one"
	if err != nil {
		t.Fatal(err)
	}
	if all := until(t, late, "three"); len(all) != 6 || all[0].Seq != 5 {
		t.Errorf("%v", all)
	}
	if err := c.End(ctx, "s1"); err != nil {
		t.Fatal(err)
	}
	var last protocol.Event
	for e := range late.Events() {
		last = e
	}
	if _, ok := last.Msg.(protocol.SessionEnded); !ok {
		t.Errorf("the last event is %T", last.Msg)
	}
	if _, err := c.Attach(ctx, "s1", 0); !errors.Is(err, protocol.ErrNoSession) {
		t.Error(err)
	}
	var missing *protocol.CredentialsError
	if _, err := c.Open(ctx, protocol.OpenOptions{Settings: protocol.Settings{Model: "none"}}); !errors.As(err, &missing) {
		t.Errorf("%v", err)
	}
}

// TestNumbersOfAnEarlierOpeningMissNothing: while a front end was away its session ended, was
// opened again and counts anew. It is told so, instead of waiting for numbers that were there.
func TestNumbersOfAnEarlierOpeningMissNothing(t *testing.T) {
	c, ln := served(t)
	cut := breaking(t, c, ln)
	a, err := c.Open(t.Context(), protocol.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	say(t, a, "one")
	until(t, a, "one")
	ask := func(line string) string { // on a connection of its own: no event comes before the answer
		direct, err := net.Dial("unix", ln.Endpoint.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer direct.Close()
		talk(t, direct, hello(ln.Endpoint.Token))
		return talk(t, direct, line)
	}
	place := filepath.Join(c.Home, "run", "serve.json")
	between, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	away := strings.Replace(string(between), ln.Endpoint.Token, "not this one", 1) // so that it tries again
	if err := os.WriteFile(place, []byte(away), 0o600); err != nil {
		t.Fatal(err)
	}
	cut()
	life := func(answer string) string {
		_, after, _ := strings.Cut(answer, `"life":"`)
		id, _, _ := strings.Cut(after, `"`)
		return id
	}
	const attach = `{"jsonrpc":"2.0","id":2,"method":"kerf/attach","params":{"session":"s1","since":3,"life":%q}}`
	first := life(ask(fmt.Sprintf(attach, "")))
	ask(`{"jsonrpc":"2.0","id":3,"method":"kerf/end","params":{"session":"s1"}}`)
	again := life(ask(`{"jsonrpc":"2.0","id":4,"method":"kerf/open","params":{"options":{"resume":"s1"}}}`))
	if first == "" || again == "" || first == again {
		t.Fatalf("the lives are %q and %q", first, again)
	}
	if got := ask(fmt.Sprintf(attach, first)); !strings.Contains(got, "-32005") {
		t.Errorf("with the number of another life: %s", got)
	}
	if got := ask(fmt.Sprintf(attach, again)); !strings.Contains(got, `"life":"`+again) {
		t.Errorf("with its own: %s", got)
	}
	if err := os.WriteFile(place, between, 0o600); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for e := range a.Events() {
		kinds = append(kinds, fmt.Sprintf("%T", e.Msg))
	}
	if want := []string{"protocol.Warning", "protocol.SessionEnded"}; !slices.Equal(kinds, want) {
		t.Errorf("the front end that was away hears %q, want %q", kinds, want)
	}
}

// TestConnectionsThatBreak cuts connections at random; each front end still sees every
// event once and in order.
func TestConnectionsThatBreak(t *testing.T) {
	c, ln := served(t)
	r := rand.New(rand.NewPCG(5, 6))
	cut := breaking(t, c, ln)
	ctx := context.Background()
	a, err := c.Open(ctx, protocol.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Attach(ctx, a.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	const turns = 40
	teller, err := net.Dial("unix", ln.Endpoint.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer teller.Close()
	talk(t, teller, hello(ln.Endpoint.Token))
	go func() {
		for i := range turns {
			fmt.Fprintf(teller, `{"jsonrpc":"2.0","method":"kerf/submit","params":{"session":%q,"op":{"type":"user_input",`+
				`"items":[{"text":"m%d"}]}}}`+"\n", a.ID(), i)
			if r.IntN(3) == 0 {
				cut()
			}
		}
	}()
	for _, s := range []protocol.Session{a, b} {
		all := until(t, s, fmt.Sprint("m", turns-1))
		for i, e := range all {
			if e.Seq != uint64(i+1) {
				t.Fatalf("event %d in place %d", e.Seq, i)
			}
		}
	}
	_, _ = a.Close(), b.Close()
}

// breaking puts a socket of its own between clients and the server, and returns what cuts
// all connections of it.
func breaking(t *testing.T, c client.Client, ln *endpoint.Listener) func() {
	t.Helper()
	e := ln.Endpoint
	e.Socket = filepath.Join(c.Home, "between")
	between, err := net.Listen("unix", e.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = between.Close() })
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Home, "run", "serve.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	go func() {
		for {
			from, err := between.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", ln.Endpoint.Socket)
			if err != nil {
				_ = from.Close()
				return
			}
			mu.Lock()
			open = append(open, from, to)
			mu.Unlock()
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			_ = c.Close()
		}
		open = nil
	}
}

func hello(token string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"kerf/hello","params":{"version":%d,"token":%q}}`,
		message.Version, token)
}

// talk sends a line and returns the answer, empty when the connection ends instead.
func talk(t *testing.T, c net.Conn, line string) string {
	t.Helper()
	if _, err := fmt.Fprintln(c, line); err != nil {
		return ""
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	answer, _ := bufio.NewReader(c).ReadString('\n')
	return answer
}

// TestWhoIsLetIn: nothing happens before a right hello, whatever is sent.
func TestWhoIsLetIn(t *testing.T) {
	_, ln := served(t)
	open := `{"jsonrpc":"2.0","id":2,"method":"kerf/open","params":{"options":{}}}`
	tests := map[string]string{
		open:                           "the first message must be kerf/hello",
		"{}":                           "the first message",
		"broken":                       "the first message",
		hello("x"):                     "the token is wrong",
		hello(""):                      "the token is wrong",
		hello(ln.Endpoint.Token + "x"): "the token is wrong",
		strings.Replace(hello(ln.Endpoint.Token), `"version":1`, `"version":2`, 1): "speaks version 1 of the protocol, not 2",
		strings.Replace(hello(ln.Endpoint.Token), `}}`, `,"acp":true}}`, 1):        "does not serve editors",
		strings.Repeat("x", strangers+1):                                           "",
	}
	for line, want := range tests {
		c, err := net.Dial("unix", ln.Endpoint.Socket)
		if err != nil {
			t.Fatal(err)
		}
		if got := talk(t, c, line); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%.80s: %s", line, got)
		}
		if got := talk(t, c, open); got != "" {
			t.Errorf("%.80s: and then %s", line, got)
		}
		_ = c.Close()
	}
	st, err := os.Stat(ln.Endpoint.Socket)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if st, err = os.Stat(filepath.Dir(ln.Endpoint.Socket)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// TestWhatIsNoRequest: each is answered with an error, and the connection goes on.
func TestWhatIsNoRequest(t *testing.T) {
	_, ln := served(t)
	c, err := net.Dial("unix", ln.Endpoint.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := talk(t, c, hello(ln.Endpoint.Token)); !strings.Contains(got, `"kerf":"test"`) {
		t.Fatal(got)
	}
	for line, want := range map[string]string{
		"7":      "-32600",
		"broken": "-32700",
		`{"jsonrpc":"2.0","id":3,"method":"nosuch"}`:                                                         "-32601",
		`{"jsonrpc":"2.0","id":3,"method":"kerf/attach","params":{"session":"x"}}`:                           "-32002",
		`{"jsonrpc":"2.0","id":3,"method":"kerf/attach","params":7}`:                                         "-32602",
		`{"jsonrpc":"2.0","id":3,"method":"kerf/submit","params":{"session":"x","op":{"type":"compact"}}}`:   "-32002",
		`{"jsonrpc":"2.0","id":3,"method":"kerf/submit","params":{"session":"x","op":{"type":"nosuch"}}}`:    "-32602",
		`{"jsonrpc":"2.0","id":3,"method":"kerf/submit","params":{"session":"x"}}`:                           "-32602",
		`{"jsonrpc":"2.0","id":3,"method":"kerf/open","params":{"options":{"settings":{"model":"none"}}}}`:   "-32000",
		`{"jsonrpc":"2.0","id":3,"method":"kerf/detach","params":{"session":"x"}}`:                           "-32002",
		`{"jsonrpc":"2.0","id":3,"method":"kerf/end","params":{"session":"x"}}`:                              "-32002",
		`{"jsonrpc":"2.0","id":3,"method":"kerf/hello","params":{}}`:                                         "-32601",
		`{"jsonrpc":"2.0","method":"nosuch"}` + "\n" + `{"jsonrpc":"2.0","id":"s","method":"kerf/sessions"}`: `"result":{"sessions":[]}`,
	} {
		if got := talk(t, c, line); !strings.Contains(got, want) {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// TestOneServerForAHome, and what may stand in the place of its socket.
func TestOneServerForAHome(t *testing.T) {
	c, ln := served(t)
	if _, err := endpoint.Listen(c.Home, "", "x"); err == nil || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("a second one: %v", err)
	}
	if _, _, err := endpoint.Dial(context.Background(), t.TempDir()); !errors.Is(err, endpoint.ErrNone) {
		t.Error(err)
	}
	other, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(other)
	file := filepath.Join(other, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "is no socket", ln.Endpoint.Socket: "the socket of another program",
		"/" + strings.Repeat("x", 200): "--socket"} {
		if _, err := endpoint.Listen(other, path, "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", path, err)
		}
	}
	if b, err := os.ReadFile(file); string(b) != "mine" {
		t.Error(string(b), err)
	}
	stale := filepath.Join(other, "stale")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	next, err := endpoint.Listen(other, stale, "x")
	if err != nil {
		t.Fatal(err)
	}
	_ = next.Close()
	if err := next.Release(); err != nil {
		t.Error(err)
	}
}

// TestTheServerGoesAway: a front end is told, and what helps.
func TestTheServerGoesAway(t *testing.T) {
	c, ln := served(t)
	cut := breaking(t, c, ln)
	s, err := c.Open(context.Background(), protocol.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-s.Events()
	if err := os.Remove(filepath.Join(c.Home, "run", "serve.json")); err != nil {
		t.Fatal(err)
	}
	cut()
	var kinds []string
	for e := range s.Events() {
		kinds = append(kinds, fmt.Sprintf("%T", e.Msg))
		if w, ok := e.Msg.(protocol.Warning); ok && !strings.Contains(w.Message, "kerf resume s1") {
			t.Error(w.Message)
		}
	}
	if !slices.Equal(kinds, []string{"protocol.Warning", "protocol.SessionEnded"}) {
		t.Error(kinds)
	}
	if err := os.WriteFile(filepath.Join(c.Home, "run", "serve.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.List(context.Background()); !errors.Is(err, endpoint.ErrNone) {
		t.Errorf("a damaged file: %v", err)
	}
}

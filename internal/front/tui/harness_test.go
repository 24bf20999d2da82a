package tui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/screen"
	"kerf/internal/front/tui/style"
	"kerf/internal/front/tui/vt"
	"kerf/internal/protocol"
)

// bench is a terminal UI on a terminal emulator, with a scripted session and a clock
// that moves only when told to.
type bench struct {
	t      tester
	m      *Model
	vt     *vt.Terminal
	fake   *fakeSessions
	clock  time.Time
	timers []timer
	seq    uint64
	quit   bool
	raw    bytes.Buffer
	keep   bool // keep the raw bytes
}

// tester is what a bench needs of a test.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

type timer struct {
	at  time.Time
	msg tea.Msg
}

// fakeSessions hands out fakeSession and records what is submitted.
type fakeSessions struct {
	mu       sync.Mutex
	opened   []protocol.OpenOptions
	sessions []*fakeSession
	list     []protocol.SessionInfo
	past     map[string][]protocol.PastTurn
	fail     error
	renamed  string
}

type fakeSession struct {
	mu     sync.Mutex
	id     protocol.SessionID
	ops    []protocol.Op
	events chan protocol.Event
	closed bool
}

func (f *fakeSessions) Open(_ context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	f.opened = append(f.opened, o)
	s := &fakeSession{id: protocol.SessionID("0192-0000-session-" + strconv.Itoa(len(f.opened))),
		events: make(chan protocol.Event)}
	if o.Resume != "" {
		s.id = protocol.SessionID(o.Resume)
	}
	f.sessions = append(f.sessions, s)
	return s, nil
}

func (f *fakeSessions) List(context.Context, protocol.Filter) ([]protocol.SessionInfo, error) {
	return f.list, nil
}

func (f *fakeSessions) Transcript(_ context.Context, name string, limit int) ([]protocol.PastTurn, error) {
	past := f.past[name]
	if limit > 0 && len(past) > limit {
		past = past[len(past)-limit:]
	}
	return past, nil
}
func (f *fakeSessions) Rename(_ context.Context, _, title string) error {
	f.renamed = title
	return nil
}
func (f *fakeSessions) Archive(context.Context, string, bool) error { return nil }
func (f *fakeSessions) Delete(context.Context, string) error        { return nil }
func (f *fakeSessions) Search(context.Context, string, int) ([]protocol.Match, error) {
	return nil, nil
}

func (s *fakeSession) ID() protocol.SessionID { return s.id }
func (s *fakeSession) Submit(_ context.Context, x protocol.Submission) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the session is over")
	}
	s.ops = append(s.ops, x.Op)
	return nil
}
func (s *fakeSession) Events() <-chan protocol.Event { return s.events }
func (s *fakeSession) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.events)
	}
	return nil
}

// fakeWorkspace answers with fixed lists.
type fakeWorkspace struct {
	files    []string
	mentions []protocol.Mention
	models   []protocol.ModelInfo
	changes  []protocol.ChangeEntry
	prompts  []protocol.Prompt
	checks   []protocol.Check
}

func (d *fakeWorkspace) Files(_ context.Context, _, query string, limit int) ([]string, error) {
	var out []string
	for _, f := range d.files {
		if strings.Contains(f, query) && len(out) < limit {
			out = append(out, f)
		}
	}
	return out, nil
}
func (d *fakeWorkspace) Mentions(ctx context.Context, cwd, query string, limit int) (all []protocol.Mention, err error) {
	files, err := d.Files(ctx, cwd, query, limit)
	for _, f := range files {
		all = append(all, protocol.Mention{Text: f})
	}
	for _, m := range d.mentions {
		if strings.Contains(m.Text+m.Detail, query) {
			all = append(all, m)
		}
	}
	return all, err
}
func (d *fakeWorkspace) Models(context.Context) ([]protocol.ModelInfo, error) { return d.models, nil }
func (d *fakeWorkspace) Changes(context.Context, protocol.SessionID) ([]protocol.ChangeEntry, error) {
	return d.changes, nil
}
func (d *fakeWorkspace) Prompts(context.Context, string) ([]protocol.Prompt, error) {
	return d.prompts, nil
}
func (d *fakeWorkspace) Check(context.Context) ([]protocol.Check, error) { return d.checks, nil }

// story makes a bench whose session has started.
func story(t tester, width, height int, change ...func(*Options)) *bench {
	b := unopened(t, width, height, change...)
	b.run(b.m.Init())
	b.event("", protocol.SessionStarted{Session: b.m.session.ID,
		Settings: protocol.Settings{Model: "test-model", Effort: "medium",
			Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace, Cwd: "/work/project"}, Provider: "script"})
	return b
}

func unopened(t tester, width, height int, change ...func(*Options)) *bench {
	b := &bench{t: t, vt: vt.New(width, height), fake: &fakeSessions{},
		clock: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)}
	o := Options{Sessions: b.fake, Store: b.fake, Version: "0.0.0", Cwd: "/work/project", Out: writer{b}, Theme: "dark",
		Depth: style.Color256, Dark: true}
	for _, c := range change {
		c(&o)
	}
	b.m = newModel(o, screen.New(writer{b}, true))
	b.m.listening = false
	b.m.now = func() time.Time { return b.clock }
	b.m.later = func(d time.Duration, msg tea.Msg) tea.Cmd {
		b.timers = append(b.timers, timer{b.clock.Add(d), msg})
		return nil
	}
	b.m.runner = func(c *exec.Cmd, then func(error) tea.Msg) tea.Cmd {
		return func() tea.Msg { return then(c.Run()) }
	}
	if err := b.m.acquire(); err != nil {
		t.Fatal(err)
	}
	b.send(tea.WindowSizeMsg{Width: width, Height: height})
	return b
}

type writer struct{ b *bench }

func (w writer) Write(p []byte) (int, error) {
	if w.b.keep {
		w.b.raw.Write(p)
	}
	return w.b.vt.Write(p)
}

// run carries out a command and what follows from it, in order.
func (b *bench) run(c tea.Cmd) {
	if c == nil || b.quit {
		return
	}
	b.handle(c())
}

func (b *bench) handle(msg tea.Msg) {
	switch v := reflect.ValueOf(msg); {
	case msg == nil:
	case v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]():
		for i := range v.Len() {
			b.run(v.Index(i).Interface().(tea.Cmd))
		}
	default:
		switch msg.(type) {
		case tea.SuspendMsg:
			return
		case tea.QuitMsg:
			b.quit = true
			return
		}
		b.send(msg)
	}
}

func (b *bench) send(msg tea.Msg) {
	_, c := b.m.Update(msg)
	b.run(c)
}

// wait moves the clock and lets the timers go off.
func (b *bench) wait(d time.Duration) *bench {
	end := b.clock.Add(d)
	for {
		next := -1
		for i, x := range b.timers {
			if !x.at.After(end) && (next < 0 || x.at.Before(b.timers[next].at)) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		x := b.timers[next]
		b.timers = append(b.timers[:next:next], b.timers[next+1:]...)
		if x.at.After(b.clock) {
			b.clock = x.at
		}
		b.send(x.msg)
	}
	b.clock = end
	return b
}

// event hands events of the session over, some time apart so that each is drawn.
func (b *bench) event(turn protocol.TurnID, msgs ...protocol.Msg) *bench {
	var events []protocol.Event
	for _, m := range msgs {
		b.seq++
		events = append(events, protocol.Event{Seq: b.seq, Turn: turn, Time: b.clock, Msg: m})
	}
	b.send(eventsMsg{gen: b.m.gen, events: events})
	return b.wait(frameTime)
}

func (b *bench) agentEvent(agent protocol.SessionID, msg protocol.Msg) *bench {
	b.send(eventsMsg{gen: b.m.gen, events: []protocol.Event{{Agent: agent, Time: b.clock, Msg: msg}}})
	return b.wait(frameTime)
}

// types presses the keys of a text.
func (b *bench) types(text string) *bench {
	for _, r := range text {
		if r == '\n' {
			b.keys("shift+enter")
			continue
		}
		b.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		b.clock = b.clock.Add(20 * time.Millisecond)
	}
	return b
}

// keys presses named keys, and lets those that may answer a question stand alone.
func (b *bench) keys(names ...string) *bench {
	for _, n := range names {
		b.send(press(n))
		if b.m.alone.panel != nil {
			b.wait(panels.Rest)
		}
		b.clock = b.clock.Add(20 * time.Millisecond)
	}
	return b
}

func press(name string) tea.KeyPressMsg {
	var k tea.KeyPressMsg
	for {
		mod, rest, ok := strings.Cut(name, "+")
		if !ok || rest == "" {
			break
		}
		k.Mod |= map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}[mod]
		name = rest
	}
	codes := map[string]rune{"enter": tea.KeyEnter, "tab": tea.KeyTab, "esc": tea.KeyEscape,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome,
		"end":  tea.KeyEnd,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "f1": tea.KeyF1, "f5": tea.KeyF5, "space": tea.KeySpace}
	if c, ok := codes[name]; ok {
		k.Code = c
		if name == "space" {
			k.Text = " "
		}
		return k
	}
	k.Code = []rune(name)[0]
	if k.Mod == 0 {
		k.Text = name
	}
	return k
}

func (b *bench) paste(text string) *bench {
	b.send(tea.PasteMsg{Content: text})
	return b
}

func (b *bench) resize(w, h int) *bench {
	b.vt.Resize(w, h)
	b.send(tea.WindowSizeMsg{Width: w, Height: h})
	return b
}

// ops returns what was submitted since the last call.
func (b *bench) ops() []protocol.Op {
	b.t.Helper()
	s := b.fake.sessions[len(b.fake.sessions)-1]
	s.mu.Lock()
	defer s.mu.Unlock()
	ops := s.ops
	s.ops = nil
	return ops
}

// submitted checks what was submitted.
func (b *bench) submitted(want ...protocol.Op) *bench {
	b.t.Helper()
	if d := cmp.Diff(want, b.ops()); d != "" {
		b.t.Errorf("submitted (-want +got):\n%s", d)
	}
	return b
}

// says checks that the screen shows texts.
func (b *bench) says(texts ...string) *bench {
	b.t.Helper()
	for _, s := range texts {
		if !strings.Contains(b.vt.All(), s) {
			b.t.Errorf("%q is not on the screen:\n%s", s, b.vt.All())
		}
	}
	return b
}

func (b *bench) silent(texts ...string) *bench {
	b.t.Helper()
	for _, s := range texts {
		if strings.Contains(b.vt.Screen(), s) {
			b.t.Errorf("%q is on the screen:\n%s", s, b.vt.Screen())
		}
	}
	return b
}

// safe checks that nothing strange reached the terminal.
func (b *bench) safe() *bench {
	b.t.Helper()
	if len(b.vt.Strange) > 0 {
		b.t.Errorf("the terminal got %q", b.vt.Strange)
	}
	return b
}

// golden compares the screen with a file; -update or KERF_UPDATE writes it.
func (b *bench) golden(name string) *bench {
	b.t.Helper()
	return b.compare(name, b.vt.All())
}

// styled is golden with the styles.
func (b *bench) styled(name string) *bench {
	b.t.Helper()
	return b.compare(name, b.vt.Styled())
}

func (b *bench) compare(name, got string) *bench {
	b.t.Helper()
	b.safe()
	path := filepath.Join("testdata", "golden", name+".txt")
	if os.Getenv("KERF_UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			b.t.Fatal(err)
		}
		return b
	}
	want, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatalf("%v; KERF_UPDATE=1 writes it", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		b.t.Errorf("%s (-want +got):\n%s", path, d)
	}
	return b
}

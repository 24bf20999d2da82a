package tui

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/approval"
	"kerf/internal/front/tui/commands"
	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/input"
	"kerf/internal/front/tui/lean"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/screen"
	"kerf/internal/front/tui/status"
	"kerf/internal/front/tui/style"
	"kerf/internal/front/tui/terminal"
	"kerf/internal/protocol"
)

// frameTime is the least time between two frames that a stream asks for. Keys
// are drawn at once.
const frameTime = 33 * time.Millisecond

// Model is the state of the terminal UI. Only its Update touches it; what takes
// time is done by commands that send messages back.
type Model struct {
	o   Options
	scr *screen.Screen
	now func() time.Time
	// later sends a message after a time; tests put their own clock here.
	later func(time.Duration, tea.Msg) tea.Cmd
	// listening is off in tests that hand over the events themselves.
	listening bool
	tty       *terminal.Terminal
	calm      calm
	away      bool      // the terminal is not ours at the moment
	taken     time.Time // when it was taken back last
	runner    func(*exec.Cmd, func(error) tea.Msg) tea.Cmd

	width, height int
	theme         string
	dark          bool
	pal           *style.Palette
	focused       bool
	painted       time.Time
	lean          bool // memory goes back to the system
	ticking       bool // a frame is due
	clocking      bool // the clock of a running turn ticks
	spin          int
	scrollback    screen.Scrollback // of the alternate screen

	sess    protocol.Session
	gen     int // counts sessions, so that messages of an old one are known
	session status.Session
	// conversations are those of the session, by "", and of its sub-agents; shown is
	// the one that is looked at, of the agent viewing.
	conversations map[protocol.SessionID]*conversation.Conversation
	shown         *conversation.Conversation
	viewing       protocol.SessionID
	warned        map[string]bool

	commands  *commands.Commands
	input     *input.Input
	early     []early // sent before there was a session
	panels    []panels.Panel
	questions []*approval.Question
	waits     time.Time      // since when there are questions
	over      []panels.Panel // what the first question opened
	armed     armed
	lastKey   time.Time
	burst     burst
	alone     alone
	quiet     time.Time // until when keys may be the rest of a broken sequence

	outbox  []protocol.Submission
	sending bool
	lastOp  protocol.Op

	exit exit
	err  error
}

// exit is how the program is going to end.
type exit struct {
	closing bool
	closed  bool // the session is closed
	amiss   bool // something that was asked for could not be done
	code    int
}

// armed says which second key press would act.
type armed struct {
	key   string
	until time.Time
}

// Messages that commands send back.
type (
	eventsMsg struct {
		gen    int
		events []protocol.Event
		closed bool
	}
	openedMsg struct {
		sess  protocol.Session
		past  []protocol.PastTurn
		err   error
		first bool
	}
	sentMsg   struct{ err error }
	frameMsg  struct{}
	clockMsg  struct{ gen int }
	noticeMsg struct {
		role style.Role
		text string
	}
	runMsg     struct{ fn func() tea.Cmd }
	closeMsg   struct{}
	repaintMsg struct{}
	crashMsg   struct{ text string }
	restMsg    struct{}
)

// newModel makes the model; nothing is opened or drawn yet.
func newModel(o Options, scr *screen.Screen) *Model {
	m := &Model{o: o, scr: scr, now: time.Now, listening: true, dark: o.Dark, focused: true,
		warned: map[string]bool{}, session: status.Session{Price: o.Price, Home: o.env("HOME"), Try: o.Tries.Number(),
			Items: o.StatusItems}}
	m.later = func(d time.Duration, msg tea.Msg) tea.Cmd {
		return tea.Tick(d, func(time.Time) tea.Msg { return msg })
	}
	m.shown = conversation.New(conversation.Options{Format: m.format, Cost: m.session.Cost,
		Now: func() time.Time { return m.now() }, Lines: o.Plain,
		Changes: map[bool]string{false: o.Keymap.First("changes")}[o.Plain]})
	m.conversations = map[protocol.SessionID]*conversation.Conversation{"": m.shown}
	m.input = input.New(input.Options{History: o.History, Vi: o.Vi, Commands: commands.Choices(),
		NeedsWords: commands.NeedsWords,
		Files:      m.files()}, &m.shown.Composer)
	m.commands = commands.New(m.ui())
	m.setTheme(o.Theme)
	return m
}

// ui is what commands know of the model.
func (m *Model) ui() commands.UI {
	o := m.o
	return commands.UI{
		Settings: commands.Settings{Store: o.Store, Workspace: o.Workspace, First: o.Open, Forks: o.PickFork, Cwd: o.Cwd,
			Version: o.Version, Keymap: o.Keymap, Themes: append(style.Themes(), slices.Sorted(maps.Keys(o.Themes))...),
			Hooks: o.Hooks, Apply: o.Apply, Tries: o.Tries, Lines: o.Plain},
		Session:      &m.session,
		Input:        m.input,
		Shown:        func() *conversation.Conversation { return m.shown },
		Agent:        func() protocol.SessionID { return m.viewing },
		Conversation: m.conversation,
		Format:       m.format,
		Height:       func() int { return m.height },
		Theme:        func() string { return m.theme },
		Now:          func() time.Time { return m.now() },
		Opened:       func() bool { return m.sess != nil },
		Beside:       beside,
		After:        func(d time.Duration, fn func() tea.Cmd) tea.Cmd { return m.later(d, runMsg{fn}) },
		Submit:       m.submit,
		Say:          func(text string) tea.Cmd { return m.say(text, nil, false) },
		Push:         m.push,
		Notice:       m.notice,
		Look:         m.look,
		Start:        m.openFirst,
		Open:         m.swap,
		Editor:       func(path string, line int) tea.Cmd { return openFile(m, path, line) },
		Program:      func(argv []string, then func() tea.Cmd) tea.Cmd { return program(m, argv, then) },
		SetTheme:     m.setTheme,
		Write:        m.write,
		Quit:         m.quit,
		Leave:        func() { m.exit.closing = true },
	}
}

// setTheme has everything drawn in a theme from now on.
func (m *Model) setTheme(name string) {
	m.theme = name
	if name == "" || name == "auto" {
		name = "light"
		if m.dark {
			name = "dark"
		}
	}
	if t, ok := m.o.Themes[name]; ok {
		m.pal = t.Palette(m.o.Depth)
		return
	}
	m.pal = style.New(name, m.o.Depth)
}

// Init asks for trust where that is open, then opens the session, or the list to
// choose one from.
func (m *Model) Init() tea.Cmd {
	if m.o.Trust != nil {
		return m.commands.AskTrust(m.o.Trust)
	}
	return m.openFirst()
}

// View is empty: the model draws by itself, see paint and doc/adr/0004.
func (m *Model) View() tea.View { return tea.View{} }

// Update takes a message, and draws what changed.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.calm.stop()
	urgent := true
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		cmd = m.key(msg)
		urgent = len(m.burst.text) == 0
	case tea.PasteMsg:
		cmd = tea.Batch(gathered(m), m.paste(msg.Content))
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.FocusMsg:
		m.focused = true
	case tea.BlurMsg:
		m.focused = false
	case tea.BackgroundColorMsg:
		if m.o.Theme == "" || m.o.Theme == "auto" {
			m.dark = msg.IsDark()
			m.setTheme(m.theme)
		}
	case eventsMsg:
		cmd = m.events(msg)
		urgent = false
	case frameMsg:
		m.ticking = false
	case burstMsg:
		cmd = burstOver(m)
	case aloneMsg:
		cmd = stoodAlone(m, msg.n)
	case clockMsg:
		cmd = m.clock(msg)
	case openedMsg:
		cmd = tea.Batch(m.opened(msg), rest(m))
	case restMsg:
		if !anyRunning(m.conversations) {
			return m, rested
		}
	case sentMsg:
		cmd = m.sent(msg)
	case noticeMsg:
		m.notice(msg.role, msg.text)
	case runMsg:
		cmd = msg.fn()
	case repaintMsg:
		m.scr.Redraw()
	case tea.ResumeMsg:
		m.back()
	case crashMsg:
		m.exit.code, m.err = 1, errCrash(msg.text)
		return m, tea.Quit
	case closeMsg:
		return m, m.quit()
	default:
		return m, nil
	}
	return m, tea.Batch(cmd, m.paint(urgent))
}

// paint draws now when it is urgent or time, else it has a frame sent later.
func (m *Model) paint(urgent bool) tea.Cmd {
	if m.width == 0 || m.exit.closing || m.away {
		return nil
	}
	now := m.now()
	if !urgent && now.Sub(m.painted) < frameTime {
		if m.ticking {
			return nil
		}
		m.ticking = true
		return m.later(frameTime-now.Sub(m.painted), frameMsg{})
	}
	m.painted = now
	if m.tty != nil { // the terminal may have another size before it says so
		if w, h, err := m.tty.Size(); err == nil {
			m.resize(w, h)
		}
	}
	if err := m.scr.Draw(m.frame()); err != nil {
		m.exit.code = 1
		return tea.Quit
	}
	return nil
}

func (m *Model) resize(w, h int) {
	if w == m.width && h == m.height || w <= 0 || h <= 0 {
		return
	}
	m.width, m.height = w, h
	m.input.Width = max(w-4, 2)
	m.scr.Resize(w, h)
}

// format says how items are drawn now. The last column stays free.
func (m *Model) format() conversation.Format {
	return conversation.Format{Width: max(m.width-1, 8), Cwd: m.session.Settings.Cwd}
}

// do runs fn beside the loop and turns a panic into an orderly end.
func do(fn func(context.Context) tea.Msg) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				msg = crashMsg{crashText(r)}
			}
		}()
		return fn(context.Background())
	}
}

// beside runs fn beside the loop, and in the loop what fn returns.
func beside(fn func(context.Context) func() tea.Cmd) tea.Cmd {
	return do(func(ctx context.Context) tea.Msg { return runMsg{fn(ctx)} })
}

// submit hands an Op to the session, after those before it.
func (m *Model) submit(op protocol.Op) tea.Cmd {
	if m.sess == nil {
		m.notice(style.Warn, "no session is open yet")
		return nil
	}
	m.lastOp = op
	m.outbox = append(m.outbox, protocol.Submission{Op: op})
	return m.send()
}

func (m *Model) send() tea.Cmd {
	if m.sending || len(m.outbox) == 0 || m.sess == nil {
		return nil
	}
	m.sending = true
	next, sess := m.outbox[0], m.sess
	m.outbox = m.outbox[1:]
	return do(func(ctx context.Context) tea.Msg { return sentMsg{sess.Submit(ctx, next)} })
}

func (m *Model) sent(msg sentMsg) tea.Cmd {
	m.sending = false
	if msg.err != nil {
		m.notice(style.Bad, msg.err.Error())
	}
	return m.send()
}

// notice tells the user something in the conversation.
func (m *Model) notice(role style.Role, text string) {
	mark := "! "
	if role == style.Good || role == style.Dim {
		mark = "· " // nothing is wrong
	} else {
		m.exit.amiss = true
	}
	m.shown.Note(role, mark, text)
}

// clock moves the elapsed time of a running turn.
func (m *Model) clock(msg clockMsg) tea.Cmd {
	if msg.gen != m.gen || !anyRunning(m.conversations) {
		m.clocking = false
		return nil
	}
	m.spin++
	if m.lean {
		lean.Pace()
	}
	return m.later(m.clockTime(), clockMsg{m.gen})
}

// restTime is how long nothing has to run until memory goes back to the system.
const restTime = time.Second

// rest gives memory back that was needed once, when nothing runs a moment later.
func rest(m *Model) tea.Cmd {
	if !m.lean {
		return nil
	}
	return m.later(restTime, restMsg{})
}

func rested() tea.Msg {
	lean.Rest()
	return nil
}

func (m *Model) clockTime() time.Duration {
	if m.o.ReducedMotion {
		return time.Second
	}
	return 250 * time.Millisecond
}

func (m *Model) startClock() tea.Cmd {
	if m.clocking {
		return nil
	}
	m.clocking = true
	return m.later(m.clockTime(), clockMsg{m.gen})
}

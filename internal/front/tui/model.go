package tui

import (
	"context"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/composer"
	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/screen"
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

	width, height int
	theme         string
	dark          bool
	depth         ink.Depth
	pal           *ink.Palette
	focused       bool

	sess     protocol.Session
	gen      int // counts sessions, so that messages of an old one are known
	id       protocol.SessionID
	settings protocol.Settings
	title    string
	branch   string
	warned   map[string]bool

	lane                                  // the conversation that is looked at
	viewing  protocol.SessionID           // whose it is, empty for the session's own
	lanes    map[protocol.SessionID]*lane // the others
	past     []string                     // what was said before, oldest first
	pastAt   int                          // where up and down are in it, len(past) when nowhere
	draft    string
	menu     menu
	overlays []overlay
	asking   []*approval
	lastKey  time.Time
	quiet    time.Time // until when keys may be the rest of a broken sequence
	armed    armed

	vi composer.Vi
	// finding says that files are being found for the menu.
	finding bool
	early   []early // sent before there was a session
	limits  map[string]string
	procs   []protocol.Process
	agents  []protocol.Agent
	mcp     []protocol.Server

	known      []protocol.Prompt
	beforePlan protocol.ApprovalPolicy // what shift+tab goes back to
	glimpse    map[protocol.SessionID][]protocol.PastTurn
	page       page
	pageUp     int
	tty        *terminal
	away       bool      // the terminal is not ours at the moment
	taken      time.Time // when it was taken back last
	runner     func(*exec.Cmd, func(error) tea.Msg) tea.Cmd

	outbox  []protocol.Submission
	sending bool
	lastOp  protocol.Op
	serial  int

	painted  time.Time
	ticking  bool // a frame is due
	clocking bool // the clock of a running turn ticks
	spin     int
	exit     exit
	resumed  bool
	err      error
}

// exit is how the program is going to end.
type exit struct {
	closing bool
	closed  bool // the session is closed
	code    int
}

// armed says which second key press would act.
type armed struct {
	key   string
	until time.Time
}

// turnState is what is known of the running turn.
type turnState struct {
	id      protocol.TurnID
	running bool
	since   time.Time
	usage   protocol.Usage
}

// turnMark is a turn that can be gone back to.
type turnMark struct {
	id   protocol.TurnID
	text string
	at   time.Time
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
		role ink.Role
		text string
	}
	runMsg     struct{ fn func(*Model) tea.Cmd }
	closeMsg   struct{}
	repaintMsg struct{}
	crashMsg   struct{ text string }
)

// newModel makes the model; nothing is opened or drawn yet.
func newModel(o Options, scr *screen.Screen) *Model {
	m := &Model{o: o, scr: scr, now: time.Now, listening: true, dark: true, focused: true, theme: o.Theme,
		warned: map[string]bool{}, lanes: map[protocol.SessionID]*lane{}}
	m.later = func(d time.Duration, msg tea.Msg) tea.Cmd {
		return tea.Tick(d, func(time.Time) tea.Msg { return msg })
	}
	if o.History != nil {
		m.past = o.History.Load()
	}
	m.pastAt = len(m.past)
	m.depth = o.Depth
	m.dark = o.Dark
	m.paletteNow()
	return m
}

func (m *Model) paletteNow() {
	name := m.theme
	if name == "" || name == "auto" {
		name = "light"
		if m.dark {
			name = "dark"
		}
	}
	if t, ok := m.o.Themes[name]; ok {
		m.pal = t.Palette(m.depth)
		return
	}
	m.pal = ink.New(name, m.depth)
}

// Init asks for trust where that is open, then opens the session, or the list to
// choose one from.
func (m *Model) Init() tea.Cmd {
	if m.o.Trust != nil {
		return m.askTrust(m.o.Trust)
	}
	return m.openFirst()
}

// View is empty: the model draws by itself, see paint.
func (m *Model) View() tea.View { return tea.View{} }

// Update takes a message, and draws what changed.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	urgent := true
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.PasteMsg:
		cmd = m.paste(msg.Content)
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.FocusMsg:
		m.focused = true
	case tea.BlurMsg:
		m.focused = false
	case tea.BackgroundColorMsg:
		if m.o.Theme == "" || m.o.Theme == "auto" {
			m.dark = msg.IsDark()
			m.paletteNow()
		}
	case eventsMsg:
		cmd = m.events(msg)
		urgent = false
	case frameMsg:
		m.ticking = false
	case clockMsg:
		cmd = m.clock(msg)
	case openedMsg:
		cmd = m.opened(msg)
	case sentMsg:
		cmd = m.sent(msg)
	case noticeMsg:
		m.notice(msg.role, msg.text)
	case runMsg:
		cmd = msg.fn(m)
	case repaintMsg:
		m.repaint()
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
	for _, c := range m.live {
		c.resize(m.draw().width)
	}
	_ = m.scr.Resize(w, h)
}

// draw is what items are drawn for now. The last column stays free.
func (m *Model) draw() drawing {
	return drawing{width: max(m.width-1, 8), cwd: m.settings.Cwd}
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

// submit hands an Op to the session, after those before it.
func (m *Model) submit(op protocol.Op) tea.Cmd {
	if m.sess == nil {
		m.notice(ink.Warn, "no session is open yet")
		return nil
	}
	m.serial++
	m.lastOp = op
	m.outbox = append(m.outbox, protocol.Submission{ID: number(m.serial), Op: op})
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
		m.notice(ink.Bad, msg.err.Error())
	}
	return m.send()
}

// notice tells the user something in the transcript.
func (m *Model) notice(role ink.Role, text string) {
	m.emit(m.draw().note(role, "! ", text)...)
}

// emit puts finished rows above the live ones, apart from what is there by an
// empty row.
func (m *Model) emit(rows ...ink.Line) {
	if len(rows) == 0 {
		return
	}
	if m.gap {
		m.above = append(m.above, nil)
	}
	m.above = append(m.above, rows...)
	m.gap, m.looked = true, false
}

// clock moves the elapsed time of a running turn.
func (m *Model) clock(msg clockMsg) tea.Cmd {
	if msg.gen != m.gen || !m.anyBusy() {
		m.clocking = false
		return nil
	}
	m.spin++
	return m.later(m.clockTime(), clockMsg{m.gen})
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

func (m *Model) busy() bool { return m.turn.running }

// back takes the terminal again after the program was stopped. It may be told
// twice, by the loop and by the system: then the rows are drawn in their place.
func (m *Model) back() {
	now := m.now()
	if m.away || now.Sub(m.taken) > time.Second {
		m.err = m.acquire()
	} else if m.tty != nil {
		m.err = m.tty.raw()
	}
	m.taken = now
	m.repaint()
}

// repaint draws every row again.
func (m *Model) repaint() {
	_ = m.scr.Resize(m.width, m.height)
}

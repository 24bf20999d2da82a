package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/commands"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/input"
	"kerf/internal/front/tui/keymap"
	"kerf/internal/front/tui/lean"
	"kerf/internal/front/tui/screen"
	"kerf/internal/front/tui/style"
	"kerf/internal/front/tui/terminal"
	"kerf/internal/protocol"
)

// Options are what the terminal UI needs.
type Options struct {
	// Sessions opens sessions. Store and Workspace may be nil: what needs them then
	// says that it is missing.
	Sessions  protocol.Sessions
	Store     protocol.SessionStore
	Workspace protocol.WorkspaceQuery
	// Open says which session to open first, Prompt what to say in it.
	Open   protocol.OpenOptions
	Prompt []protocol.Input
	// Again is the command that goes on with a session by its id; empty is kerf resume.
	Again string
	// Pick shows the list of sessions first; with PickFork the choice is forked.
	Pick, PickFork bool
	Version        string
	Cwd            string
	// Env reads the environment.
	Env func(string) string
	// In and Out are the terminal.
	In  io.Reader
	Out io.Writer
	// Theme is one of style.Themes; Depth and Dark are what is known of the
	// terminal before it was asked.
	Theme string
	Depth style.Depth
	Dark  bool
	// Plain prints lines and reads lines, for screen readers and dumb terminals.
	Plain         bool
	AltScreen     bool
	ReducedMotion bool
	// StatusItems are what the status line tells, as status.Items names it; nil is what it tells by itself.
	StatusItems []string
	// StatusCommand says what the user's own command tells in the status line; nil if there
	// is none. It may take two seconds.
	StatusCommand func(id protocol.SessionID, set protocol.Settings, used protocol.TokensUsed) string
	// Vi edits messages with the commands of vi.
	Vi bool
	// Keymap are the keys that the user set; nil for none.
	Keymap *keymap.Map
	// Themes are themes of the user's own, by name.
	Themes map[string]style.Theme
	// Notify is "osc9", "osc777", "bell" or "off".
	Notify string
	// History keeps what was said across sessions; nil keeps nothing.
	History input.History
	// Price tells what tokens cost in dollars, if that is known.
	Price func(model string, u protocol.Usage) (float64, bool)
	// Hooks lists the hooks that apply here, with warnings; nil when that is not known.
	Hooks func() ([]Hook, []string, error)
	// Apply carries the changes of a session to another directory, or tells what that
	// would do: the diff, and what becomes of each file. Nil when it cannot.
	Apply func(ctx context.Context, dir, session string, dry bool) (diff, told string, err error)
	// Tries is about work that touches nothing until it is kept; nil where that cannot be.
	Tries *Tries
	// Trust is asked before anything is opened; nil when it is decided.
	Trust *Trust
	// Ways lists how to begin where the provider of the first session has no key; nil
	// ends Kerf with that error.
	Ways func(context.Context) []Way
	// Banner is shown when a session starts.
	Banner string
}

// Trust is the question whether the files of a project may set what Kerf does there; Way
// is a way to begin without the key that is missing; Hook is a program of the user's that watches the session;
// Tries is what can be done with tries.
type (
	Tries   = commands.Tries
	Waiting = commands.Waiting
	Trust   = commands.Trust
	Way     = commands.Way
	Hook    = commands.Hook
)

// ErrNoTerminal says that there is no terminal to run on.
var ErrNoTerminal = terminal.ErrNoTerminal

// env reads the environment.
func (o Options) env(name string) string {
	if o.Env == nil {
		return ""
	}
	return o.Env(name)
}

// Run shows the terminal UI until the user leaves, and returns the exit code. An
// error is to be told to the user after the terminal is usable again.
func Run(ctx context.Context, o Options) (code int, err error) {
	if o.Plain {
		return runPlain(ctx, o)
	}
	tty, err := terminal.Open(o.In, o.Out)
	if err != nil {
		return 2, err
	}
	scr := screen.New(o.Out, reflows(o.Env))
	lean.Begin(o.env)
	m := newModel(o, scr)
	m.tty, m.lean = tty, true
	if err := m.acquire(); err != nil {
		return 2, err
	}
	defer m.release(true)
	w, h, err := tty.Size()
	if err != nil {
		return 2, fmt.Errorf("terminal: %w", err)
	}
	m.resize(w, h)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(io.Discard), tea.WithoutRenderer(),
		tea.WithoutCatchPanics(), tea.WithoutSignalHandler(), tea.WithFPS(1),
		tea.WithWindowSize(w, h), tea.WithEnvironment(nil))
	m.calm.program = p
	defer func() {
		if r := recover(); r != nil {
			m.release(false)
			code, err = 1, errCrash(crashText(r))
		}
	}()
	stop := tty.Watch(terminal.Events{
		Resized:   func(w, h int) { p.Send(tea.WindowSizeMsg{Width: w, Height: h}) },
		Continued: func() { p.Send(tea.ResumeMsg{}) },
		Ended:     func() { p.Send(closeMsg{}) }})
	defer stop()
	if o.Theme == "" || o.Theme == "auto" {
		m.write("\x1b]11;?\x1b\\")
	}
	if _, err = p.Run(); err != nil && !errors.Is(err, tea.ErrProgramKilled) {
		return 1, err
	}
	m.shut()
	return m.exit.code, m.err
}

// shut closes the session if leaving has not done so.
func (m *Model) shut() {
	if m.sess != nil && !m.exit.closed {
		go func(s protocol.Session) { // ends when the session closes its events
			for range s.Events() {
			}
		}(m.sess)
		_ = m.sess.Close()
	}
}

// acquire takes the terminal: raw keys and our modes.
func (m *Model) acquire() error {
	if m.tty != nil {
		if err := m.tty.Raw(); err != nil {
			return fmt.Errorf("terminal: %w", err)
		}
	}
	m.away = false
	return m.scr.Start()
}

// release gives the terminal back as it was.
func (m *Model) release(erase bool) {
	m.away = true
	_ = m.scr.Stop(erase)
	if m.tty != nil {
		m.tty.Restore()
	}
}

// back takes the terminal again after the program was stopped. It may be told
// twice, by the loop and by the system: then the rows are drawn in their place.
func (m *Model) back() {
	now := m.now()
	if m.away || now.Sub(m.taken) > time.Second {
		m.err = m.acquire()
	} else if m.tty != nil {
		m.err = m.tty.Raw()
	}
	m.taken = now
	m.scr.Redraw()
}

// run gives the terminal to a program of the user's until it ends.
func (m *Model) run(c *exec.Cmd, then func(error) tea.Msg) tea.Cmd {
	if m.runner != nil {
		return m.runner(c, then)
	}
	return tea.Exec(&visitor{Cmd: c, m: m}, then)
}

// visitor is a program that has the terminal for a while.
type visitor struct {
	*exec.Cmd
	m *Model
}

func (v *visitor) SetStdin(r io.Reader)  { v.Stdin = v.m.o.In }
func (v *visitor) SetStdout(w io.Writer) { v.Stdout = v.m.o.Out }
func (v *visitor) SetStderr(w io.Writer) { v.Stderr = v.m.o.Out }

// Run runs the program; the loop waits meanwhile, so the model is ours.
func (v *visitor) Run() error {
	v.m.release(true)
	v.m.tty.Lend(true)
	err := v.Cmd.Run()
	v.m.tty.Lend(false)
	if e := v.m.acquire(); err == nil {
		err = e
	}
	return err
}

func errCrash(text string) error {
	return fmt.Errorf("the terminal UI broke down: %s\n"+
		"This is a bug in Kerf. The session is saved: kerf resume --last goes on with it", text)
}

// crashText words a panic: what it was and where, nothing that others wrote.
func crashText(r any) string {
	where := ""
	for line := range strings.Lines(string(debug.Stack())) {
		ours := strings.Contains(line, "internal/front/tui/") && !strings.Contains(line, "tui.go:")
		if ours && strings.Contains(line, ".go:") {
			where = " at " + humanize.Base(strings.Fields(line)[0])
			break
		}
	}
	return style.Prose(style.OneLine(fmt.Sprint(r))) + where
}

// reflows reports whether the terminal wraps its rows anew when it is resized.
func reflows(env func(string) string) bool {
	if env == nil {
		return true
	}
	return env("XTERM_VERSION") == "" && env("TERM") != "linux"
}

// Depth tells how many colours a terminal has, from its environment.
func Depth(env func(string) string) style.Depth {
	name := env("TERM")
	switch color := env("COLORTERM"); {
	case env("NO_COLOR") != "" || name == "dumb":
		return style.NoColor
	case color == "truecolor" || color == "24bit" || env("WT_SESSION") != "" || strings.HasSuffix(name, "-direct"):
		return style.TrueColor
	case strings.Contains(name, "256color"), strings.Contains(name, "kitty"), strings.Contains(name, "ghostty"):
		return style.Color256
	case name == "":
		return style.NoColor
	}
	return style.Color16
}

// Dark tells whether a terminal has a dark background, from its environment; most
// have.
func Dark(env func(string) string) bool {
	s := env("COLORFGBG")
	bg := s[strings.LastIndexByte(s, ';')+1:]
	return bg != "7" && bg != "15"
}

// Package commands is what the commands behind a slash do: the lists they show, the pages,
// the questions they ask, and what they have the session do.
package commands

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/changes"
	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/input"
	"kerf/internal/front/tui/keymap"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/status"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// UI is the terminal UI as commands know it: what is shown, and what can be done.
type UI struct {
	Settings
	Session *status.Session
	Input   *input.Input

	Shown        func() *conversation.Conversation // that is looked at
	Agent        func() protocol.SessionID         // the sub-agent it is of
	Conversation func(agent protocol.SessionID) *conversation.Conversation
	Format       func() conversation.Format
	Height       func() int // of the screen
	Theme        func() string
	Now          func() time.Time
	Opened       func() bool // a session is open

	// Beside runs fn beside the loop, and in the loop what fn returns.
	Beside func(fn func(context.Context) func() tea.Cmd) tea.Cmd
	// After runs fn in the loop when some time has passed.
	After  func(d time.Duration, fn func() tea.Cmd) tea.Cmd
	Submit func(protocol.Op) tea.Cmd
	Say    func(text string) tea.Cmd
	Push   func(panels.Panel)
	Notice func(role style.Role, text string)
	Look   func(agent protocol.SessionID)
	// Start opens the first session, Open another one.
	Start    func() tea.Cmd
	Open     func(protocol.OpenOptions) tea.Cmd
	SetTheme func(name string)
	// Editor opens a file in the user's editor, at a line unless that is 0.
	Editor func(path string, line int) tea.Cmd
	// Program gives the terminal to a program until it ends, and then does what comes
	// after it.
	Program func(argv []string, then func() tea.Cmd) tea.Cmd
	// Write sends bytes of ours to the terminal.
	Write func(string)
	Quit  func() tea.Cmd
	// Leave has Kerf end once the panel that is open is closed.
	Leave func()
}

// Settings are what commands take from the program's options.
type Settings struct {
	// Store and Workspace may be nil: what needs them then says that it is missing.
	Store     protocol.SessionStore
	Workspace protocol.WorkspaceQuery
	// First says how the first session was opened; Forks that the first choice from a
	// list of sessions is forked.
	First   protocol.OpenOptions
	Forks   bool
	Cwd     string
	Version string
	// Lines says that lines are read: what is asked for is done.
	Lines  bool
	Keymap *keymap.Map
	Themes []string
	// Hooks lists the hooks that apply here, with warnings; nil when that is not known.
	Hooks func() ([]Hook, []string, error)
	// Apply carries the changes of a session to another directory, or tells what that
	// would do: the diff, and what becomes of each file. Nil when it cannot.
	Apply func(ctx context.Context, dir, session string, dry bool) (diff, told string, err error)
	Tries *Tries // nil where there can be none
}

// Commands runs commands.
type Commands struct {
	ui         UI
	beforePlan protocol.ApprovalPolicy // what leaving plan mode goes back to
	listed     []protocol.SessionInfo  // when sessions were listed last
	undoing    *protocol.Undo          // what the user is asked about once it is known what it does
	looping    *repetition             // nil when nothing is repeated
	previews   map[protocol.SessionID][]protocol.PastTurn
	view       *changes.View   // the page of changes, while it is open
	kept       map[string]bool // which of them the user keeps
	moves      bool            // the session goes on elsewhere
}

// New returns the commands of a terminal UI.
func New(ui UI) *Commands { return &Commands{ui: ui} }

// fetch gets something beside the loop and hands it to then, or tells the error.
func fetch[T any](c *Commands, get func(context.Context) (T, error), then func(T) tea.Cmd) tea.Cmd {
	return c.ui.Beside(func(ctx context.Context) func() tea.Cmd {
		v, err := get(ctx)
		return func() tea.Cmd {
			if err != nil {
				c.ui.Notice(style.Bad, err.Error())
				return nil
			}
			return then(v)
		}
	})
}

// after runs fn once the panel that asked for it is closed.
func after(c *Commands, fn func(c *Commands) tea.Cmd) tea.Cmd {
	return c.ui.Beside(func(context.Context) func() tea.Cmd {
		return func() tea.Cmd { return fn(c) }
	})
}

func (c *Commands) missing(what string) tea.Cmd {
	c.ui.Notice(style.Warn, what+" is not available here")
	return nil
}

// Package panels are the things that take the keys until they are closed: lists to
// choose from, pages to read, a line of words to ask for.
package panels

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/style"
)

// Key is a key press.
type Key struct {
	Name string // "enter", "ctrl+a"
	Text string // what it types, if anything
	At   time.Time
	// Last is when the key before was pressed.
	Last time.Time
}

// View is a part of the screen: rows, and the cursor in them; a Y below 0 hides it.
type View struct {
	Rows []style.Line
	X, Y int
	Full bool // it wants the whole screen
}

// Panel takes the keys until it is closed.
type Panel interface {
	// Key takes a key press and says whether the panel stays.
	Key(k Key) (c tea.Cmd, stay bool)
	// View draws it into at most height rows. What it returns is shown: an approval
	// takes it that the user saw it.
	View(width, height int) View
	// Lines are the panel in plain mode, printed once. Nothing in them is wrapped.
	Lines() []style.Line
	// Line takes a line that was typed in plain mode. Again asks to print the panel
	// once more.
	Line(text string) (c tea.Cmd, stay, again bool)
}

// Asker is a panel that asks the user something, unasked or some time after it was asked for.
// Typing never answers it: what types something answers only where it stands alone, a second
// after any other key, and everything else that is typed goes into a message.
type Asker interface {
	Panel
	// Asks reports whether it does so.
	Asks() bool
	// Takes reports whether a key that types something is for the question. What is not
	// belongs to a message.
	Takes(k Key) bool
	// Typing says that the user writes a message: the question waits for a second without
	// keys again. It returns the key of the answer that was waiting for enter, if one was: it
	// was the beginning of a word.
	Typing() string
}

// Asks returns a panel as an [Asker], where it is one that asks.
func Asks(p Panel) (Asker, bool) {
	a, ok := p.(Asker)
	return a, ok && a.Asks()
}

const (
	// Settle is how long a question must be up, and no key be pressed, before keys
	// answer it: what is being typed when it comes must not.
	Settle = time.Second
	// Rest is how long an answer has to stand alone before it counts. A key behind it makes it
	// the beginning of a word; a key that is held down does not confirm what lasts.
	Rest = 300 * time.Millisecond
)

// Page is a panel that takes the whole screen.
type Page interface {
	Panel
	Page()
}

// Wide is the width of rows in plain mode, where nothing is wrapped: the terminal, or
// the screen reader, does that itself.
const Wide = 2000

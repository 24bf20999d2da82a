package tui

import (
	"io"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// ending is a model that notes the clock of its program and ends.
type ending struct {
	program *tea.Program
	clock   *time.Ticker
}

func (e *ending) Init() tea.Cmd  { return func() tea.Msg { return frameMsg{} } }
func (e *ending) View() tea.View { return tea.View{} }
func (e *ending) Update(tea.Msg) (tea.Model, tea.Cmd) {
	e.clock = clockOf(e.program)
	return e, tea.Quit
}

// TestTheClockIsFound: Bubble Tea still has the clock that calm stops. Where it has none any
// more, or another one, an idle Kerf wakes up once a second, or calm can go.
func TestTheClockIsFound(t *testing.T) {
	e := &ending{}
	e.program = tea.NewProgram(e, tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithoutRenderer(),
		tea.WithoutSignalHandler(), tea.WithFPS(1))
	if _, err := e.program.Run(); err != nil {
		t.Fatal(err)
	}
	if e.clock == nil {
		t.Fatal("no clock")
	}
	c := calm{program: e.program}
	c.stop()
	if c.clock != e.clock {
		t.Error("another clock was stopped")
	}
	(&calm{}).stop()
}

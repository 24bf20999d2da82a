package tui

import (
	"reflect"
	"time"
	"unsafe"

	tea "charm.land/bubbletea/v2"
)

// calm keeps an idle program from waking up. Bubble Tea flushes its renderer at least once a
// second, also where it has none (WithoutRenderer), and starts that clock again after each
// program that had the terminal. Nothing of its own stops it, as of v2.0.9: tea.go, startRenderer.
// The zero value does nothing. Its methods are for the loop that calls Update.
type calm struct {
	program *tea.Program
	clock   *time.Ticker
}

// stop stops the clock.
func (c *calm) stop() {
	if c.clock == nil && c.program != nil {
		c.clock = clockOf(c.program)
	}
	if c.clock != nil {
		c.clock.Stop()
	}
}

// clockOf is the clock of a program that runs, or nil where it has none by that name.
func clockOf(p *tea.Program) *time.Ticker {
	f := reflect.ValueOf(p).Elem().FieldByName("ticker")
	if !f.IsValid() || f.Type() != reflect.TypeFor[*time.Ticker]() {
		return nil
	}
	return *(**time.Ticker)(unsafe.Pointer(f.UnsafeAddr()))
}

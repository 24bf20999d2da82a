package tui

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/protocol"
)

// TestBeginWithoutAKey: where the provider has no key the ways to begin are offered until
// one of them helps; leaving them ends Kerf with the error.
func TestBeginWithoutAKey(t *testing.T) {
	var missing error = &protocol.CredentialsError{Provider: "openai", Err: errors.New("no key of OpenAI")}
	var ran []string
	asked := 0
	b := unopened(t, 80, 24, func(o *Options) {
		o.Ways = func(context.Context) []Way {
			asked++
			return []Way{
				{Name: "Use qwen3:8b of Ollama", About: "on this machine", Use: func(context.Context) error {
					o.Sessions.(*fakeSessions).fail = nil
					return nil
				}},
				{Name: "Use another", Use: func(context.Context) error { return errors.New("it has no model") }},
				{Name: "See the demo", Command: []string{"kerf", "demo"}},
			}
		}
	})
	b.fake.fail = missing
	b.m.runner = func(c *exec.Cmd, then func(error) tea.Msg) tea.Cmd {
		ran = append(ran, c.Args...)
		return func() tea.Msg { return then(nil) }
	}
	b.run(b.m.Init())
	b.says("How do you want to begin?", "No model can be asked yet: no key of OpenAI", "1 Use qwen3:8b of Ollama").golden("begin_80")
	b.keys("3").says("How do you want to begin?", "› 3") // what was being typed chooses nothing
	if ran != nil {
		t.Errorf("%q had the terminal before the question was seen", ran)
	}
	b.keys("ctrl+c").wait(time.Second).keys("3")
	if !slices.Equal(ran, []string{"kerf", "demo"}) || asked != 2 {
		t.Errorf("%q had the terminal, asked %d times; want the demo, and to be asked again", ran, asked)
	}
	b.wait(time.Second).keys("2").says("it has no model", "How do you want to begin?")
	b.wait(time.Second).keys("1")
	if len(b.fake.sessions) != 1 || b.quit || b.m.err != nil {
		t.Errorf("%d sessions, left %v: %v; want the session to be open", len(b.fake.sessions), b.quit, b.m.err)
	}
	b.safe()

	b = unopened(t, 80, 24, func(o *Options) { o.Ways = func(context.Context) []Way { return nil } })
	b.fake.fail = missing
	b.run(b.m.Init())
	b.wait(time.Second).keys("esc")
	if !b.quit || b.m.exit.code != 1 || !errors.Is(b.m.err, missing) {
		t.Errorf("left %v with %d: %v; want the missing key", b.quit, b.m.exit.code, b.m.err)
	}
}

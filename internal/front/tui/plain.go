package tui

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/front/tui/terminal"
	"kerf/internal/protocol"
)

// plainUI is the same conversation as lines only: nothing moves, nothing is drawn
// twice, and every choice is typed. Its goroutines are the reader of the input,
// which ends with it or with the program, and the commands of the model.
type plainUI struct {
	m       *Model
	out     io.Writer
	msgs    chan tea.Msg
	lines   chan string
	shown   panels.Panel
	eof     bool
	done    bool
	waiting int // lines whose outcome has not shown yet
	piped   bool
}

func runPlain(ctx context.Context, o Options) (int, error) {
	m := newModel(o, nil)
	m.away, m.width, m.height, m.focused = true, panels.Wide, 1000, true
	m.later = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	u := &plainUI{m: m, out: o.Out, msgs: make(chan tea.Msg), lines: make(chan string)}
	if _, err := terminal.Open(o.In, o.Out); err != nil {
		u.piped = true
	}
	if len(o.Prompt) > 0 {
		u.waiting = 1
	}
	m.runner = func(c *exec.Cmd, then func(error) tea.Msg) tea.Cmd {
		c.Stdin, c.Stdout, c.Stderr = o.In, o.Out, o.Out
		return func() tea.Msg { return then(c.Run()) }
	}
	signals := terminal.Signals()
	ctx, stop := signal.NotifyContext(ctx, signals[len(signals)-1])
	defer stop()
	go u.read(o.In)
	u.start(m.Init())
	for !u.done {
		u.step(ctx)
	}
	m.shut()
	if ctx.Err() != nil {
		return 130, nil
	}
	if u.piped && m.exit.amiss {
		return max(m.exit.code, 1), m.err
	}
	return m.exit.code, m.err
}

func (u *plainUI) read(in io.Reader) {
	defer close(u.lines)
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, maxPaste)
	for sc.Scan() {
		u.lines <- sc.Text()
	}
}

// step waits for one thing to happen and shows what came of it.
func (u *plainUI) step(ctx context.Context) {
	lines := u.lines
	if u.piped && u.m.top() == nil && (u.waiting > 0 || u.m.shown.Running) {
		lines = nil // a script's next line is meant for when this one is done
	}
	if u.eof || u.m.sess == nil && u.m.top() == nil {
		lines = nil
	}
	select {
	case <-ctx.Done():
		u.done = true
	case msg := <-u.msgs:
		u.take(msg)
	case line, ok := <-lines:
		if !ok {
			u.eof = true
			break
		}
		u.line(strings.ToValidUTF8(line, "\uFFFD"))
	}
	u.print(u.m.shown.Take())
	u.ask()
	if u.eof {
		u.leave()
	}
}

// leave ends the session once the input is over and nothing runs; questions that
// nobody can answer any more are declined.
func (u *plainUI) leave() {
	if len(u.m.questions) > 0 {
		u.start(u.m.questions[0].Abort())
		return
	}
	idle := !u.m.shown.Running && !u.m.sending && len(u.m.outbox) == 0 && u.waiting == 0
	if idle && u.m.sess != nil && !u.m.exit.closing {
		u.start(u.m.quit())
	}
}

// start runs a command and what it brings beside the loop.
func (u *plainUI) start(c tea.Cmd) {
	if c != nil {
		go func() { u.msgs <- c() }()
	}
}

func (u *plainUI) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			u.start(c)
		}
	case tea.QuitMsg:
		u.done = true
	default:
		if e, ok := msg.(eventsMsg); ok {
			u.waiting = max(u.waiting-endings(e.events), 0)
		}
		_, c := u.m.Update(msg)
		u.start(c)
	}
}

// endings counts the events that show the outcome of a line.
func endings(events []protocol.Event) int {
	n := 0
	for _, e := range events {
		switch b := e.Msg.(type) {
		case protocol.TurnCompleted, protocol.TurnFailed, protocol.TurnAborted:
			n++
		case protocol.ItemCompleted:
			if c, ok := b.Item.Body.(protocol.Command); ok && c.User {
				n++
			}
		}
	}
	return n
}

func (u *plainUI) print(rows []style.Line) {
	for _, l := range rows {
		fmt.Fprintln(u.out, strings.TrimRight(style.Prose(l.Text()), " "))
	}
}

// ask prints the panel that waits for an answer, once. A page needs none.
func (u *plainUI) ask() {
	p := u.m.top()
	if p == nil || p == u.shown {
		u.shown = p
		return
	}
	u.shown = p
	u.print(p.Lines())
	if _, ok := p.(*panels.Pager); ok {
		u.m.closePanel(p)
		u.shown = nil
	}
}

// line takes a line that was typed.
func (u *plainUI) line(text string) {
	m := u.m
	p := m.top()
	if p == nil {
		u.message(text)
		return
	}
	c, stay, again := p.Line(text)
	if !stay {
		m.closePanel(p)
	}
	if again {
		u.shown = nil
	}
	if m.exit.closing {
		u.done = true
	}
	u.start(c)
}

// message takes a line that is no answer.
func (u *plainUI) message(text string) {
	m := u.m
	if strings.TrimSpace(text) == "" {
		return
	}
	m.shown.Composer.Set(text)
	m.lastOp = nil
	c := m.enter(false)
	switch m.lastOp.(type) {
	case protocol.UserInput, protocol.Shell, protocol.Review:
		u.waiting++
	}
	u.start(c)
}

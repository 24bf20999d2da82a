package tui

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

// plainWidth is how wide rows get when nothing is wrapped: the terminal, or the
// screen reader, does that itself.
const plainWidth = 2000

// plainUI is the same conversation as lines only: nothing moves, nothing is drawn
// twice, and every choice is typed. Its goroutines are the reader of the input,
// which ends with it or with the program, and the commands of the model.
type plainUI struct {
	m     *Model
	out   io.Writer
	msgs  chan tea.Msg
	lines chan string
	shown overlay
	eof   bool
	done  bool
	said  int // lines whose outcome has not shown yet
	piped bool
}

func runPlain(ctx context.Context, o Options) (int, error) {
	m := newModel(o, nil)
	m.away, m.width, m.height, m.focused = true, plainWidth, 1000, true
	m.later = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	u := &plainUI{m: m, out: o.Out, msgs: make(chan tea.Msg), lines: make(chan string)}
	if _, err := openTerminal(o.In, o.Out); err != nil {
		u.piped = true
	}
	if len(o.Prompt) > 0 {
		u.said = 1
	}
	m.runner = func(c *exec.Cmd, then func(error) tea.Msg) tea.Cmd {
		c.Stdin, c.Stdout, c.Stderr = o.In, o.Out, o.Out
		return func() tea.Msg { return then(c.Run()) }
	}
	ctx, stop := signal.NotifyContext(ctx, watched()[len(watched())-1])
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
	if u.piped && u.m.top() == nil && (u.said > 0 || u.m.busy()) {
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
	u.flush()
	u.ask()
	if u.eof {
		u.leave()
	}
}

// leave ends the session once the input is over and nothing runs; questions that
// nobody can answer any more are declined.
func (u *plainUI) leave() {
	if len(u.m.asking) > 0 {
		u.start(u.m.asking[0].reply(u.m, protocol.Answer{Decision: protocol.Abort}))
		return
	}
	if !u.m.busy() && u.m.sess != nil && !u.m.sending && len(u.m.outbox) == 0 && !u.m.exit.closing && u.said == 0 {
		u.quit()
	}
}

func (u *plainUI) quit() { u.start(u.m.quit()) }

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
			u.said -= endings(e.events)
			u.said = max(u.said, 0)
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

// flush prints what is finished.
func (u *plainUI) flush() {
	for _, l := range u.m.above {
		u.print(l)
	}
	u.m.above = nil
}

func (u *plainUI) print(l ink.Line) {
	fmt.Fprintln(u.out, strings.TrimRight(ink.Prose(l.Text()), " "))
}

// ask shows what waits for an answer, once.
func (u *plainUI) ask() {
	o := u.m.top()
	if o == nil || o == u.shown {
		u.shown = o
		return
	}
	u.shown = o
	switch o := o.(type) {
	case *pager:
		u.print(ink.L(ink.Heading, o.title))
		for _, l := range o.draw(plainWidth, false) {
			u.print(l)
		}
		u.m.closeOverlay(o)
		u.shown = nil
	case *asker:
		u.print(ink.L(ink.Heading, o.title))
	case *picker:
		u.print(ink.L(ink.Heading, o.title))
		for i, it := range o.shown() {
			u.print(ink.L(ink.Plain, fmt.Sprintf("%d. %s  %s", i+1, oneLine(it.label), oneLine(it.detail))))
		}
		u.print(ink.L(ink.Dim, strings.TrimSpace("Type a number, a letter and a number, or an empty line to go back. "+o.foot)))
	case *hunks:
		u.hunks(o)
	case *approval:
		o.rows, o.width = o.body(u.m, plainWidth), plainWidth
		o.seen, o.shown = true, u.m.now().Add(-time.Hour)
		u.print(ink.L(ink.Warn, "? "+headline(o.a)))
		for _, l := range o.rows {
			u.print(l)
		}
		for _, x := range o.options(u.m) {
			u.print(ink.L(ink.Plain, ink.Exact(x.key+"  "+x.label)))
		}
	}
}

func (u *plainUI) hunks(h *hunks) {
	for i, x := range h.list {
		mark := "taken"
		if x.off {
			mark = "left out"
		}
		u.print(ink.L(ink.Plain, fmt.Sprintf("%d. %s  %s", i+1, ink.Exact(x.label), mark)))
		for _, l := range x.rows {
			u.print(l)
		}
	}
	u.print(ink.L(ink.Dim, "Type a number to take or leave a part, ok to accept, or an empty line to go back."))
}

// line takes a line that was typed.
func (u *plainUI) line(text string) {
	m := u.m
	switch o := m.top().(type) {
	case nil:
		if strings.TrimSpace(text) == "" {
			return
		}
		m.comp.Set(text)
		m.lastOp = nil
		c := m.enter(false)
		switch m.lastOp.(type) {
		case protocol.UserInput, protocol.Shell, protocol.Review:
			u.said++
		}
		u.start(c)
	case *asker:
		o.text = text
		u.press(o, "enter")
	case *picker:
		u.choose(o, text)
	case *hunks:
		u.chooseHunk(o, text)
	case *approval:
		k := strings.ToLower(strings.TrimSpace(text))
		switch k {
		case "yes":
			k = "y"
		case "no":
			k = "n"
		}
		for _, x := range o.options(m) {
			if x.key == k {
				c, _ := o.take(m, x)
				u.start(c)
				return
			}
		}
		u.shown = nil // not an answer: ask again
	}
}

func (u *plainUI) press(o overlay, key string) {
	c, stay := o.key(u.m, key, "")
	if !stay {
		u.m.closeOverlay(o)
	}
	if u.m.exit.closing {
		u.done = true
	}
	u.start(c)
}

func (u *plainUI) choose(p *picker, text string) {
	key, rest := "enter", strings.TrimSpace(text)
	if rest == "" {
		u.press(p, "esc")
		return
	}
	if f := strings.Fields(rest); len(f) == 2 && p.acts[f[0]] != nil {
		key, rest = f[0], f[1]
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 || n > len(p.shown()) {
		u.shown = nil
		return
	}
	p.at = n - 1
	u.press(p, key)
}

func (u *plainUI) chooseHunk(h *hunks, text string) {
	switch text = strings.TrimSpace(text); text {
	case "":
		u.press(h, "esc")
		return
	case "ok":
		u.press(h, "enter")
		return
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(h.list) {
		h.at = n - 1
		u.press(h, "space")
	}
	u.shown = nil
}

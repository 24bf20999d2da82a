package exec

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
)

// How much of a command's output and of a diff is shown.
const (
	outputLines = 10
	diffLines   = 200
)

// text prints events for people: progress on stderr, the final message on
// stdout. Everything that comes from the model, a tool or a file goes through
// Visible.
type text struct {
	out, err io.Writer
	paint    paint
	width    int
	raw      bool
	version  string
	prompt   []protocol.Input
	id       protocol.SessionID
	cwd      string
	banner   bool
	failed   error
	plan     string // the plan as last shown
	diff     *protocol.TurnDiff
	running  protocol.ItemID // the command whose line was printed last
	live     *live
	once     bool // out and err are the same terminal
	named    func(path string) string
	held     *string // the last message, which may be the final one
}

func newText(o Options) *text {
	t := &text{out: o.Stdout, err: o.Stderr, paint: paint(o.Color), width: o.Width, raw: o.RawMessage,
		version: o.Version, once: o.Once, named: o.Named}
	if t.named == nil {
		t.named = func(path string) string { return shown.Name(path, shown.Octal) }
	}
	if o.Live {
		t.live = &live{w: o.Stderr, paint: t.paint}
	}
	return t
}

// tick tells how far the running command is.
func (t *text) tick(now time.Time) { t.live.tick(now) }

// paint colours text when it is true.
type paint bool

func (p paint) on(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string   { return p.on("1", s) }
func (p paint) dim(s string) string    { return p.on("2", s) }
func (p paint) red(s string) string    { return p.on("31", s) }
func (p paint) green(s string) string  { return p.on("32", s) }
func (p paint) yellow(s string) string { return p.on("33", s) }
func (p paint) cyan(s string) string   { return p.on("36", s) }

func (t *text) broken() error { return t.failed }

// say writes one finished line to stderr. Progress that cannot be shown is not
// worth ending the turn for.
func (t *text) say(format string, args ...any) {
	t.live.clear()
	if m := t.held; m != nil { // it was not the final one
		t.held = nil
		t.message(*m)
	}
	fmt.Fprintf(t.err, format+"\n", args...)
}

func (t *text) message(s string) {
	t.say("%s\n%s\n", t.paint.cyan("kerf"), Visible(strings.TrimSpace(s)))
}

func (t *text) open(id protocol.SessionID, prompt []protocol.Input) { t.id, t.prompt = id, prompt }

func (t *text) show(m protocol.Msg) {
	switch m := m.(type) {
	case protocol.SessionStarted:
		t.start(m)
	case protocol.TurnStarted:
		t.start(protocol.SessionStarted{Session: t.id})
	case protocol.ItemStarted:
		t.started(m.Item)
	case protocol.ItemDelta:
		t.live.feed(m.Item, m.Text)
	case protocol.ItemUpdated:
		t.checklist(m.Item)
	case protocol.ItemCompleted:
		t.completed(m.Item)
	case protocol.ApprovalRequested:
		t.say("%s %s", t.paint.yellow("declined"), oneLine(asked(m.Approval)))
	case protocol.Retrying:
		t.say("%s", t.paint.yellow(fmt.Sprintf("reconnecting %d/%d in %s: %s", m.Attempt, m.Max,
			m.Delay.Round(1e8), oneLine(visible.ClipRunes(m.Cause, 500)))))
	case protocol.Warning:
		t.warn(m.Message)
	case protocol.HistoryCompacted:
		t.say("%s from about %d to %d tokens", t.paint.yellow("conversation compacted"), m.Before, m.After)
	case protocol.TurnDiff:
		t.diff = &m
	}
}

// start prints the banner and the prompt, once.
func (t *text) start(s protocol.SessionStarted) {
	if t.banner {
		return
	}
	t.banner = true
	t.cwd = s.Settings.Cwd
	t.say("%s", t.paint.bold(strings.TrimSpace("kerf "+oneLine(t.version))))
	for _, row := range [][2]string{
		{"workdir", s.Settings.Cwd}, {"model", s.Settings.Model}, {"provider", s.Provider},
		{"approval", string(s.Settings.Approval)}, {"sandbox", string(s.Settings.Sandbox)},
		{"effort", s.Settings.Effort}, {"session id", string(t.id)},
	} {
		if row[1] != "" {
			t.say("%s %s", t.paint.bold(row[0]+":"), oneLine(row[1]))
		}
	}
	t.say("--------")
	t.say("%s", t.paint.cyan("user"))
	for _, in := range t.prompt {
		if in.ImageURL != "" {
			t.say("[image]")
			continue
		}
		t.say("%s", Visible(strings.TrimRight(in.Text, "\n")))
	}
	t.say("")
}

func asked(a protocol.Approval) string {
	why := ""
	if a.Reason != "" {
		why = " (" + a.Reason + ")"
	}
	for _, q := range a.Quotes() {
		why += "\n  " + q.Who + " says: " + strings.ReplaceAll(q.Text, "\n", "\n  | ")
	}
	switch {
	case a.Command != nil:
		return "command, nobody can be asked: " + a.Command.Command + why
	case a.Change != nil:
		var paths []string
		for _, c := range a.Change.Changes {
			paths = append(paths, c.Path)
		}
		return "change, nobody can be asked: " + strings.Join(paths, ", ") + why
	case a.Tool != nil:
		return "tool, nobody can be asked: " + a.Tool.Server + "." + a.Tool.Tool + why
	}
	return "nobody can be asked" + why
}

func (t *text) warn(message string) {
	t.say("%s %s", t.paint.yellow("warning:"), indent(Visible(strings.TrimSpace(message)), "  "))
}

func (t *text) started(i protocol.Item) {
	switch b := i.Body.(type) {
	case protocol.Command:
		t.announce(i.ID, b)
		t.live.begin(i.ID)
	case protocol.TodoList:
		t.checklist(i)
	}
}

// announce says that a command runs; again before its output when another was
// announced meanwhile.
func (t *text) announce(id protocol.ItemID, c protocol.Command) {
	if t.running == id {
		return
	}
	t.running = id
	if c.Verdict != "" {
		t.say("%s %s%s", t.paint.cyan("check"), t.paint.bold(oneLine(c.Verdict)), t.paint.dim("  $ "+oneLine(c.Command)))
		return
	}
	where := ""
	if c.Cwd != "" && c.Cwd != t.cwd {
		where = t.paint.dim(" in " + oneLine(c.Cwd))
	}
	sign := "$"
	if c.Check {
		sign = "check:"
	}
	t.say("%s %s%s", t.paint.cyan(sign), t.paint.bold(indent(Visible(strings.TrimRight(c.Command, "\n")), "  ")), where)
}

func (t *text) completed(i protocol.Item) {
	switch b := i.Body.(type) {
	case protocol.AgentMessage:
		if strings.TrimSpace(b.Text) == "" {
			return
		}
		if t.once {
			t.hold(b.Text)
			return
		}
		t.message(b.Text)
	case protocol.Reasoning:
		t.block(b.Text, t.paint.dim)
	case protocol.ProposedPlan:
		t.say("%s\n%s\n", t.paint.cyan("plan"), Visible(strings.TrimSpace(b.Text)))
	case protocol.Command:
		t.live.end(i.ID)
		t.announce(i.ID, b)
		t.ran(i.Status, b)
	case protocol.FileChange:
		t.changed(i.Status, b)
	case protocol.ToolCall:
		t.called(i.Status, b)
	case protocol.SubAgent:
		t.collab(b)
	case protocol.TodoList:
		t.checklist(i)
	case protocol.WebSearch:
		t.say("%s %s", t.paint.cyan("searched the web"), oneLine(visible.ClipRunes(b.Query, 300)))
	case protocol.Problem:
		t.warn(b.Message)
	}
}

// hold keeps a message back until something else comes: as the final one it is printed once,
// at the end.
func (t *text) hold(s string) {
	if m := t.held; m != nil {
		t.held = nil
		t.message(*m)
	}
	t.held = &s
}

// block prints a paragraph, each line in its colour.
func (t *text) block(s string, colour func(string) string) {
	for _, l := range strings.Split(Visible(strings.TrimSpace(s)), "\n") {
		t.say("%s", colour(l))
	}
	t.say("")
}

func (t *text) ran(status protocol.Status, c protocol.Command) {
	for _, l := range preview(c.Output, outputLines, c.Lines) {
		t.say("  %s", t.paint.dim(t.fit(l, 2)))
	}
	switch {
	case c.Verdict != "":
	case status == protocol.Declined:
		t.say("  %s", t.paint.yellow("declined; it did not run"))
	case c.ExitCode == nil && status == protocol.Failed:
		t.say("  %s", t.paint.red("failed"))
	case c.ExitCode == nil:
		t.say("  %s", t.paint.dim("still running"))
	case *c.ExitCode != 0:
		t.say("  %s", t.paint.red(fmt.Sprintf("exit %d", *c.ExitCode)))
	default:
		t.say("  %s", t.paint.green("exit 0"))
	}
}

// preview returns the first lines of output, visible, and how many are left. Of the printed
// lines output may hold only a part.
func preview(output string, most, printed int) []string {
	kept := strings.Count(output, "\n")
	output = strings.TrimRight(output, "\r\n")
	if output == "" {
		return nil
	}
	all := strings.Split(output, "\n")
	shown := all[:min(len(all), most)]
	lines := make([]string, 0, len(shown)+1)
	for _, l := range shown {
		lines = append(lines, oneLine(visible.ClipRunes(l, 2000)))
	}
	if printed > kept+1 {
		return append(lines, fmt.Sprintf("… %s of %s", count(printed-len(shown), "more line"), thousands(printed)))
	}
	if rest := len(all) - len(shown); rest > 0 {
		lines = append(lines, fmt.Sprintf("… %s", count(rest, "more line")))
	}
	return lines
}

// fit cuts a line to the terminal, margin columns already used.
func (t *text) fit(s string, margin int) string {
	room := t.width - margin
	if t.width <= 0 || utf8.RuneCountInString(s) <= room {
		return s
	}
	return visible.ClipRunes(s, max(room, 20)-1)
}

func (t *text) changed(status protocol.Status, c protocol.FileChange) {
	s := shown.Tally(c.Diff)
	switch status {
	case protocol.Failed:
		t.say("%s %s", t.paint.red("change failed:"), oneLine(c.Error))
	case protocol.Declined:
		t.say("%s %s", t.paint.yellow("change declined:"), cmp.Or(oneLine(c.Error), "it was not allowed"))
	default:
		t.say("%s %s", t.paint.cyan("changed"), t.counts(s))
	}
	for _, p := range c.Changes {
		path := t.short(p.Path)
		if p.Moved != "" {
			path = t.short(p.Moved) + " → " + path
		}
		if p.ControlFile {
			path += " " + t.paint.yellow("(obeyed by agents, editors or build machines)")
		}
		t.say("  %s %s", letter(p.Kind), path)
	}
	t.drawDiff(c.Diff)
}

func letter(k protocol.ChangeKind) string {
	switch k {
	case protocol.Add:
		return "A"
	case protocol.Delete:
		return "D"
	}
	return "M"
}

// short is path as seen from the working directory.
func (t *text) short(path string) string {
	return t.named(filepath.ToSlash(pathname.Short(t.cwd, filepath.FromSlash(path))))
}

func (t *text) counts(s shown.Stat) string {
	return t.paint.green(fmt.Sprintf("+%d", s.Added)) + " " + t.paint.red(fmt.Sprintf("-%d", s.Removed))
}

func (t *text) drawDiff(diff string) {
	drawn := 0
	total := strings.Count(diff, "\n")
	shown.Each(diff, func(kind shown.Kind, l string) {
		if drawn++; drawn > diffLines {
			return
		}
		l = t.fit(shown.Safe(visible.ClipRunes(l, 2000)), 4)
		switch kind {
		case shown.Added:
			l = t.paint.green(l)
		case shown.Removed:
			l = t.paint.red(l)
		case shown.Hunk:
			l = t.paint.cyan(l)
		case shown.Header:
			l = t.paint.bold(l)
		}
		t.say("    %s", l)
	})
	if rest := total - diffLines; rest > 0 {
		t.say("    … %s; kerf diff shows them", count(rest, "more line"))
	}
}

func (t *text) called(status protocol.Status, c protocol.ToolCall) {
	name := c.Tool
	if c.Server != "" {
		name = c.Server + "." + c.Tool
	}
	call := oneLine(name) + " " + t.paint.dim(t.fit(oneLine(visible.ClipRunes(string(c.Args), 300)), len(name)+3))
	switch {
	case status == protocol.Declined:
		t.say("%s %s", t.paint.yellow("declined"), call)
	case c.Error != "":
		t.say("%s %s\n  %s", t.paint.red("failed"), call, oneLine(visible.ClipRunes(c.Error, 500)))
	case status == protocol.Failed:
		t.say("%s %s", t.paint.red("failed"), call)
	default:
		t.say("%s %s", t.paint.cyan("tool"), call)
	}
}

// checklist prints the plan when it changed.
func (t *text) checklist(i protocol.Item) {
	todo, ok := i.Body.(protocol.TodoList)
	if !ok {
		return
	}
	var b strings.Builder
	for _, s := range todo.Steps {
		box := "☐"
		switch s.Status {
		case "completed":
			box = "☑"
		case "in_progress":
			box = "▸"
		}
		fmt.Fprintf(&b, "\n  %s %s", box, oneLine(s.Step))
	}
	if now := b.String(); now != t.plan {
		t.plan = now
		why := ""
		if todo.Explanation != "" {
			why = " " + t.paint.dim(oneLine(todo.Explanation))
		}
		t.say("%s%s%s", t.paint.cyan("plan"), why, now)
	}
}

func (t *text) end(e ending) {
	t.live.begin("")
	if e.done != nil && t.held != nil && *t.held == e.done.LastMessage {
		t.held = nil // it is printed at the end
	}
	t.start(protocol.SessionStarted{Session: t.id})
	t.summary()
	if e.done == nil {
		t.say("%s %s", t.paint.red("error:"), indent(Visible(e.message), "  "))
		return
	}
	u := e.done.Usage
	t.say("%s %s (input %s, cached %s, output %s)", t.paint.dim("tokens used:"), thousands(u.Total()),
		thousands(u.Input), thousands(u.Cached), thousands(u.Output))
	message := e.done.LastMessage
	if message == "" {
		return
	}
	if !t.raw {
		message = Visible(message)
	}
	if t.once {
		t.say("")
	}
	if !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	_, t.failed = io.WriteString(t.out, message)
}

// mostSummed bounds how many files a summary names.
const mostSummed = 40

// summary prints what the turn changed in all.
func (t *text) summary() {
	d := t.diff
	if d == nil || d.Diff == "" && d.Exact && d.Outside == "" && d.Coverage() == "" {
		return
	}
	if files := shown.Files(d.Diff); len(files) > 0 {
		t.say("%s %s %s", t.paint.bold("turn:"), count(len(files), "file"), t.counts(shown.Tally(d.Diff)))
		for i, f := range files {
			if i == mostSummed {
				t.say("  %s", t.paint.dim("and "+thousands(len(files)-i)+" more: kerf diff --stat"))
				break
			}
			t.say("  %s %s", t.named(f.Name), t.counts(f.Stat))
		}
	}
	if !d.Exact && len(d.NotCovered) == 0 {
		t.warn("the turn's diff is not exact: " + d.Note)
	}
	if n := len(d.Unproven); n > 0 {
		t.say("%s", t.paint.dim(count(n, "file")+" changed while a command ran; nobody saw by whom (unproven)"))
	}
	switch s := d.Coverage(); {
	case len(d.NotCovered) > 0:
		t.warn(s)
	case s != "":
		t.say("%s", t.paint.dim(s))
	}
	if n := len(shown.Files(d.Outside)); n > 0 {
		t.say("%s", t.paint.yellow(count(n, "file")+" changed during the turn, by somebody else than this turn"))
	}
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// thousands writes n with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func indent(s, by string) string { return strings.ReplaceAll(s, "\n", "\n"+by) }

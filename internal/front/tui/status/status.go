// Package status is what is known of a session beside its conversation, and how that is
// drawn: the status line, the terminal's title, the pages of /status and /usage.
package status

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// Session is what is known of a session.
type Session struct {
	ID        protocol.SessionID
	Settings  protocol.Settings
	Title     string
	Branch    string
	Resumed   bool
	Limits    map[string]string
	Processes []protocol.Process // that run in the background
	Over      []protocol.Process // the last ones of those that ended there
	Agents    []protocol.Agent
	Servers   []protocol.Server
	// Price tells what tokens cost in dollars; nil when that is not known.
	Price func(model string, u protocol.Usage) (float64, bool)
	// Try is the number of the try that the session works in, 0 for none.
	Try int
	// Items are what the status line tells, in this order; nil is what it tells by itself. See Items.
	Items []string
	// Said is what the user's own command says for the status line.
	Said string
	// Home is the user's home directory, by which paths are shortened.
	Home string
}

// Event takes an event that tells something about the session, and reports whether it
// is one.
func (s *Session) Event(msg protocol.Msg) bool {
	switch b := msg.(type) {
	case protocol.SessionStarted:
		s.ID, s.Settings, s.Resumed = b.Session, b.Settings, b.Resumed
	case protocol.SettingsChanged:
		s.Settings = b.Settings
	case protocol.TitleChanged:
		s.Title = b.Title
	case protocol.RateLimits:
		s.Limits = b.Values
	case protocol.Processes:
		s.Processes, s.Over = b.Running, b.Over
	case protocol.Agents:
		s.Agents = b.Agents
	case protocol.Servers:
		s.Servers = b.Servers
	default:
		return false
	}
	return true
}

// ServerPrompt reports whether name is a prompt of an MCP server, as server:prompt.
func (s *Session) ServerPrompt(name string) bool {
	server, prompt, ok := strings.Cut(name, ":")
	for _, x := range s.Servers {
		if ok && x.Name == server && slices.Contains(x.Prompts, prompt) {
			return true
		}
	}
	return false
}

// ShortHome writes a path below the user's home with "~".
func (s *Session) ShortHome(path string) string {
	if s.Home == "" {
		return path
	}
	if rel, err := filepath.Rel(s.Home, path); err == nil && !strings.HasPrefix(rel, "..") {
		return strings.TrimSuffix("~/"+filepath.ToSlash(rel), "/.")
	}
	return path
}

// AgentName is the name of a sub-agent, or the start of its id.
func (s *Session) AgentName(id protocol.SessionID) string {
	for _, a := range s.Agents {
		if a.ID == id {
			return conversation.AgentName(a)
		}
	}
	return conversation.AgentName(protocol.Agent{ID: id})
}

// Permissions words what may happen unasked.
func (s *Session) Permissions() (string, style.Role) {
	x := s.Settings
	switch {
	case x.Approval == "" && x.Sandbox == "":
		return "", style.Dim
	case x.Approval == protocol.PolicyPlan:
		return "plan", style.Accent
	case x.Sandbox == protocol.SandboxFull && x.Approval == protocol.PolicyNever:
		return "full access, asks nothing", style.Bad
	case x.Sandbox == protocol.SandboxFull:
		return "full access, " + string(x.Approval), style.Warn
	}
	return string(x.Sandbox) + ", " + string(x.Approval), style.Dim
}

// Cost is what tokens cost; empty when prices are not known.
func (s *Session) Cost(u protocol.Usage) string {
	if s.Price == nil || u.Total() == 0 {
		return ""
	}
	c, ok := s.Price(s.Settings.Model, u)
	if !ok {
		return ""
	}
	return humanize.Dollars(c)
}

func (s *Session) runningAgents() int {
	n := 0
	for _, a := range s.Agents {
		if a.State == "running" || a.State == "waiting" {
			n++
		}
	}
	return n
}

func (s *Session) model() string {
	return strings.TrimSpace(s.Settings.Model + " " + s.Settings.Effort)
}

// Banner is the first thing that a session shows.
func (s *Session) Banner(version, about string, width int) []style.Line {
	l := style.Line{style.Bold(style.Heading, "Kerf "+version), style.S(style.Dim, "  "+s.Settings.Model)}
	if s.Settings.Effort != "" {
		l = append(l, style.S(style.Dim, " "+s.Settings.Effort))
	}
	rows := style.Wrap(append(l, style.S(style.Dim, "  "+s.ShortHome(s.Settings.Cwd))), width)
	if about != "" {
		rows = append(rows, style.WrapText(style.Warn, about, width)...)
	}
	if !s.Resumed {
		how := "/help for commands, @ for files, ! for the shell, ctrl+d to leave"
		rows = append(rows, style.Wrap(style.L(style.Dim, how), width)...)
	}
	return rows
}

// Shown is what the status line and the title tell beside the session.
type Shown struct {
	Conversation *conversation.Conversation
	Vi           string // the mode of vi, if that is on
	Agent        string // the sub-agent that is looked at, if any
	Questions    int    // that wait
}

// WindowTitle is the terminal's title.
func (s *Session) WindowTitle(x Shown) string {
	name := s.Title
	if name == "" {
		name = humanize.Base(s.Settings.Cwd)
	}
	mark := ""
	switch {
	case x.Questions > 0:
		mark = "? "
	case x.Conversation.Running:
		mark = "● "
	}
	if name == "" {
		return mark + "kerf"
	}
	return style.L(style.Plain, mark+style.OneLine(name)+" – kerf").Cut(80).Text()
}

// fact is a line of a name and what is known of it.
func fact(width int, name, value string) []style.Line {
	if value == "" {
		return nil
	}
	head := fmt.Sprintf("%-16s", name)
	return style.Prefix(style.WrapText(style.Plain, value, width-16), style.S(style.Dim, head),
		style.Span{Text: strings.Repeat(" ", 16)})
}

// Rows is the page of /status.
func (s *Session) Rows(c *conversation.Conversation, version string, width int) []style.Line {
	policy, _ := s.Permissions()
	var rows []style.Line
	for _, f := range [][2]string{{"Version", version}, {"Session", string(s.ID)}, {"Title", s.Title},
		{"Directory", s.Settings.Cwd},
		{"Branch", s.Branch}, {"Model", s.model()}, {"May do", policy}, {"Context", c.ContextLeft()}} {
		rows = append(rows, fact(width, f[0], f[1])...)
	}
	rows = append(rows, s.UsageRows(c, width)...)
	for _, n := range slices.Sorted(maps.Keys(s.Limits)) {
		rows = append(rows, fact(width, style.OneLine(n), s.Limits[n])...)
	}
	for _, x := range s.Servers {
		rows = append(rows, fact(width, "MCP "+x.Name, strings.TrimSpace(x.State+" "+x.Error))...)
	}
	return rows
}

// UsageRows is the page of /usage.
func (s *Session) UsageRows(c *conversation.Conversation, width int) []style.Line {
	var rows []style.Line
	line := func(name string, u protocol.Usage) {
		if u == (protocol.Usage{}) {
			return
		}
		rows = append(rows, fact(width, name, fmt.Sprintf("%s in (%s cached), %s out (%s reasoning)",
			humanize.Tokens(u.Input), humanize.Tokens(u.Cached), humanize.Tokens(u.Output), humanize.Tokens(u.Reasoning)))...)
	}
	line("This turn", c.Tokens.Turn)
	line("This session", c.Tokens.Total)
	if u := c.Tokens.Total; u.Input > 0 {
		rows = append(rows, fact(width, "Cache hits", fmt.Sprintf("%d%%", 100*u.Cached/u.Input))...)
	}
	if all := s.Cost(c.Tokens.Total); all != "" {
		if turn := s.Cost(c.Tokens.Turn); turn != "" {
			all = turn + " this turn, " + all
		}
		rows = append(rows, fact(width, "Cost", all+" this session")...)
	}
	if len(rows) == 0 {
		rows = fact(width, "Tokens", "none used yet")
	}
	return rows
}

// ContextRows is the page of /context: what fills the context window.
func ContextRows(c *conversation.Conversation, width int) []style.Line {
	used, window := humanize.Tokens(c.Tokens.Last.Total()), humanize.Tokens(c.Tokens.Window)
	last := fmt.Sprintf("%s tokens of %s, %s", used, window, c.ContextLeft())
	return append(fact(width, "Last request", last), c.Transcript.WeightRows(width)...)
}

package commands

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
	"kerf/internal/text/pattern"
)

// setGoal starts a turn with a goal.
func setGoal(c *Commands, words string) tea.Cmd {
	g, err := goalOf(words)
	if err != nil {
		c.ui.Notice(style.Warn, err.Error())
		return nil
	}
	return c.ui.Submit(protocol.UserInput{Items: []protocol.Input{{Text: g.Text}}, Goal: &g})
}

// checks is the word that bounds how often a check runs.
var checks = pattern.Lazy(`(?:^|\s)--max-checks[ =](\S+)`)

// goalOf reads TEXT --check COMMAND --max-checks N. The command goes to the end of the line.
func goalOf(words string) (g protocol.Goal, err error) {
	if m := checks().FindStringSubmatch(words); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 {
			return g, fmt.Errorf("--max-checks %s: give a number, 1 or more", m[1])
		}
		g.Checks = n
		words = strings.Replace(words, m[0], "", 1)
	}
	text, check, found := strings.Cut(" "+words+" ", " --check ")
	g.Text, g.Check = unquoted(text), unquoted(check)
	switch {
	case g.Text == "":
		return g, fmt.Errorf("what is the goal? /goal TEXT --check COMMAND")
	case found && g.Check == "":
		return g, fmt.Errorf("--check: name the command that passes when the goal is reached")
	case g.Checks > 0 && g.Check == "":
		return g, fmt.Errorf("--max-checks is about a check: add --check COMMAND")
	}
	return g, nil
}

// unquoted is a text without the quotes around all of it.
func unquoted(s string) string {
	s = strings.TrimSpace(s)
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] && strings.Count(s, s[:1]) == 2 {
		return strings.TrimSpace(s[1 : n-1])
	}
	return s
}

// repetition is a request that is made again and again.
type repetition struct {
	every   time.Duration
	words   string
	session protocol.SessionID
}

// shortest is the least time between two requests of a loop.
const shortest = 10 * time.Second

// loop begins, shows or ends the repetition of a request.
func loop(c *Commands, words string) tea.Cmd {
	spec, request, _ := strings.Cut(words, " ")
	request = strings.TrimSpace(request)
	switch {
	case words == "" && c.looping == nil:
		c.ui.Notice(style.Dim, "nothing is repeated; /loop 10m REQUEST begins")
		return nil
	case words == "":
		c.ui.Notice(style.Dim, fmt.Sprintf("every %s: %s; /loop stop ends it", short(c.looping.every), c.looping.words))
		return nil
	case words == "stop" || words == "off":
		c.stopLoop("ended")
		return nil
	case c.ui.Lines:
		c.ui.Notice(style.Warn, "lines have no clock; kerf schedule repeats a request without a window")
		return nil
	}
	every, err := time.ParseDuration(spec)
	switch {
	case err != nil || request == "":
		c.ui.Notice(style.Warn, "write /loop TIME REQUEST, such as /loop 10m look at CI; /loop stop ends it")
		return nil
	case every < shortest:
		c.ui.Notice(style.Warn, fmt.Sprintf("/loop %s: the shortest time is %s", spec, short(shortest)))
		return nil
	}
	c.looping = &repetition{every, request, c.ui.Session.ID}
	c.ui.Notice(style.Dim, fmt.Sprintf("repeated every %s while this window is open; /loop stop ends it", short(every)))
	return c.again(c.looping)
}

// stopLoop ends the repetition.
func (c *Commands) stopLoop(how string) {
	if c.looping == nil {
		c.ui.Notice(style.Dim, "nothing is repeated")
		return
	}
	c.ui.Notice(style.Dim, fmt.Sprintf("the repetition of %q %s", c.looping.words, how))
	c.looping = nil
}

// again makes the request, unless the last one is still at work, and comes back when the
// next one is due.
func (c *Commands) again(r *repetition) tea.Cmd {
	if c.looping != r {
		return nil
	}
	if r.session != c.ui.Session.ID {
		c.stopLoop("ended, since it belonged to another session")
		return nil
	}
	next := c.ui.After(r.every, func() tea.Cmd { return c.again(r) })
	if c.ui.Conversation("").Running {
		c.ui.Notice(style.Dim, "a turn runs, so /loop leaves this time out")
		return next
	}
	text := r.words
	if name, words, _ := strings.Cut(strings.TrimPrefix(text, "/"), " "); strings.HasPrefix(text, "/") {
		for _, p := range c.ui.Input.Prompts {
			if p.Name == name && !p.Skill {
				text = p.Expand(words)
			}
		}
	}
	return tea.Batch(next, c.ui.Submit(protocol.UserInput{Items: []protocol.Input{{Text: text}}, Queue: true}))
}

// short is a time without the parts that are zero.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

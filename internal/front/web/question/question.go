// Package question draws what the user is asked, and reads what the page answers.
package question

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"kerf/internal/front/tui/approval"
	"kerf/internal/front/web/form"
	"kerf/internal/front/web/render"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// View is an open question as templates draw it.
type View struct {
	ID, Headline, Reason, Shown, Elsewhere string
	Agent, Session                         protocol.SessionID
	Quotes                                 []Quote
	Facts                                  []Fact
	Exact, Rows                            any
	Choices                                []protocol.Choice
	Free, Control, Telling                 bool
	URL                                    string
	Fields                                 []Field
	Options                                []Option
}

type Quote struct {
	Who  string
	Text any
}

type Fact struct {
	Class string
	Text  any
}

type Option struct {
	Decision     protocol.Decision
	Label, Class string
}

// digest stands for all that a question says, so that an answer is one to what the page
// showed and to nothing else.
func digest(a protocol.Approval) string {
	b, _ := json.Marshal(a)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Of draws what is asked in a session, whole: nothing in it is invisible or shortened.
// Control says that it can be answered here.
func Of(id protocol.SessionID, a protocol.Approval, control bool) View {
	v := View{ID: string(a.ID), Headline: approval.Headline(a), Reason: a.Reason, Shown: digest(a), Agent: a.Agent,
		Session: id, Control: control, Telling: true}
	for _, q := range a.Quotes() {
		v.Quotes = append(v.Quotes, Quote{q.Who, render.Exact(q.Text)})
	}
	add := func(class, text string) { v.Facts = append(v.Facts, Fact{class, render.Exact(text)}) }
	switch {
	case a.Command != nil:
		add("fact", "in "+a.Command.Cwd)
		if a.Command.Unsandboxed {
			add("danger", "without the sandbox: it can reach everything that you can")
		}
		v.Exact = render.Exact(a.Command.Command)
	case a.Change != nil:
		for _, c := range a.Change.Changes {
			add("fact", string(c.Kind)+" "+c.Path)
			if c.ControlFile {
				add("danger", c.Path+": agents, editors or build machines obey this file")
			}
		}
		d := render.Parse(a.Change.Diff)
		v.Rows = d.Exact()
	case a.Tool != nil:
		add("fact", a.Tool.Server+"."+a.Tool.Tool)
		if a.Tool.Changed != "" {
			add("danger", "this tool changed since you allowed it: "+a.Tool.Changed)
		}
		v.Exact = render.JSON(json.RawMessage(a.Tool.Args))
	case a.Network != nil:
		add("fact", fmt.Sprintf("%s, port %d", a.Network.Host, a.Network.Port))
		v.Exact = render.Exact(a.Network.Command)
	case a.Question != nil:
		v.asked(a.Question)
	}
	v.Options = options(a)
	return v
}

func (v *View) asked(q *protocol.Question) {
	v.Choices, v.Telling = q.Options, q.Server == ""
	switch {
	case q.URL != "":
		v.Facts = append(v.Facts, Fact{"fact", render.Exact(q.URL)})
		if (strings.HasPrefix(q.URL, "https://") || strings.HasPrefix(q.URL, "http://")) && render.Clear(q.URL) {
			v.URL = q.URL
		}
	case len(q.Schema) > 0:
		f, err := form.Parse(q.Schema)
		if err != nil {
			v.Elsewhere = "This form cannot be filled in here: " + err.Error() +
				". Try it where the session runs: kerf attach. It can be declined here."
			return
		}
		v.Fields = fields(v.ID, f)
	default:
		v.Free = q.Server == "" && (q.Free || len(q.Options) == 0)
	}
}

// options are the answers that a question takes.
func options(a protocol.Approval) []Option {
	no := []Option{{protocol.Deny, "No", ""}, {protocol.Abort, "No, and stop the turn", "abort"}}
	if c := a.Change; c != nil && c.Unseen {
		return []Option{{protocol.Once, "Take them back, too", "allow"}, {protocol.Deny, "Leave them, take back the rest", ""},
			{protocol.Abort, "Take nothing back", "abort"}}
	}
	if q := a.Question; q != nil {
		return append(accepting(q), no...)
	}
	out := []Option{{protocol.Once, "Yes, once", "allow"}}
	session := func(label string) { out = append(out, Option{protocol.ForSession, label, ""}) }
	switch {
	case a.Command != nil:
		if p := a.Command.Prefix; len(p) > 0 {
			session("Yes, and in this session every command that begins with: " + visible.Line(strings.Join(p, " ")))
		} else {
			session("Yes, and exactly this command again in this session")
		}
		if a.Command.Rule != "" {
			out = append(out, Option{protocol.Always, "Yes, and always by this rule: " + visible.Line(a.Command.Rule), ""})
		}
	case a.Change != nil:
		session("Yes, and all changes inside the workspace in this session")
	case a.Tool != nil:
		session("Yes, and this tool in this session")
		out = append(out, Option{protocol.Always, "Yes, and this tool always", ""})
	case a.Network != nil:
		session("Yes, and " + visible.Line(a.Network.Host) + " in this session")
	}
	return append(out, no...)
}

// accepting are the answers that say yes to a question of the model or a server.
func accepting(q *protocol.Question) []Option {
	yes := func(label string) []Option { return []Option{{protocol.Once, label, "allow"}} }
	switch {
	case q.Server == "":
		return yes("Answer")
	case q.URL != "" || len(q.Schema) == 0:
		return yes("Yes")
	}
	if _, err := form.Parse(q.Schema); err != nil {
		return nil
	}
	return yes("Send the form")
}

// Misuse is an answer that the question does not take.
type Misuse string

func (m Misuse) Error() string { return string(m) }

// Decide makes the answer that the values of a form give to a.
func Decide(values url.Values, a protocol.Approval) (protocol.Answer, error) {
	ans := protocol.Answer{Approval: a.ID, Decision: protocol.Decision(values.Get("decision")),
		Words: strings.ReplaceAll(values.Get("words"), "\r\n", "\n")}
	if values.Get("shown") != digest(a) {
		return ans, Misuse("nothing was answered: the question is not the one that the page showed; load the page again")
	}
	if !slices.ContainsFunc(options(a), func(o Option) bool { return o.Decision == ans.Decision }) {
		return ans, Misuse("decision: choose one of the answers that the page offers")
	}
	q := a.Question
	if q == nil || ans.Decision != protocol.Once || q.URL != "" {
		return ans, nil
	}
	if q.Server != "" {
		return filledIn(ans, q, values)
	}
	text := values.Get("choice")
	if free := strings.TrimSpace(values.Get("free")); free != "" && (q.Free || len(q.Options) == 0) {
		text = free
	} else if !slices.ContainsFunc(q.Options, func(c protocol.Choice) bool { return c.Label == text }) {
		return ans, Misuse("choose an answer, or write one")
	}
	ans.Content, _ = json.Marshal(text)
	return ans, nil
}

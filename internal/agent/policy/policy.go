// Package policy decides whether an action may run, must be asked about, or is
// refused. It is pure: it sees words, never the machine.
//
// For commands it only decides whether to ask. The sandbox is what confines them.
// In doubt it asks, and a rule that forbids beats one that allows.
package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kerf/internal/protocol"
	"kerf/internal/text/shell"
)

// Verdict is what may happen to an action.
type Verdict int

// The verdicts.
const (
	Allow Verdict = iota
	Ask
	Refuse
)

// String is the verdict as `kerf debug command-safety` prints it.
func (v Verdict) String() string { return [...]string{"auto", "ask", "deny"}[v] }

// Judgement is a verdict with its reason: for the user when asked, for the model
// when refused.
type Judgement struct {
	Verdict Verdict
	Reason  string
	// Says is the model's own word why, which nobody checked.
	Says string
	// Unsandboxed says that the command, once allowed, runs without the sandbox.
	Unsandboxed bool
	// By names what decided: a rule, a list, the approval policy.
	By string
	// Prefix and Rule are what may be offered beyond this one time.
	Prefix []string
	Rule   string
	// Covers says in words what Rule allows.
	Covers string
	// Targets are words of paths that would be deleted, as the shell has yet to
	// read them.
	Targets []Word
}

// Rules are the settings that judge.
type Rules struct {
	// Mode is what is asked about, and what commands may reach.
	Mode protocol.Mode
	// List are the rules of all files, in any order.
	List []Rule
	// Memory is what was allowed in this session; may be nil.
	Memory *Memory
	// Confined says that whoever is asked is not the user. No answer lets a command out of the
	// sandbox then, calls the tool of a server or reaches a host: what the user configured does.
	Confined bool
}

// Command is what is known of a command to be judged.
type Command struct {
	Line string
	// Dir is where it runs; Repo is the root of the repository there, or empty.
	Dir, Repo string
	// Escalate asks to run without the sandbox; Reason is the model's word why.
	Escalate bool
	Reason   string
	// Place is what the machine knows of where it runs; nil judges the words alone.
	Place Place
	// Bound sums up what the command would start now: programs, scripts, directory and
	// environment. What was allowed once is allowed for the same sum; nil has none.
	Bound func() string
	// Stands has what runs for words that the user's shell defines: the values of
	// aliases, the bodies of functions.
	Stands map[string]string
}

// Explanation is a judgement with what led to it.
type Explanation struct {
	Judgement
	Parsed *Parsed
	Harm   Harm
}

// Command judges a command.
func (r Rules) Command(c Command) Judgement { return r.Explain(c).Judgement }

// Explain judges a command and tells how.
func (r Rules) Explain(c Command) Explanation {
	p := Parse(c.Line)
	e := Explanation{Parsed: p, Harm: p.Harm()}
	e.Judgement = r.judge(c, p, e.Harm)
	r.standIn(&e, c)
	if e.Verdict == Ask {
		e.Says = c.Reason
		e.Targets = e.Harm.Targets
		e.offer(p, c, e.Harm)
	}
	return e
}

func (r Rules) judge(c Command, p *Parsed, h Harm) Judgement {
	outside := c.Escalate && r.Mode.Sandbox() != protocol.SandboxFull
	allowed := r.Memory.allowsCommand(c, outside)
	rule, found := r.restricts(RuleForbid, p, c)
	switch {
	case found == yes:
		return refuse("rule "+rule.At(), "the rule %s forbids this%s. Do not try it in another way", rule, because(rule))
	case found == maybe && !allowed:
		return r.ask(outside, "rule "+rule.At(), "it may run what the rule %s forbids%s", rule, given(rule))
	}
	if why := p.unclear(); why != "" && !allowed && slices.ContainsFunc(r.List, func(x Rule) bool {
		return x.Decision == RuleForbid && x.within(c, nil) != no
	}) {
		return r.ask(outside, "what cannot be read", "%s, so it cannot be compared with the rules that forbid commands", why)
	}
	if r.Mode.Plans() {
		if p.SafeAt(c) && !outside {
			return Judgement{By: "it only reads"}
		}
		return refuse("plan mode", "this is plan mode: nothing may be changed, and this command is not known to only read. "+
			"Use the read tools, or a plain read-only command, and propose the plan")
	}
	if rule, found := r.restricts(RulePrompt, p, c); found != no && !allowed {
		return r.ask(outside, "rule "+rule.At(), "the rule %s asks for your approval%s", rule, given(rule))
	}
	if allowed {
		return Judgement{Unsandboxed: outside, By: "allowed for this session"}
	}
	if h.Level == Grave {
		return r.ask(outside, "the danger list", "%s", h.Why)
	}
	if rule, ok := r.grants(p, c, outside); ok {
		return Judgement{Unsandboxed: outside, By: "rule " + rule.At()}
	}
	if outside {
		return r.leave(c)
	}
	return r.inside(p, c, h)
}

// leave judges a wish to run without the sandbox.
func (r Rules) leave(c Command) Judgement {
	if r.Confined {
		return r.keep("the model's request to leave the sandbox")
	}
	if r.Mode.Approval() == protocol.PolicyNever {
		return refuse("approval policy never",
			"asking to leave the sandbox is pointless here: the approval policy is never. "+
				"Work within the sandbox, or tell the user what you need")
	}
	return Judgement{Verdict: Ask, Unsandboxed: true, By: "the model's request to leave the sandbox",
		Reason: "the model asks to run this without the sandbox"}
}

// inside judges a command by the approval policy alone.
func (r Rules) inside(p *Parsed, c Command, h Harm) Judgement {
	switch approval := r.Mode.Approval(); approval {
	case protocol.PolicyUntrusted, protocol.PolicyAutoEdit:
		if p.SafeAt(c) {
			return Judgement{By: "it only reads"}
		}
		return r.ask(false, "approval policy "+string(approval), "%s", p.whyUnsafe(c, h))
	case protocol.PolicyNever:
		return Judgement{By: "approval policy never"}
	}
	full := r.Mode.Sandbox() == protocol.SandboxFull
	switch {
	case h.Level == Wide, h.Level == Risky && full:
		return r.ask(false, "the danger list", "%s", h.Why)
	case full && p.unclear() != "":
		return r.ask(false, "what cannot be read", "%s, and no sandbox would hold it", p.unclear())
	case full && p.sets != "":
		return r.ask(false, "what cannot be read", "%s changes what programs do, and no sandbox would hold them", p.sets)
	case full:
		return Judgement{By: "approval policy " + string(r.Mode.Approval())}
	}
	return Judgement{By: "the sandbox confines the command"}
}

// keep refuses to let a command out of the sandbox of a session that is confined to it.
func (r Rules) keep(by string) Judgement {
	return refuse(by, "no command leaves the sandbox here: a client of the user's server began this session, and does "+
		"not stand for the user. Work within the sandbox, or tell the user what you need")
}

// ask asks, or refuses where nobody may be asked.
func (r Rules) ask(outside bool, by, format string, args ...any) Judgement {
	if outside && r.Confined {
		return r.keep(by)
	}
	why := fmt.Sprintf(format, args...)
	if r.Mode.Approval() == protocol.PolicyNever {
		why, said, _ := strings.Cut(why, "\n") // the words of a rule stay on a line of their own
		why += ", and the approval policy is never. Find a safer way, or tell the user what you need\n" + said
		return refuse(by, "%s", strings.TrimSuffix(why, "\n"))
	}
	return Judgement{Verdict: Ask, Reason: why, Unsandboxed: outside, By: by}
}

// restricts finds the rule of a kind that speaks most surely of any command of the line.
func (r Rules) restricts(kind RuleDecision, p *Parsed, c Command) (by Rule, found holds) {
	for _, rule := range r.List {
		if rule.Decision != kind {
			continue
		}
		if h := rule.touches(p, c); h > found {
			by, found = rule, h
		}
		if found == yes {
			break
		}
	}
	return by, found
}

// grants finds out whether rules allow every command of a plain line that is not
// safe anyway. What leaves the sandbox has to be the only command of its line: the rule
// names one, and the others would leave with it.
func (r Rules) grants(p *Parsed, c Command, outside bool) (by Rule, ok bool) {
	if !p.Plain() || outside && len(p.Commands) != 1 {
		return Rule{}, false
	}
	all := append(r.Memory.Rules(), r.List...)
	dirs := p.Dirs(c)
	for n, s := range p.Commands {
		i := slices.IndexFunc(all, func(rule Rule) bool {
			return rule.Decision == RuleAllow && (rule.Unsandboxed || !outside) && rule.covers(s, c, dirs[n])
		})
		switch {
		case i >= 0:
			by, ok = all[i], true
		case s.Started || s.whyUnsafe(c, dirs[n]) != "":
			return Rule{}, false
		}
	}
	return by, ok
}

// Change judges a change of files inside the workspace. Steering are those that
// agents, editors or machines obey.
func (r Rules) Change(paths []string, steering []string) Judgement {
	asks, by := r.Mode.Edits()
	switch {
	case r.Mode.Plans():
		return refuse(by, "this is plan mode: no file may be changed. Propose the change in the plan")
	case asks == protocol.EditsRefused:
		return refuse(by, "the sandbox is read-only and nobody can be asked: no file may be changed. "+
			"Tell the user to run with --sandbox workspace-write")
	case asks == protocol.EditsFree && r.Mode.Approval() == protocol.PolicyNever:
		return Judgement{By: by}
	case r.Memory.allowsPaths(paths):
		return Judgement{By: "allowed for this session"}
	case len(steering) > 0:
		return Judgement{Verdict: Ask, By: "the list of control files",
			Reason: "agents, editors or build machines obey " + strings.Join(steering, ", ")}
	case asks == protocol.EditsAsk && by == "sandbox read-only":
		return Judgement{Verdict: Ask, Reason: "the sandbox is read-only", By: by}
	case asks == protocol.EditsAsk:
		return Judgement{Verdict: Ask, Reason: "file changes need approval (" + by + ")", By: by}
	}
	return Judgement{By: by}
}

// CommandSafety is the verdict on an argument list where only what is known to
// read runs unasked. It runs where at says.
func (r Rules) CommandSafety(at Command, argv []string) (Explanation, error) {
	if len(argv) == 0 {
		return Explanation{}, errors.New("expected at least one word")
	}
	at.Line = shell.Line(argv)
	return r.Explain(at), nil
}

func refuse(by, format string, args ...any) Judgement {
	return Judgement{Verdict: Refuse, Reason: fmt.Sprintf(format, args...), By: by}
}

// given is the reason of a rule on a line of its own: whoever wrote the rule says it.
func given(r Rule) string {
	if r.Why == "" {
		return ""
	}
	return "\nThe rule says: " + r.Why
}

func because(r Rule) string {
	if r.Why == "" {
		return ""
	}
	return " because " + r.Why
}

package importing

import (
	"maps"
	"slices"
	"strings"

	"kerf/internal/config"
	"kerf/internal/text/pattern"
)

// plainWords are first words of a command that mean the same as a rule.
var plainWords = pattern.Lazy(`^[\w./@%+=-]+(?: [\w./@%+=-]+)*$`)

// rule plans a rule about the commands that begin with words, or that are just these. Nothing
// becomes wider than it was.
func (p *plan) rule(from, what, words string, exactly bool, verdict string) {
	if !plainWords().MatchString(words) {
		p.add(None, from, what, "Kerf has no equal rule", nil)
		return
	}
	line := words + " -> " + verdict
	if exactly && verdict == "allow" {
		line += " exactly"
	}
	if config.HasRule(p.o.Kerf, line) || slices.Contains(p.ruled, line) {
		p.add(Kept, from, "rule "+line, "there is one already", nil)
		return
	}
	p.ruled = append(p.ruled, line)
	p.add(Write, from, "rule "+line, "", func() error { return config.AddRule(p.o.Kerf, line) })
}

// kindsOfRules are the words of agents for what becomes of a command.
var kindsOfRules = []struct{ key, verdict string }{{"deny", "forbid"}, {"ask", "prompt"}, {"allow", "allow"}}

// modes are the approval policies that other agents call otherwise. What asks nobody is not
// carried over.
var modes = map[string]string{"plan": "plan", "acceptEdits": "auto-edit", "auto_edit": "auto-edit", "default": "on-request"}

// mode plans the approval policy.
func (p *plan) mode(from, what, name string) {
	if policy, ok := modes[name]; ok {
		p.setting(from, "", policy, "approval_policy")
		return
	}
	p.add(None, from, what, "see approval_policy in kerf help config", nil)
}

// permissions plans what Claude Code allows, asks about and denies.
func (p *plan) permissions(from string, table any) {
	all, _ := table.(map[string]any)
	for _, kind := range kindsOfRules {
		for _, text := range texts(all[kind.key]) {
			what := "permissions." + kind.key + " " + text
			words, ok := within(text, "Bash")
			if server, tool, cut := strings.Cut(strings.TrimPrefix(text, "mcp__"), "__"); cut && kind.verdict == "allow" &&
				strings.HasPrefix(text, "mcp__") && p.tree.Get("mcp_servers", server) != nil {
				p.setting(from, "", "approve", "mcp_servers", server, "tools", tool, "approval_mode")
				continue
			}
			if path, read := within(text, "Read"); read && kind.key == "deny" {
				p.add(None, from, what, "hide "+path+` from everything with "none" in permissions.NAME.filesystem; see `+
					"kerf help sandbox", nil)
				continue
			}
			if !ok {
				p.add(None, from, what, "Kerf has no equal rule", nil)
				continue
			}
			begins, open := cutAny(words, ":*", " *")
			p.rule(from, what, begins, !open, kind.verdict)
		}
	}
	if name, ok := all["defaultMode"].(string); ok {
		p.mode(from, "permissions.defaultMode", name)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains([]string{"deny", "ask", "allow", "defaultMode"}, key) {
			p.add(None, from, "permissions."+key, "Kerf has no equal", nil)
		}
	}
}

// commandsOf plans what other agents allow or deny in a list of NAME(WORDS), where words are the
// beginning of a command.
func (p *plan) commandsOf(from, key, name, verdict string, list any) {
	for _, text := range texts(list) {
		words, ok := within(text, name)
		if !ok {
			p.add(None, from, key+" "+text, "Kerf has no equal rule", nil)
			continue
		}
		begins, _ := cutAny(words, ":*", " *", "*")
		p.rule(from, key+" "+text, begins, false, verdict)
	}
}

// within is what stands in NAME(…).
func within(text, name string) (string, bool) {
	text, ok := strings.CutPrefix(text, name+"(")
	if !ok || !strings.HasSuffix(text, ")") {
		return "", false
	}
	return strings.TrimSpace(strings.TrimSuffix(text, ")")), true
}

// cutAny cuts the first of the ends that is there.
func cutAny(text string, ends ...string) (string, bool) {
	for _, end := range ends {
		if rest, ok := strings.CutSuffix(text, end); ok {
			return rest, true
		}
	}
	return text, false
}

// texts are the texts in a list.
func texts(v any) (list []string) {
	items, _ := v.([]any)
	for _, item := range items {
		if text, ok := item.(string); ok {
			list = append(list, text)
		}
	}
	return list
}

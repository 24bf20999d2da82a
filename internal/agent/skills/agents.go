package skills

import (
	"cmp"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Bounds of what is read of agents.
const (
	maxAgents     = 50
	maxAgentWords = 300 // of a description; models are told all of them
)

// Agent is a kind of sub-agent that a file describes, in the words of its file.
type Agent struct {
	Name, Description, Instructions string
	Model, Effort                   string
	// Tools are names as other agents have them; nil where the file does not say.
	// Without are those that it may not have.
	Tools    []string
	Without  []string
	Sandbox  string
	Worktree bool
	File     string // absolute
	Why      string // why it is not used; empty if it is
}

// AgentPlaces are the places of agents below a home or a project, the best first; none
// for "".
func AgentPlaces(root string) (places []Place) {
	for _, dir := range []string{".agents/agents", ".claude/agents", ".codex/agents"} {
		if root != "" {
			places = append(places, Place{Root: root, Dir: dir})
		}
	}
	return places
}

// Agents reads the agents in the files NAME.md and NAME.toml of places. The first of a name
// counts.
func Agents(places ...Place) (all []Agent) {
	n := newNames(maxAgents)
	for _, p := range places {
		for _, a := range agentsIn(p) {
			if a.Why == "" {
				a.Why = n.take(a.Name, a.File)
			}
			all = append(all, a)
		}
	}
	return all
}

func agentsIn(p Place) (all []Agent) {
	root, err := p.open()
	if err != nil {
		return nil
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		ext := path.Ext(e.Name())
		if ext != ".md" && ext != ".toml" || len(all) == 2*maxAgents || p.Only != "" && p.Only != e.Name() {
			continue
		}
		a := Agent{Name: strings.TrimSuffix(e.Name(), ext),
			File: filepath.Join(p.Root, filepath.FromSlash(p.Dir), e.Name())}
		text, ok := readText(root, e.Name())
		switch {
		case !ok:
			a.Why = "it is no file that may be read"
		case len(text) >= maxSkillBytes:
			a.Why = "it is too large"
		case ext == ".toml":
			a.fromTOML(text)
		default:
			a.fromMarkdown(text)
		}
		a.Description = clipped(a.Description, maxAgentWords)
		switch {
		case a.Why != "":
		case !validSkill(strings.ReplaceAll(a.Name, ".", "-")):
			a.Why = "its name has other characters than letters, digits, -, _ and periods, or is longer than 64"
		case a.Instructions == "":
			a.Why = "it has no instructions"
		}
		all = append(all, a)
	}
	return all
}

func (a *Agent) fromTOML(text string) {
	var doc struct {
		Name         string `toml:"name"`
		Description  string `toml:"description"`
		Developer    string `toml:"developer_instructions"`
		Instructions string `toml:"instructions"`
		Model        string `toml:"model"`
		Effort       string `toml:"model_reasoning_effort"`
		Sandbox      string `toml:"sandbox_mode"`
	}
	if toml.Unmarshal([]byte(text), &doc) != nil {
		a.Why = "it is not TOML, or a value has another type"
		return
	}
	a.Name, a.Description = cmp.Or(doc.Name, a.Name), doc.Description
	a.Instructions = strings.TrimSpace(cmp.Or(doc.Developer, doc.Instructions))
	a.Model, a.Effort, a.Sandbox = doc.Model, doc.Effort, doc.Sandbox
}

func (a *Agent) fromMarkdown(text string) {
	fields, body := frontMatter(text)
	if fields == nil {
		a.Why = "it does not begin with fields between two lines of three dashes"
		return
	}
	a.Name, a.Description, a.Instructions = cmp.Or(fields["name"], a.Name), fields["description"], body
	a.Model, a.Effort, a.Worktree = fields["model"], fields["effort"], fields["isolation"] == "worktree"
	a.Sandbox = fields["sandbox"]
	if fields["permissionMode"] == "plan" || fields["readonly"] == "true" {
		a.Sandbox = "read-only"
	}
	a.Without = names(fields["disallowedTools"])
	if list, ok := fields["tools"]; ok {
		if a.Tools = append([]string{}, names(list)...); slices.Contains(a.Tools, "*") {
			a.Tools = nil
		}
	}
}

// names are the names in a list, without what stands behind them in parentheses.
func names(list string) (all []string) {
	for word := range strings.SplitSeq(list, ",") {
		word, _, _ = strings.Cut(word, "(")
		if word = strings.Trim(strings.TrimSpace(word), `"'[]`); word != "" {
			all = append(all, word)
		}
	}
	return all
}

package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/protocol"
)

// golden compares a table in which each line was looked at with what is found now: told gives the
// indented lines that belong to a line of the table. A line break in one is written \n.
func golden(t *testing.T, file string, told func(line string) []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var now strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "    ") {
			continue
		}
		now.WriteString(line + "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		for _, l := range told(strings.ReplaceAll(line, `\n`, "\n")) {
			now.WriteString("    " + strings.ReplaceAll(l, "\n", `\n`) + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(string(text), now.String()); d != "" && !*update {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// TestReading: what a line runs, what keeps it from being plain, and why it is not known what it runs.
func TestReading(t *testing.T) {
	golden(t, "testdata/reading.txt", func(line string) (told []string) {
		p := Parse(line)
		if p.Err != nil {
			return []string{"cannot be read: " + p.Err.Error()}
		}
		return p.told("")
	})
}

func (p *Parsed) told(in string) (told []string) {
	for _, c := range p.Commands {
		told = append(told, in+"runs "+c.shown())
	}
	for _, odd := range p.Odd {
		told = append(told, in+"has "+odd)
	}
	for _, why := range p.Doubts {
		told = append(told, in+"doubt: "+why)
	}
	for _, f := range []struct {
		is   bool
		what string
	}{{p.bomb, "starts itself"}, {p.device, "writes to a disk"}, {p.piped, "runs what is printed"}} {
		if f.is {
			told = append(told, in+f.what)
		}
	}
	if p.sets != "" {
		told = append(told, in+"steers programs by "+p.sets)
	}
	for _, g := range p.guesses {
		told = append(told, in+"may start a part of "+g.shown())
	}
	for _, q := range p.maybe {
		told = append(told, q.told(in+"perhaps ")...)
	}
	return told
}

// shown is a command with what is known of its words: <…> is not known, ≈ is known but not
// literal; (*) has a pattern, ($) an expansion, (~) a home.
func (s Simple) shown() string {
	var all []string
	for _, w := range s.Words {
		text := w.Text
		switch {
		case !w.Known:
			text = "<" + text + ">"
		case !w.Literal:
			text = "≈" + text
		}
		if w.Glob {
			text += " (*)"
		}
		if w.Tilde {
			text += " (~)"
		}
		if w.Expands {
			text += " ($)"
		}
		all = append(all, text)
	}
	text := strings.Join(all, ", ")
	if s.More {
		text += ", and more"
	}
	if s.Started {
		text += "; started by another one"
	}
	return text
}

// TestReasons: what is decided about a line and why, in words that the user or the model reads, and what
// is offered beyond this one time. A line is MODE, the directory, > where the model asks to leave the
// sandbox, and the command.
func TestReasons(t *testing.T) {
	file, err := os.ReadFile("testdata/reasons.rules")
	if err != nil {
		t.Fatal(err)
	}
	list, err := ParseRules("reasons.rules", file)
	if err != nil {
		t.Fatal(err)
	}
	place := disk{links: map[string]string{"/alias": "/w"}, programs: map[string]string{"cat": "/bin/cat", "ls": "/w/bin/ls",
		"touch": "/usr/bin/touch", "git": "/usr/bin/git", "mine": "/w/mine", "pinned": "/usr/bin/pinned", "go": "/usr/bin/go"},
		writable: map[string]bool{"/w/bin/ls": true, "/w/mine": true}, runs: map[string]string{"/w/emb": "core.fsmonitor = x"}}
	stands := map[string]string{"gp": "git push", "ll": "ls -l", "nuke": "rm -rf ~", "t": "touch", "touchy": "{ touch x; }"}
	modes := map[string]protocol.Settings{
		"ask":   {Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace},
		"work":  {Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace},
		"full":  {Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxFull},
		"never": {Approval: protocol.PolicyNever, Sandbox: protocol.SandboxWorkspace},
		"plan":  {Approval: protocol.PolicyPlan, Sandbox: protocol.SandboxWorkspace},
	}
	golden(t, "testdata/reasons.txt", func(line string) (told []string) {
		mode, rest, _ := strings.Cut(line, " ")
		dir, command, _ := strings.Cut(rest, " ")
		settings, ok := modes[mode]
		if !ok {
			t.Fatalf("%q names no mode", line)
		}
		c := Command{Dir: dir, Place: place, Stands: stands}
		if command, c.Escalate = strings.CutPrefix(command, "> "); c.Escalate {
			c.Reason = "it needs the network"
		}
		c.Line = command
		e := Rules{Mode: settings.Mode(), List: list}.Explain(c)
		told = append(told, fmt.Sprintf("%s by %s", e.Verdict, e.By))
		if e.Reason != "" {
			told = append(told, e.Reason)
		}
		if e.Harm.Level > Ordinary {
			told = append(told, "harm: "+e.Harm.Level.String()+": "+e.Harm.Why)
		}
		if e.Unsandboxed {
			told = append(told, "without the sandbox")
		}
		if e.Says != "" {
			told = append(told, "the model says: "+e.Says)
		}
		if e.Rule != "" {
			told = append(told, "offers "+e.Rule, "which is "+e.Covers)
		}
		return told
	})
}

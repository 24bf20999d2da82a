package policy

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"kerf/internal/protocol"
)

// verdictsOf reads testdata/corpus.txt.
func verdictsOf(t testing.TB) (commands, verdicts []string) {
	t.Helper()
	b, err := os.ReadFile("testdata/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		l = strings.TrimRight(l, "\n")
		if l == "" || l[0] == '#' {
			continue
		}
		verdict, command, ok := strings.Cut(l, " ")
		if !ok {
			t.Fatalf("no command in %q", l)
		}
		if command[0] == '"' {
			if command, err = strconv.Unquote(command); err != nil {
				t.Fatalf("%s: %v", l, err)
			}
		}
		commands, verdicts = append(commands, command), append(verdicts, verdict)
	}
	return commands, verdicts
}

func corpusRules(t testing.TB) Rules {
	t.Helper()
	b, err := os.ReadFile("testdata/corpus.rules")
	if err != nil {
		t.Fatal(err)
	}
	list, err := ParseRules("corpus.rules", b)
	if err != nil {
		t.Fatal(err)
	}
	return Rules{Mode: protocol.Settings{Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace}.Mode(), List: list}
}

func TestCorpus(t *testing.T) {
	commands, verdicts := verdictsOf(t)
	if len(commands) < 300 {
		t.Errorf("the corpus has %d commands only", len(commands))
	}
	rules := corpusRules(t)
	count := map[string]int{}
	for i, c := range commands {
		e := rules.Explain(Command{Line: c, Dir: "/w"})
		count[verdicts[i]]++
		if got := e.Verdict.String(); got != verdicts[i] {
			t.Errorf("%q: %s (%s; %s), want %s", c, got, e.By, e.Reason, verdicts[i])
		}
		if e.Verdict == Ask && e.Reason == "" {
			t.Errorf("%q is asked about without a reason", c)
		}
	}
	t.Logf("%d commands: %v", len(commands), count)
}

func BenchmarkExplain(b *testing.B) {
	commands, _ := verdictsOf(b)
	rules := corpusRules(b)
	for i := 0; b.Loop(); i++ {
		rules.Explain(Command{Line: commands[i%len(commands)], Dir: "/w"})
	}
}

package policy

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what was found into testdata/harm.txt")

// TestHarm compares how much harm lines may do, why, and what they delete, with a table in which
// each was looked at: LEVEL COMMAND, then the reason and the targets.
func TestHarm(t *testing.T) {
	text, err := os.ReadFile("testdata/harm.txt")
	if err != nil {
		t.Fatal(err)
	}
	var now strings.Builder
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimRight(line, "\n"); {
		case strings.HasPrefix(line, "    "):
		case line == "" || line[0] == '#':
			now.WriteString(line + "\n")
		default:
			_, command, _ := strings.Cut(line, " ")
			h := Parse(command).Harm()
			fmt.Fprintf(&now, "%s %s\n", h.Level, command)
			if h.Why != "" {
				fmt.Fprintf(&now, "    %s\n", h.Why)
			}
			for _, w := range h.Targets {
				fmt.Fprintf(&now, "    deletes %s\n", w.Text)
			}
			if Grievous(command) != (h.Level == Grave) {
				t.Errorf("%s is grievous: %v", command, Grievous(command))
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/harm.txt", []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(string(text), now.String()); d != "" && !*update {
		t.Errorf("(-want +got):\n%s", d)
	}
}

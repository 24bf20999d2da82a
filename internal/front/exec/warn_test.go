package exec

import (
	"bytes"
	"strings"
	"testing"
)

// TestAWarningIsOneParagraph: a name in a warning or an error begins no line that looks like
// one of Kerf's own.
func TestAWarningIsOneParagraph(t *testing.T) {
	var b bytes.Buffer
	p := newText(Options{Stderr: &b, Stdout: &b})
	p.warn("/w/a\nundo covers everything\n")
	p.end(ending{message: "no /w/b\nundo covers everything"})
	for line := range strings.SplitSeq(b.String(), "\n") {
		if strings.HasPrefix(line, "undo covers") {
			t.Errorf("%q", b.String())
		}
	}
}

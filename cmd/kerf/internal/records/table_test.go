package records

import (
	"bytes"
	"strings"
	"testing"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/front/tui/style"
)

// TestTableStaysInLine: whatever characters stand in a title, the columns behind it begin at
// the same place.
func TestTableStaysInLine(t *testing.T) {
	var out bytes.Buffer
	rows := [][4]string{{"id", "1 turn", "plain", "/dir"}, {"id", "12 turns", "日本語の題", "/dir"},
		{"id", "1 turn", "👩‍💻 é", "/dir"}, {"id", "1 turn", "", "/dir"}}
	if err := sessionsTable(&program.Program{Stdout: &out}, rows); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		at := style.Width(line[:strings.Index(line, "/dir")])
		if want := style.Width("id  12 turns  日本語の題  "); at != want {
			t.Errorf("%q: the last column is at %d, want %d", line, at, want)
		}
	}
	for wide := 1; wide < 12; wide++ {
		if got := cutTo("日本語の題", wide); style.Width(got) > wide {
			t.Errorf("%q is wider than %d", got, wide)
		}
	}
}

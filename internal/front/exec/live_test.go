package exec

import (
	"strings"
	"testing"
	"time"

	"kerf/internal/front/tui/vt"
	"kerf/internal/protocol"
)

// TestLive: a running command's last lines and seconds are on the terminal while it runs, and
// nothing of them is left when something else is printed. The final message is there once, last.
func TestLive(t *testing.T) {
	screen := vt.New(40, 40)
	w := crlf{screen}
	x := newText(Options{Stdout: w, Stderr: w, Live: true, Once: true})
	now := time.Unix(0, 0)
	zero := 0
	item := func(id string, b protocol.Body) protocol.Item { return protocol.Item{ID: protocol.ItemID(id), Body: b} }
	x.show(protocol.ItemCompleted{Item: item("m", protocol.AgentMessage{Text: "I look first."})})
	x.show(protocol.ItemStarted{Item: item("c", protocol.Command{Command: "make"})})
	x.show(protocol.ItemDelta{Item: "c", Text: "one\ntwo\nthree\nfour " + strings.Repeat("wide 語 ", 20) + "\n10%\r20%"})
	x.tick(now)
	if strings.Contains(screen.Screen(), "running") {
		t.Fatalf("told before a second was over:\n%s", screen.Screen())
	}
	for n := 1; n < 4; n++ {
		x.tick(now.Add(time.Duration(n) * time.Second))
	}
	for _, want := range []string{"I look first.", "$ make", "  three\n", "  20%\n", "running 3s"} {
		if !strings.Contains(screen.Screen(), want) {
			t.Errorf("%q is not on the screen:\n%s", want, screen.Screen())
		}
	}
	for _, not := range []string{"one", "running 2s", "10%"} {
		if strings.Contains(screen.Screen(), not) {
			t.Errorf("%q is on the screen:\n%s", not, screen.Screen())
		}
	}
	x.show(protocol.ItemCompleted{Item: item("c", protocol.Command{Command: "make", Output: "four\n", ExitCode: &zero})})
	x.show(protocol.ItemCompleted{Item: item("n", protocol.AgentMessage{Text: "It builds."})})
	x.end(ending{done: &protocol.TurnCompleted{LastMessage: "It builds."}})
	got := screen.Screen()
	if strings.Contains(got, "running") || strings.Contains(got, "20%") {
		t.Errorf("what ran is still there:\n%s", got)
	}
	if strings.Count(got, "It builds.") != 1 || !strings.HasSuffix(strings.TrimSpace(got), "It builds.") {
		t.Errorf("the answer is not there once, last:\n%s", got)
	}
}

// crlf is a terminal's own line discipline.
type crlf struct{ screen *vt.Terminal }

func (w crlf) Write(b []byte) (int, error) {
	_, _ = w.screen.Write([]byte(strings.ReplaceAll(string(b), "\n", "\r\n")))
	return len(b), nil
}

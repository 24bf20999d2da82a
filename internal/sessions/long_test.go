package sessions

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/sessions/transcript"
)

// TestOfLongLinesTheEndsAreRead has lines of megabytes, whose midst is spoiled once it is known where they
// are: each page shows them by their ends, and says how much it left out. What a call printed is read
// whole where it is asked for.
func TestOfLongLinesTheEndsAreRead(t *testing.T) {
	s := store(t)
	l, err := s.Create(rollout.Metadata{Title: "a long session", Cwd: "/w", Model: "free"}, false)
	if err != nil {
		t.Fatal(err)
	}
	put := func(r history.Record) {
		t.Helper()
		if err := l.Writer.Append(rollout.Entry{Type: r.Type(), Body: r}); err != nil {
			t.Fatal(err)
		}
	}
	const turns = 6
	printed := strings.Repeat("some \"output\"\tof a program\n", 3<<20/27)
	for n := range turns {
		id := protocol.TurnID(fmt.Sprint("t", n))
		put(history.TurnContext{Turn: id})
		put(history.UserInput{Turn: id, Text: fmt.Sprint("request ", n)})
		put(history.ToolCall{Turn: id, Round: 1, Call: protocol.CallID(fmt.Sprint("c", n)), Name: "exec_command", Args: []byte(`{"cmd":"x"}`),
			Command: fmt.Sprint("command ", n), Result: fmt.Sprint("begin ", n, printed, "end ", n), Success: true})
		put(history.AssistantMessage{Turn: id, Round: 2, Text: fmt.Sprint("answer ", n, printed[:1<<20], "end ", n)})
		put(history.EventRecord{Turn: id, What: history.TurnCompleted})
	}
	l.Close()
	p := s.Pages(protocol.SessionInfo{ID: l.ID, Cwd: "/w"}, &Outline{})
	if text, ok, err := p.Printed(t.Context(), "t2", itemNamed(t, p, "t2", "command 2")); err != nil || !ok {
		t.Error(ok, err)
	} else if all, err := io.ReadAll(text); err != nil || string(all) != "begin 2"+printed+"end 2" {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	path := filepath.Join(s.DirOf(l.ID), "rollout.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if n := len(line); n > 1<<20 {
			copy(line[n/3:n/2], bytes.Repeat([]byte{1}, n/6)) // not within a text of JSON
		}
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, p := range map[string]Pages{"as it was read before": p, "as another process reads it": s.Pages(protocol.SessionInfo{ID: l.ID, Cwd: "/w"}, &Outline{})} {
		page, err := p.Turns(t.Context(), 0, turns, transcript.Span{Items: 100, Bytes: 8 << 20})
		if err != nil || len(page.Turns) != turns {
			t.Fatal(what, len(page.Turns), err)
		}
		for n, part := range page.Turns {
			one, err := p.Part(t.Context(), part.ID, transcript.Span{Call: protocol.CallID(fmt.Sprint("c", n)), Items: 10, Bytes: 1 << 20})
			if err != nil {
				t.Fatal(what, err)
			}
			for _, part := range []transcript.Part{part, one} {
				if len(part.Items) != 3 {
					t.Fatalf("%s: turn %d has %d items", what, n, len(part.Items))
				}
				c, _ := part.Items[1].Body.(protocol.Command)
				if c.Command != fmt.Sprint("command ", n) || !strings.HasSuffix(c.Output, fmt.Sprint("a program\nend ", n)) || len(c.Output) > 1<<17 {
					t.Errorf("%s: turn %d: %s, which printed %d bytes, …%.40q", what, n, c.Command, len(c.Output), c.Output[max(0, len(c.Output)-40):])
				}
				if left := part.Left[part.Items[1].ID]; left < 2<<20 {
					t.Errorf("%s: turn %d: %d bytes are left out", what, n, left)
				}
				m, _ := part.Items[2].Body.(protocol.AgentMessage)
				if !strings.HasPrefix(m.Text, fmt.Sprint("answer ", n)) || !strings.HasSuffix(m.Text, fmt.Sprint("end ", n)) ||
					!strings.Contains(m.Text, " bytes are not shown here …") {
					t.Errorf("%s: turn %d: the answer is %.40q", what, n, m.Text)
				}
			}
		}
	}
}

// itemNamed is the id of the item of a command.
func itemNamed(t *testing.T, p Pages, turn protocol.TurnID, command string) protocol.ItemID {
	t.Helper()
	part, err := p.Part(t.Context(), turn, transcript.Span{Items: 100, Bytes: 64 << 20})
	i := slices.IndexFunc(part.Items, func(i protocol.Item) bool {
		c, ok := i.Body.(protocol.Command)
		return ok && c.Command == command
	})
	if err != nil || i < 0 {
		t.Fatal(i, err)
	}
	return part.Items[i].ID
}

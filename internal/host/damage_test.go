package host

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/protocol"
)

// TestSEC_R1_DamagedSessionsGoOn: whatever became of the file, the session is
// listed, shown, told, forked and resumed; the damage is told once, and the next
// read is clean.
func TestSEC_R1_DamagedSessionsGoOn(t *testing.T) {
	h := scripted(t, &talker{})
	good := talk(t, h, protocol.OpenOptions{}, "first words", "second words", "third words")
	read := func(id protocol.SessionID) []byte {
		b, err := os.ReadFile(filepath.Join(h.SessionsDir(), string(id), "rollout.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	original := read(good)
	lines := bytes.SplitAfter(original, []byte("\n"))
	middle := len(lines) / 2
	for what, b := range map[string][]byte{
		"cut":       original[:len(original)-100],
		"zero page": append(bytes.Clone(original), make([]byte, 4096)...),
		"half a line": bytes.Join([][]byte{bytes.Join(lines[:middle], nil), lines[middle][:20], []byte("\n"),
			bytes.Join(lines[middle+1:], nil)}, nil),
		"glued": bytes.Join([][]byte{bytes.Join(lines[:middle], nil), bytes.TrimSpace(lines[middle]),
			bytes.Join(lines[middle+1:], nil)}, nil),
		"interleaved": bytes.Join([][]byte{bytes.Join(lines[:middle], nil), lines[middle+1], lines[middle],
			bytes.Join(lines[middle+2:], nil)}, nil),
		"duplicate": bytes.Join([][]byte{bytes.Join(lines[:middle], nil), lines[middle],
			bytes.Join(lines[middle:], nil)}, nil),
		"CRLF":               bytes.ReplaceAll(original, []byte("\n"), []byte("\r\n")),
		"BOM":                append([]byte("\xEF\xBB\xBF"), original...),
		"not UTF-8":          bytes.Replace(original, []byte("second words"), []byte("second\xff words"), 1),
		"100 000 deep":       append(bytes.Clone(original), []byte(strings.Repeat("[", 100_000)+"\n")...),
		"an unreadable line": append(bytes.Clone(original), append(bytes.Repeat([]byte("x"), 1<<20), '\n')...),
	} {
		harmless := what == "CRLF" // every record is whole and in its place; verify tells of it
		id := talk(t, h, protocol.OpenOptions{Fork: string(good)})
		path := filepath.Join(h.SessionsDir(), string(id), "rollout.jsonl")
		_ = os.Remove(filepath.Join(filepath.Dir(path), "rollout.head")) // it is about the fork's own record
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		if list, err := h.Sessions().List(ctx, protocol.Filter{}); err != nil || list[0].ID != id {
			t.Errorf("%s: list: %v", what, err)
		}
		turns, err := h.Sessions().Transcript(ctx, string(id), 0)
		if err != nil || len(turns) < 2 {
			t.Errorf("%s: transcript: %d turns, %v", what, len(turns), err)
		}
		shown, err := h.Sessions().Read(ctx, string(id))
		if err != nil || (shown.Damage != nil) == harmless {
			t.Errorf("%s: show: %v", what, err)
		}
		fork := talk(t, h, protocol.OpenOptions{Fork: string(id)}, "and a fork")
		if err := verified(h, fork); err != nil {
			t.Errorf("%s: the fork: %v", what, err)
		}
		s := open(t, h, protocol.OpenOptions{Resume: string(id)})
		told := 0
		s.submit(protocol.UserInput{Items: []protocol.Input{{Text: "go on"}}})
		s.until(func(m protocol.Msg) bool {
			if w, ok := m.(protocol.Warning); ok && strings.Contains(w.Message, "was damaged") {
				told++
			}
			return is[protocol.TurnCompleted](m)
		})
		shut(t, s)
		if told != 1 && !harmless || told > 1 {
			t.Errorf("%s: told %d times", what, told)
		}
		shown, err = h.Sessions().Read(ctx, string(id))
		if err != nil || shown.Damage != nil {
			t.Errorf("%s: after the repair: %v, %v", what, err, shown.Damage)
		}
	}
}

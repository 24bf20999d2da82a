package screen

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/front/tui/vt"
)

// TestFramesArriveWhole draws random frames and compares the terminal with what
// it must show: the finished rows in order, then the live ones, each once.
func TestFramesArriveWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(4, 30).Draw(t, "w"), rapid.IntRange(2, 12).Draw(t, "h")
		term := vt.New(w, h)
		s := New(term, true)
		_ = s.Start()
		s.Resize(w, h)
		var finished []string
		n := 0
		row := func(kind string) string {
			n++
			text := fmt.Sprintf("%s%d", kind, n)
			return text[:min(len(text), w-1)]
		}
		full := false
		for range rapid.IntRange(1, 30).Draw(t, "frames") {
			var f Frame
			for range rapid.IntRange(0, 3).Draw(t, "above") {
				f.Above = append(f.Above, row("f"))
			}
			for range rapid.IntRange(0, h).Draw(t, "rows") {
				f.Rows = append(f.Rows, row("r"))
			}
			f.Y = rapid.IntRange(-1, len(f.Rows)-1).Draw(t, "y")
			f.X = rapid.IntRange(0, w-1).Draw(t, "x")
			full = rapid.IntRange(0, 5).Draw(t, "full") == 0
			f.Full = full
			finished = append(finished, f.Above...)
			if err := s.Draw(f); err != nil {
				t.Fatal(err)
			}
			if len(term.Strange) > 0 {
				t.Fatalf("the terminal got %q", term.Strange)
			}
			if x, y := term.Cursor(); f.Y >= 0 && !full {
				rows := strings.Split(term.Screen(), "\n")
				if y >= len(rows) || !strings.HasPrefix(rows[y], f.Rows[f.Y]) && rows[y] != f.Rows[f.Y] || x != f.X {
					t.Fatalf("cursor at %d,%d, want %d in row %q of\n%s", x, y, f.X, f.Rows[f.Y], term.Screen())
				}
			}
			got := strings.TrimSpace(term.Screen())
			want := strings.TrimSpace(strings.Join(f.Rows, "\n"))
			if !full {
				got = strings.TrimSpace(term.All())
				want = strings.TrimSpace(strings.Join(append(finished[:len(finished):len(finished)], f.Rows...), "\n"))
			}
			if got != want {
				t.Fatalf("the terminal shows\n%s\nwant\n%s", got, want)
			}
		}
		_ = s.Stop(true)
		if term.CursorHidden || term.Modes["?2004"] || term.Modes["?1004"] || term.Full() {
			t.Fatal("the terminal is not as it was")
		}
	})
}

// TestUnchangedFrameWritesNothing: an idle screen costs no byte.
func TestUnchangedFrameWritesNothing(t *testing.T) {
	term := vt.New(20, 5)
	s := New(term, true)
	_ = s.Start()
	s.Resize(20, 5)
	f := Frame{Rows: []string{"a", "b"}, X: 1, Y: 1}
	_ = s.Draw(f)
	before := term.Bytes
	_ = s.Draw(f)
	if term.Bytes != before {
		t.Errorf("%d bytes were written", term.Bytes-before)
	}
	f.Rows = []string{"a", "c"}
	_ = s.Draw(f)
	if n := term.Bytes - before; n > 60 {
		t.Errorf("one changed character took %d bytes", n)
	}
}

package composer

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestLaws does random edits: the caret stays between characters, undoing all
// brings back the empty text, and the drawn caret is on the drawn text.
func TestLaws(t *testing.T) {
	words := []string{"a", " ", "word", "漢字", "👩‍👩‍👧‍👦", "\n", "é", "\u202e", "한국어 ", "\t"}
	rapid.Check(t, func(t *rapid.T) {
		var c Composer
		edits := 0
		width := rapid.IntRange(2, 40).Draw(t, "width")
		t.Repeat(map[string]func(*rapid.T){
			"insert":     func(t *rapid.T) { c.Insert(rapid.SampledFrom(words).Draw(t, "text")); edits++ },
			"attachment": func(*rapid.T) { c.Attach(Attachment{Label: "Pasted", Text: "long\ntext"}); edits++ },
			"back":       func(*rapid.T) { c.Backspace() },
			"delete":     func(*rapid.T) { c.Delete() },
			"left":       func(*rapid.T) { c.Left() },
			"right":      func(*rapid.T) { c.Right() },
			"word":       func(*rapid.T) { c.WordLeft() },
			"wordr":      func(*rapid.T) { c.WordRight() },
			"kill":       func(t *rapid.T) { c.KillWord(rapid.Bool().Draw(t, "forward")) },
			"line":       func(t *rapid.T) { c.KillLine(rapid.Bool().Draw(t, "forward")) },
			"yank":       func(*rapid.T) { c.Yank() },
			"undo":       func(*rapid.T) { c.Undo() },
			"redo":       func(*rapid.T) { c.Redo() },
			"up":         func(*rapid.T) { c.Vertical(-1, width) },
			"down":       func(*rapid.T) { c.Vertical(1, width) },
			"home":       func(*rapid.T) { c.Home() },
			"end":        func(*rapid.T) { c.End() },
			"": func(t *rapid.T) {
				if c.at < 0 || c.at > len(c.text) || !utf8.ValidString(c.text[:c.at]) {
					t.Fatalf("caret %d in %q", c.at, c.text)
				}
				rows, x, y := c.Rows(width)
				if y < 0 || y >= len(rows) || x > rows[y].Width() {
					t.Fatalf("caret at %d,%d of %d rows in %q", x, y, len(rows), c.text)
				}
				for _, r := range rows {
					if w := r.Width(); w > width && w > len("[Pasted]") && w > 8 {
						t.Fatalf("a row is %d wide at %d: %q", w, width, r.Text())
					}
				}
			},
		})
		for range edits + 500 {
			c.Undo()
		}
		if len(c.past) == 0 && edits < maxUndo && c.text != "" {
			t.Fatalf("undoing all left %q", c.text)
		}
	})
}

func TestChipsCannotBeForged(t *testing.T) {
	var c Composer
	c.Attach(Attachment{Label: "Pasted", Text: "secret"})
	c.Insert(string(rune(firstAttached)))
	if got := c.Value(); strings.Count(got, "secret") != 1 {
		t.Errorf("the value is %q", got)
	}
}

func TestCaretStopsAtClusters(t *testing.T) {
	var c Composer
	c.Insert("a👩‍👩‍👧‍👦é")
	var at []int
	for range 4 {
		c.Left()
		at = append(at, c.Caret())
	}
	if at[0] != len("a👩‍👩‍👧‍👦") || at[1] != 1 || at[2] != 0 || at[3] != 0 {
		t.Errorf("the caret stopped at %v", at)
	}
}

func TestVerticalKeepsTheColumn(t *testing.T) {
	var c Composer
	c.Insert("long first line\nx\nlong third line")
	c.Home()
	for range 7 {
		c.Right()
	}
	c.Vertical(-1, 40)
	c.Vertical(-1, 40)
	if c.Caret() != 7 {
		t.Errorf("the caret is at %d", c.Caret())
	}
}

func FuzzRows(f *testing.F) {
	f.Add("a b c\nd", 3)
	f.Add("한국어 텍스트", 5)
	f.Fuzz(func(t *testing.T, s string, width int) {
		var c Composer
		c.Insert(strings.ToValidUTF8(s, "?"))
		c.Rows(width % 200)
		c.Vertical(-1, width%200)
		c.Backspace()
	})
}

package returned

import (
	"errors"
	"testing"

	"kerf/internal/text/delta"
)

// TestNeeded: each case is what a file held before and after a change that nobody saw being
// made, and before and after a later one of a command's. "-" is no file.
func TestNeeded(t *testing.T) {
	loaded := func(img *delta.Image) (*delta.Image, error) {
		if !img.Loaded {
			return nil, errors.New("not kept")
		}
		return img, nil
	}
	file := func(text string) *delta.Image {
		if text == "-" {
			return nil
		}
		return delta.NewFile([]byte(text), 0o644)
	}
	for name, c := range map[string]struct {
		a, b, c, d string
		want       bool
	}{
		"it came back whole":             {"1\nmine\n", "1\n", "1\n", "1\nmine\n", true},
		"a line of it came back":         {"1\nmine\n", "1\n", "1\n", "one\nmine\n", true},
		"the file came back":             {"mine\n", "-", "-", "mine\n", true},
		"a line of the file came back":   {"mine\n", "-", "-", "new\n  mine\n", true},
		"other lines came":               {"1\nmine\n", "1\n", "1\n", "1\nnew\n", false},
		"only blank lines came back":     {"1\n\n\n2\n", "1\n", "1\n", "1\n\n", false},
		"nothing was taken away":         {"1\n", "1\nmine\n", "1\nmine\n", "1\n2\nmine\n", false},
		"it was taken away once more":    {"1\nmine\n", "1\n", "1\n", "-", false},
		"a line that stayed was doubled": {"1\nmine\n", "mine\n", "mine\n", "mine\nmine\n", false},
		"a new file was changed":         {"-", "mine\n", "mine\n", "mine\n2\n", false},
	} {
		earlier, later := delta.Change{Pre: file(c.a), Post: file(c.b)}, delta.Change{Pre: file(c.c), Post: file(c.d)}
		if got := needed(earlier, later, loaded); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
	gone := delta.NewFile([]byte("x"), 0o644)
	gone.Loaded, gone.Data = false, nil
	if needed(delta.Change{Pre: gone}, delta.Change{Post: file("y\n")}, loaded) {
		t.Error("what is not known to have come back is needed")
	}
}

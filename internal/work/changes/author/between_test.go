package author

import "testing"

// TestBetween: lines are named as git blame -L names them.
func TestBetween(t *testing.T) {
	var list []Line
	for i := range 4 {
		list = append(list, Line{Line: i + 1})
	}
	for _, x := range []struct {
		words       string
		first, last int // 0: an error
	}{{"", 1, 4}, {"2", 2, 4}, {"2,", 2, 4}, {",2", 1, 2}, {"2,3", 2, 3}, {"2,+2", 2, 3}, {"3,9", 3, 4}, {"4,+9", 4, 4},
		{"3,2", 0, 0}, {"0,2", 0, 0}, {"-1", 0, 0}, {"5", 0, 0}, {"2,+0", 0, 0}, {"a", 0, 0}, {"1,b", 0, 0}, {"1,2,3", 0, 0}} {
		got, err := Between(list, x.words)
		switch {
		case x.first == 0 && err == nil:
			t.Errorf("%q: got %v, want an error", x.words, got)
		case x.first != 0 && (err != nil || got[0].Line != x.first || got[len(got)-1].Line != x.last):
			t.Errorf("%q: got %v, %v, want %d to %d", x.words, got, err, x.first, x.last)
		}
	}
}

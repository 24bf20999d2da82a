package spelling

import "testing"

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abc", "ab", 1},
		{"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"abcd", "badc", 2},
	}
	for _, tt := range tests {
		if got, back := Distance(tt.a, tt.b), Distance(tt.b, tt.a); got != tt.want || back != tt.want {
			t.Errorf("%q, %q: got %d and %d, want %d", tt.a, tt.b, got, back, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"model", "model_provider", "sandbox_mode", "tools"}
	for word, want := range map[string]string{"modle": "model", "MODEL": "model", "sandbx_mode": "sandbox_mode",
		"xyz": "", "": "", "tols": "tools"} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

package visible

import "testing"

func TestClip(t *testing.T) {
	tests := []struct {
		s            string
		n            int
		bytes, runes string
	}{
		{"", 0, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc…", "abc…"},
		{"äöü", 3, "ä…", "äöü"},
		{"äöüß", 3, "ä…", "äöü…"},
		{"ä", 0, "…", "…"},
		{"a\xffbc", 3, "ab…", "a\xffb…"},
	}
	for _, tt := range tests {
		if got := Clip(tt.s, tt.n); got != tt.bytes {
			t.Errorf("Clip(%q, %d): got %q, want %q", tt.s, tt.n, got, tt.bytes)
		}
		if got := ClipRunes(tt.s, tt.n); got != tt.runes {
			t.Errorf("ClipRunes(%q, %d): got %q, want %q", tt.s, tt.n, got, tt.runes)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got, want := OneLine(" a \n\tb\x1b[0m c", 8), "a b<U+00…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

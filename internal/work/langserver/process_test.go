package langserver

import "testing"

func TestLastWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one\ntwo\n\n": "two",
		"error: it is not installed\n\nStack backtrace:\n  17: <unknown>\n": "error: it is not installed",
	} {
		if got := lastWords(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

package visible

import "testing"

func TestPlain(t *testing.T) {
	if got, want := Plain("a\x1b[31m\tb\n\u202ec\x85"), "a\uFFFD[31m b \uFFFDc\uFFFD"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExcerpt(t *testing.T) {
	long := "12345678901234567890123456789012345678901234567890123456789"
	for in, want := range map[string]string{
		"":              "",
		" one line \n":  "one line",
		"first\nsecond": "first…",
		long + "0":      long + "0",
		long + "01":     long + "…",
		"a\x1bb\u202ec": "a\uFFFDb\uFFFDc",
	} {
		if got := Excerpt(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

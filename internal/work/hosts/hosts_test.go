package hosts

import (
	"strings"
	"testing"
)

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"ok.test", "OK.test.", "127.0.0.1", "::1", "0x7f.1", "a\x00b", "xn--a.b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, err := Canonical(s)
		if err != nil {
			return
		}
		if again, err := Canonical(host); err != nil || again != host {
			t.Errorf("%q: %q becomes %q, %v", s, host, again, err)
		}
		if strings.ContainsAny(host, "\x00 %#@?/\\") {
			t.Errorf("%q: %q", s, host)
		}
	})
}

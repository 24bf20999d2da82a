package executor

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func veiled(show func(string)) *veil {
	h := &Executor{o: Options{Redact: func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("hush hush-12345"), []byte("[redacted]"))
	}}}
	return h.veil(show)
}

// TestVeilHidesSecretsInPieces cuts an output anywhere: what is shown is the whole
// of it, and never a secret or a piece of one that has not ended yet.
func TestVeilHidesSecretsInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"hush hush-12345", "a", " ", "\n", "\r\n", "hush ", "-12345", "long line "}), 1, 30).Draw(t, "parts")
		text := strings.Join(parts, "")
		var shown strings.Builder
		v := veiled(func(s string) {
			if strings.Contains(s, "hush hush-12345") {
				t.Fatalf("shown: %q", s)
			}
			shown.WriteString(s)
		})
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			v.write(rest[:n])
			rest = rest[n:]
		}
		v.close()
		if want := strings.ReplaceAll(text, "hush hush-12345", "[redacted]"); shown.String() != want {
			t.Fatalf("shown %q, want %q", shown.String(), want)
		}
	})
}

// TestVeilDoesNotKeepQuestions: a line that nobody ends is shown after a moment, and
// what comes after the end is not.
func TestVeilDoesNotKeepQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown strings.Builder
		v := veiled(func(s string) { shown.WriteString(s) })
		text := func() string { // it is written with the lock held
			v.mu.Lock()
			defer v.mu.Unlock()
			return shown.String()
		}
		v.write("one\nPassword: ")
		if text() != "one\n" {
			t.Errorf("at once: %q", text())
		}
		time.Sleep(heldLong)
		synctest.Wait()
		if text() != "one\nPassword: " {
			t.Errorf("after a moment: %q", text())
		}
		v.write(strings.Repeat("x", heldMost+1))
		if n := len(text()); n != len("one\nPassword: ")+heldMost+1 {
			t.Errorf("%d bytes are shown of a long line", n)
		}
		v.write("-----BEGIN X PRIVATE KEY-----\nabc\n")
		v.write("def\n-----END X PRIVATE KEY-----\nend\n")
		v.close()
		v.write("late\n")
		if s := text(); !strings.HasSuffix(s, "-----END X PRIVATE KEY-----\nend\n") {
			t.Errorf("in the end: %q", s[len(s)-60:])
		}
	})
}

package redact

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func hushed(show func(string)) *Writer {
	return NewWriter(func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("hush hush-12345"), []byte("[redacted]"))
	}, show)
}

// TestWriterHidesSecretsInPieces cuts an output anywhere: what is shown is the whole
// of it, and never a secret or a piece of one that has not ended yet.
func TestWriterHidesSecretsInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"hush hush-12345", "a", " ", "\n", "\r\n", "hush ", "-12345",
			"long line "}), 1, 30).Draw(t, "parts")
		text := strings.Join(parts, "")
		var shown strings.Builder
		v := hushed(func(s string) {
			if strings.Contains(s, "hush hush-12345") {
				t.Fatalf("shown: %q", s)
			}
			shown.WriteString(s)
		})
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			v.Write(rest[:n])
			rest = rest[n:]
		}
		v.Close()
		if want := strings.ReplaceAll(text, "hush hush-12345", "[redacted]"); shown.String() != want {
			t.Fatalf("shown %q, want %q", shown.String(), want)
		}
	})
}

// TestWriterDoesNotKeepQuestions: a line that nobody ends is shown after a moment, and
// what comes after the end is not.
func TestWriterDoesNotKeepQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown strings.Builder
		v := hushed(func(s string) { shown.WriteString(s) })
		text := func() string { // it is written with the lock held
			v.mu.Lock()
			defer v.mu.Unlock()
			return shown.String()
		}
		v.Write("one\nPassword: ")
		if text() != "one\n" {
			t.Errorf("at once: %q", text())
		}
		time.Sleep(heldLong)
		synctest.Wait()
		if text() != "one\nPassword: " {
			t.Errorf("after a moment: %q", text())
		}
		v.Write(strings.Repeat("x", heldMost+1))
		if n := len(text()); n != len("one\nPassword: ")+heldMost+1 {
			t.Errorf("%d bytes are shown of a long line", n)
		}
		v.Write("-----BEGIN X PRIVATE KEY-----\nabc\n")
		v.Write("def\n-----END X PRIVATE KEY-----\nend\n")
		v.Close()
		v.Write("late\n")
		if s := text(); !strings.HasSuffix(s, "-----END X PRIVATE KEY-----\nend\n") {
			t.Errorf("in the end: %q", s[len(s)-60:])
		}
	})
}

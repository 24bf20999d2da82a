package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
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

// TestWriterShowsAFloodInParts: of output that comes quicker than it can be read the
// beginning is shown and parts of the rest, each from the beginning of a line outside of
// keys, and between them how much is left out. The end that waits for somebody is shown.
func TestWriterShowsAFloodInParts(t *testing.T) {
	const secret, hidden = "hush hush-12345", "[redacted 1234]"
	key := keyBegins + "X PRIVATE KEY-----\n" + strings.Repeat("abcdefgh\n", 500) + keyEnds + "X PRIVATE KEY-----\n"
	floods := 0
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		var out strings.Builder
		for most := 200_000 + r.IntN(1<<20); out.Len() < most; {
			switch r.IntN(12) {
			case 0, 1, 2:
				out.WriteString(key)
			case 3:
				out.WriteString("a " + secret + " here\n" + keyBegins + "only the words\n")
			default:
				out.WriteString(strings.Repeat("x", r.IntN(300)*r.IntN(100)) + "\n")
			}
		}
		out.WriteString(strings.Repeat("x\n", heldMost) + strings.Repeat("Password: ", 1+5000*r.IntN(2)))
		text := out.String()
		size, pause := 1+r.IntN(1+r.IntN(100_000)), time.Duration(r.IntN(100))*time.Millisecond
		if size < 1000 {
			pause = time.Duration(r.IntN(200)) * time.Microsecond
		}
		synctest.Test(t, func(t *testing.T) {
			var shown []string
			v := NewWriter(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(secret), []byte(hidden)) },
				func(s string) { shown = append(shown, s) })
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				v.Write(rest[:n])
				rest = rest[n:]
				time.Sleep(pause)
			}
			time.Sleep(heldLong)
			synctest.Wait()
			v.Close()
			want, at, total := strings.ReplaceAll(text, secret, hidden), 0, 0
			for i, s := range shown {
				var left int
				if n, _ := fmt.Sscanf(strings.TrimPrefix(s, "\n"), "[… %d bytes are not shown here …]", &left); n == 1 {
					at += left
					floods++
					open := strings.LastIndex(text[:at], keyBegins+"X")
					if at < len(text) && text[at-1] != '\n' || open > strings.LastIndex(text[:at], keyEnds) && at-open < heldMost {
						t.Fatalf("seed %d: goes on at %d, within a line or a key", seed, at)
					}
					if strings.HasPrefix(s, "\n") == strings.HasSuffix(shown[i-1], "\n") {
						t.Fatalf("seed %d: what is left out is told within a line: %q", seed, s)
					}
					continue
				}
				if !strings.HasPrefix(want[at:], s) {
					t.Fatalf("seed %d: at %d is %.80q, which is not there", seed, at, s)
				}
				at, total = at+len(s), total+len(s)
			}
			if at != len(text) || strings.HasSuffix(text, "x\nPassword: ") && !strings.HasSuffix(shown[len(shown)-1], ": ") {
				t.Fatalf("seed %d: %d of %d bytes are accounted for", seed, at, len(text))
			}
			ticks := 1 + int(time.Duration(len(text)/size+1)*pause/heldLong)
			if most := shownAtOnce + size + ticks*(shownLater+size+heldMost); total > most {
				t.Errorf("seed %d: %d bytes of %d are shown, at most %d", seed, total, len(text), most)
			}
		})
	}
	if floods < 100 {
		t.Errorf("only %d floods", floods)
	}
}

// The words with which a key begins may come in two pieces.
func TestFloodGoesOnBehindKeys(t *testing.T) {
	var f flood
	if f.pass("x\n-------BEG", false) != nil || f.pass("IN X PRIVATE KEY-----\nabc\n", true) != nil {
		t.Error("goes on within a key")
	}
	if rest := f.pass("def\n-----END X PRIVATE KEY-----\nend\n", true); string(rest) != "end\n" {
		t.Errorf("goes on with %q", rest)
	}
}

// Package print writes results for people and for programs.
package print

import (
	"encoding/json"
	"fmt"
	"io"
	"kerf/internal/text/visible"
	"strings"
)

// JSON writes one value.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Line writes one value on a line of its own.
func Line(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Array writes a list as one JSON array, [] when it is empty.
func Array(w io.Writer, list any) error {
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if string(b) == "null" {
		b = []byte("[]")
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// Lines makes every line of a text harmless for a terminal.
func Lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(visible.Plain(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// Bytes is a number of bytes for people.
func Bytes(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Grouped is a number with a comma between thousands.
func Grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count is a number with the word for one or for many.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(n) + " " + many
}

package unified

import (
	"strings"
)

const BOM = "\ufeff"

// SplitPatch cuts a patch into lines that keep their line feeds.
func SplitPatch(text []byte) []string {
	return strings.SplitAfter(strings.TrimPrefix(string(text), BOM), "\n")
}

// TrimLineEnd cuts the line end: a line feed and one carriage return before it.
func TrimLineEnd(l string) string {
	l, cut := strings.CutSuffix(l, "\n")
	if cut {
		l = strings.TrimSuffix(l, "\r")
	}
	return l
}

// Uncolour removes terminal colours, if the patch was copied with them: that is
// when a header line is coloured. Colours inside a file's own lines stay.
func Uncolour(lines []string) []string {
	coloured := false
	for _, l := range lines {
		if !strings.HasPrefix(l, "\x1b[") {
			continue
		}
		l = PlainLine(l)
		if strings.HasPrefix(l, "diff --git ") || strings.HasPrefix(l, "@@ -") || strings.HasPrefix(l, "--- ") {
			coloured = true
			break
		}
	}
	if !coloured {
		return lines
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = PlainLine(l)
	}
	return out
}

// PlainLine removes the escape sequences that colour and clear.
func PlainLine(l string) string {
	at := strings.Index(l, "\x1b[")
	if at < 0 {
		return l
	}
	var b strings.Builder
	for at >= 0 {
		b.WriteString(l[:at])
		end := at + 2
		for end < len(l) && (l[end] >= '0' && l[end] <= '9' || l[end] == ';') {
			end++
		}
		if end < len(l) && (l[end] == 'm' || l[end] == 'K') {
			l = l[end+1:]
		} else {
			b.WriteString("\x1b[")
			l = l[at+2:]
		}
		at = strings.Index(l, "\x1b[")
	}
	b.WriteString(l)
	return b.String()
}

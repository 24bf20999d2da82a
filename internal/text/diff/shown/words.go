package shown

import (
	"strings"
	"unicode"

	"kerf/internal/text/diff"
)

// Words is a diff with the changed words of each line between marks, [-old-] and {+new+}, and
// in colours where they are wanted, as git diff --word-diff shows it.
func Words(text string, colored bool) string {
	var b strings.Builder
	var old, new []string
	flush := func() {
		if len(old)+len(new) > 0 {
			b.WriteString(words(strings.Join(old, "\n"), strings.Join(new, "\n"), colored))
			b.WriteByte('\n')
		}
		old, new = nil, nil
	}
	Each(text, func(k Kind, l string) {
		l = Safe(l)
		switch {
		case k == Removed:
			old = append(old, l[1:])
			return
		case k == Added:
			new = append(new, l[1:])
			return
		}
		if strings.HasPrefix(l, `\ No newline`) {
			return // of words it says nothing
		}
		flush()
		l = shortIDs(k, l)
		switch {
		case k == Context && l != "":
			l = l[1:]
		case colored:
			l = painted(k, l)
		}
		b.WriteString(l + "\n")
	})
	flush()
	return b.String()
}

// words are two texts in one, with marks around what is only in one of them.
func words(old, new string, colored bool) string {
	a, b := tokens(old), tokens(new)
	// One token a line, so that what compares lines compares words.
	line := strings.NewReplacer("\n", "\x00")
	joined := func(list []string) []byte {
		var s strings.Builder
		for _, t := range list {
			s.WriteString(line.Replace(t) + "\n")
		}
		return []byte(s.String())
	}
	before, after := joined(a), joined(b)
	var out strings.Builder
	unline := func(s []byte) string {
		return strings.ReplaceAll(strings.ReplaceAll(string(s), "\n", ""), "\x00", "\n")
	}
	at := 0
	for _, e := range diff.Lines(before, after) {
		out.WriteString(unline(before[at:e.Start]))
		mark(&out, unline(before[e.Start:e.End]), "[-", "-]", red, colored)
		mark(&out, unline(e.New), "{+", "+}", green, colored)
		at = e.End
	}
	out.WriteString(unline(before[at:]))
	return out.String()
}

// mark writes text between marks, line by line.
func mark(out *strings.Builder, text, open, end, color string, colored bool) {
	if colored {
		open, end = color+open, end+plain
	}
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		if line != "" {
			out.WriteString(open + line + end)
		}
	}
}

// tokens are the words of a text, its blanks, and its other characters one by one.
func tokens(s string) []string {
	var list []string
	kind := func(r rune) int {
		switch {
		case r == '\n':
			return 0
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	start, was := 0, 0
	for i, r := range s {
		k := kind(r)
		if i > start && (k == 0 || k != was) {
			list = append(list, s[start:i])
			start = i
		}
		was = k
	}
	if start < len(s) {
		list = append(list, s[start:])
	}
	return list
}

package shown

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"kerf/internal/text/diff"
	"kerf/internal/text/pattern"
	"kerf/internal/text/visible"
)

// The colours of git.
const (
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	cyan  = "\x1b[36m"
	plain = "\x1b[m"
)

// Safe makes a line harmless for a terminal. Its tabs stay.
func Safe(line string) string {
	parts := strings.Split(line, "\t")
	for i, part := range parts {
		parts[i] = visible.Line(part)
	}
	return strings.Join(parts, "\t")
}

// Quoting says how names with letters beyond ASCII are written: git's core.quotePath.
type Quoting bool

// The values of core.quotePath. Octal is git's own choice where nothing is set.
const (
	Octal   Quoting = false // "\303\274.txt"
	Letters Quoting = true  // ü.txt
)

// Name is a path for people, quoted as git does: as it is, or as a C string where it has
// quotes, backslashes, characters that cannot be seen or, with Octal, bytes beyond ASCII.
func Name(path string, q Quoting) string {
	if q == Octal {
		return diff.Quote(path)
	}
	odd := func(r rune) bool { return r == '"' || r == '\\' || r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	if !strings.ContainsFunc(path, odd) && visible.Plain(path) == path {
		return path
	}
	out := `"`
	for len(path) > 0 {
		r, n := utf8.DecodeRuneInString(path)
		piece := path[:n]
		path = path[n:]
		if quoted := diff.Quote(piece); quoted != piece && (r < utf8.RuneSelf || odd(r) || visible.Plain(piece) != piece) {
			piece = quoted[1 : len(quoted)-1]
		}
		out += piece
	}
	return out + `"`
}

// fullIDs are the ids of contents in a header, which git shortens for people.
var fullIDs = pattern.Lazy(`^index ([0-9a-f]{7})[0-9a-f]{33}\.\.([0-9a-f]{7})[0-9a-f]{33}`)

// Terminal is a diff for a terminal: harmless, with the ids of contents shortened, and in git's
// colours where they are wanted.
func Terminal(text string, colored bool) string {
	var b strings.Builder
	Each(text, func(k Kind, l string) {
		l = Safe(l)
		l = shortIDs(k, l)
		if colored {
			l = painted(k, l)
		}
		b.WriteString(l + "\n")
	})
	return b.String()
}

// shortIDs shortens the ids in a header.
func shortIDs(k Kind, l string) string {
	if k != Header {
		return l
	}
	return fullIDs().ReplaceAllString(l, "index $1..$2")
}

func painted(k Kind, l string) string {
	switch {
	case k == Added:
		return green + l + plain
	case k == Removed:
		return red + l + plain
	case k == Header:
		return bold + l + plain
	case k == Hunk:
		if i := strings.Index(l[2:], "@@"); i >= 0 {
			return cyan + l[:i+4] + plain + l[i+4:]
		}
	}
	return l
}

// Names lists the files of a diff as git diff --name-only does.
func Names(text string, q Quoting) string {
	var b strings.Builder
	for _, f := range Files(text) {
		b.WriteString(Name(f.Name, q) + "\n")
	}
	return b.String()
}

// Stats draws the counts of a diff as git diff --stat does, in so many columns.
func Stats(text string, columns int, colored bool, q Quoting) string {
	files := Files(text)
	if len(files) == 0 {
		return ""
	}
	names, most, digits := make([]string, len(files)), 0, 1
	wide := 0
	var all Stat
	for i, f := range files {
		names[i] = label(f, q)
		wide = max(wide, width(names[i]))
		most = max(most, f.Added+f.Removed)
		all.Added, all.Removed = all.Added+f.Added, all.Removed+f.Removed
		if f.Binary {
			digits = max(digits, len("Bin"))
		}
	}
	digits = max(digits, len(strconv.Itoa(most)))
	columns = max(columns, 22+digits)
	bar := most
	if wide+digits+6+bar > columns {
		bar = min(bar, max(6, columns*3/8-digits-6))
		if rest := columns - digits - 6 - bar; wide > rest {
			wide = rest
		} else {
			bar = columns - digits - 6 - wide
		}
	}
	var b strings.Builder
	for i, f := range files {
		name := shorten(names[i], wide)
		fmt.Fprintf(&b, " %s%s | ", name, strings.Repeat(" ", max(0, wide-width(name))))
		if f.Binary {
			fmt.Fprintf(&b, "%*s\n", digits, "Bin")
			continue
		}
		line := fmt.Sprintf("%*d %s", digits, f.Added+f.Removed, marks(f.Stat, most, bar, colored))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String() + summary(len(files), all)
}

// label names a file of a list.
func label(f File, q Quoting) string {
	if f.From != "" && f.From != f.Name {
		return Name(f.From, q) + " => " + Name(f.Name, q)
	}
	return Name(f.Name, q)
}

// shorten leaves out the beginning of a name that is too wide.
func shorten(name string, wide int) string {
	r := []rune(name)
	if len(r) <= wide {
		return name
	}
	rest := string(r[len(r)-wide+3:])
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		rest = rest[i:]
	}
	return "..." + rest
}

func width(s string) int { return len([]rune(s)) }

// marks are the plus and minus signs of a file, scaled to the largest one.
func marks(s Stat, most, bar int, colored bool) string {
	added, removed := s.Added, s.Removed
	if most >= bar {
		total := scale(added+removed, most, bar)
		if total < 2 && added > 0 && removed > 0 {
			total = 2
		}
		if added < removed {
			added = scale(added, most, bar)
			removed = total - added
		} else {
			removed = scale(removed, most, bar)
			added = total - removed
		}
	}
	plus, minus := strings.Repeat("+", added), strings.Repeat("-", removed)
	if !colored {
		return plus + minus
	}
	if plus != "" {
		plus = green + plus + plain
	}
	if minus != "" {
		minus = red + minus + plain
	}
	return plus + minus
}

func scale(n, most, bar int) int {
	if n == 0 {
		return 0
	}
	return 1 + n*(bar-1)/most
}

func summary(files int, s Stat) string {
	many := func(n int, one, more string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", n, more)
	}
	line := " " + many(files, "file changed", "files changed")
	if s.Added > 0 || s.Removed == 0 {
		line += ", " + many(s.Added, "insertion(+)", "insertions(+)")
	}
	if s.Removed > 0 || s.Added == 0 {
		line += ", " + many(s.Removed, "deletion(-)", "deletions(-)")
	}
	return line + "\n"
}

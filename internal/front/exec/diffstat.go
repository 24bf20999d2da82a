package exec

import (
	"fmt"
	"strconv"
	"strings"
)

// lineKind says what a line of a unified diff is.
type lineKind int

const (
	lineContext lineKind = iota
	lineAdded
	lineRemoved
	lineHunk
	lineHeader
)

// eachLine calls f for the lines of a git-style diff. It counts hunks, so that
// removed text which looks like a header is not taken for one.
func eachLine(diff string, f func(lineKind, string)) {
	var before, after int
	for l := range strings.Lines(diff) {
		l = strings.TrimSuffix(l, "\n")
		inside := before > 0 || after > 0
		switch {
		case inside && strings.HasPrefix(l, "+"):
			after--
			f(lineAdded, l)
		case inside && strings.HasPrefix(l, "-"):
			before--
			f(lineRemoved, l)
		case strings.HasPrefix(l, `\`):
			f(lineContext, l)
		case inside:
			before--
			after--
			f(lineContext, l)
		default:
			if b, a, ok := hunk(l); ok {
				before, after = b, a
				f(lineHunk, l)
				continue
			}
			f(lineHeader, l)
		}
	}
}

// hunk reads how many old and new lines follow "@@ -1,2 +3,4 @@".
func hunk(l string) (before, after int, ok bool) {
	fields := strings.Fields(l)
	if len(fields) < 4 || fields[0] != "@@" || fields[3] != "@@" {
		return 0, 0, false
	}
	return span(fields[1], "-"), span(fields[2], "+"), true
}

func span(s, sign string) int {
	var at int
	n := 1
	if _, err := fmt.Sscanf(s, sign+"%d,%d", &at, &n); err != nil {
		return 1 // "-1" stands for one line
	}
	return n
}

// stat counts the lines of a diff.
type stat struct{ added, removed int }

func (s *stat) count(k lineKind) {
	switch k {
	case lineAdded:
		s.added++
	case lineRemoved:
		s.removed++
	}
}

func tally(diff string) stat {
	var s stat
	eachLine(diff, func(k lineKind, _ string) { s.count(k) })
	return s
}

type fileStat struct {
	name string
	stat
}

// perFile counts the lines of each file of a git-style diff, in its order.
func perFile(diff string) []fileStat {
	var files []fileStat
	eachLine(diff, func(k lineKind, l string) {
		if names, ok := strings.CutPrefix(l, "diff --git "); ok && k == lineHeader {
			files = append(files, fileStat{name: fileName(names)})
			return
		}
		if len(files) == 0 {
			return
		}
		f := &files[len(files)-1]
		if k != lineHeader {
			f.count(k)
			return
		}
		// These name a path without the doubt that blanks leave in the line above.
		for _, mark := range []string{"rename to ", "copy to ", "--- a/", "+++ b/"} {
			if name, ok := strings.CutPrefix(plainName(l, mark), mark); ok {
				f.name = strings.TrimSuffix(name, "\t")
			}
		}
	})
	return files
}

// plainName undoes the quotes that git writes around an odd name behind the first word
// of a mark such as "--- a/".
func plainName(l, mark string) string {
	word, name, ok := strings.Cut(l, " \"")
	if !ok || !strings.HasPrefix(mark, word+" ") && mark != word+" " {
		return l
	}
	if plain, err := strconv.Unquote(`"` + name); err == nil {
		return word + " " + plain
	}
	return l
}

// fileName takes the name from "a/NAME b/NAME", where both are the same.
func fileName(names string) string {
	if first, err := strconv.QuotedPrefix(names); err == nil {
		if plain, err := strconv.Unquote(first); err == nil {
			return strings.TrimPrefix(plain, "a/")
		}
	}
	if len(names)%2 == 1 {
		a, b := names[:len(names)/2], names[len(names)/2+1:]
		if strings.TrimPrefix(a, "a/") == strings.TrimPrefix(b, "b/") {
			return strings.TrimPrefix(b, "b/")
		}
	}
	_, b, _ := strings.Cut(names, " b/")
	return b
}

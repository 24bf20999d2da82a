// Package shown shows unified diffs in git's format to people: their files with counts,
// colours, and changed words.
package shown

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind says what a line of a unified diff is.
type Kind int

// The kinds.
const (
	Context Kind = iota
	Added
	Removed
	Hunk
	Header
)

// Each calls f for the lines of a git-style diff. It counts hunks, so that
// removed text which looks like a header is not taken for one.
func Each(diff string, f func(Kind, string)) {
	var before, after int
	for l := range strings.Lines(diff) {
		l = strings.TrimSuffix(l, "\n")
		inside := before > 0 || after > 0
		switch {
		case inside && strings.HasPrefix(l, "+"):
			after--
			f(Added, l)
		case inside && strings.HasPrefix(l, "-"):
			before--
			f(Removed, l)
		case strings.HasPrefix(l, `\`):
			f(Context, l)
		case inside:
			before--
			after--
			f(Context, l)
		default:
			if b, a, ok := hunk(l); ok {
				before, after = b, a
				f(Hunk, l)
				continue
			}
			f(Header, l)
		}
	}
}

// hunk reads how many old and new lines follow "@@ -1,2 +3,4 @@".
func hunk(l string) (before, after int, ok bool) {
	if !strings.HasPrefix(l, "@@ ") {
		return 0, 0, false
	}
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

// Stat counts the lines of a diff.
type Stat struct{ Added, Removed int }

func (s *Stat) count(k Kind) {
	switch k {
	case Added:
		s.Added++
	case Removed:
		s.Removed++
	}
}

// Tally counts the lines of a whole diff.
func Tally(diff string) Stat {
	var s Stat
	Each(diff, func(k Kind, _ string) { s.count(k) })
	return s
}

// File is one file of a diff: its name below the base, the new one where it moved.
type File struct {
	Name, From string // From is set where it was renamed or copied
	Stat
	Binary  bool
	Section string // of the diff
}

// Files counts the lines of each file of a git-style diff, in its order.
func Files(diff string) []File {
	var files []File
	start, end := 0, 0 // of the section of the last file
	Each(diff, func(k Kind, l string) {
		begin := end
		end = min(begin+len(l)+1, len(diff))
		if names, ok := strings.CutPrefix(l, "diff --git "); ok && k == Header {
			if len(files) > 0 {
				files[len(files)-1].Section = diff[start:begin]
			}
			start = begin
			files = append(files, File{Name: fileName(names)})
			return
		}
		if len(files) == 0 {
			return
		}
		f := &files[len(files)-1]
		if k != Header {
			f.count(k)
			return
		}
		f.Binary = f.Binary || strings.HasPrefix(l, "Binary files ") || l == "GIT binary patch"
		for _, mark := range []string{"rename from ", "copy from "} {
			if name, ok := strings.CutPrefix(plainName(l, mark), mark); ok {
				f.From = name
			}
		}
		// These name a path without the doubt that blanks leave in the line above.
		for _, mark := range []string{"rename to ", "copy to ", "--- a/", "+++ b/"} {
			if name, ok := strings.CutPrefix(plainName(l, mark), mark); ok {
				f.Name = strings.TrimSuffix(name, "\t")
			}
		}
	})
	if len(files) > 0 {
		files[len(files)-1].Section = whole(diff[start:end])
	}
	return files
}

// whole ends the last line of a diff.
func whole(section string) string {
	if strings.HasSuffix(section, "\n") {
		return section
	}
	return section + "\n"
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

package unified

import (
	"strings"
)

const devNull = "/dev/null"

// unquote reads a name in git's C-style quotes at the start of s and returns
// what follows it.
func unquote(s string) (name, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", s, false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c != '\\':
			b.WriteByte(c)
		default:
			n, width := escape(s[i+1:])
			if width == 0 {
				return "", s, false
			}
			b.WriteByte(n)
			i += width
		}
	}
	return "", s, false
}

// escape decodes what follows a backslash; width 0 is an error.
func escape(s string) (c byte, width int) {
	if s == "" {
		return 0, 0
	}
	if i := strings.IndexByte(`abtnvfr"\`, s[0]); i >= 0 {
		return "\a\b\t\n\v\f\r\"\\"[i], 1
	}
	if len(s) < 3 || s[0] > '3' {
		return 0, 0
	}
	n := 0
	for _, d := range []byte(s[:3]) {
		if d < '0' || d > '7' {
			return 0, 0
		}
		n = n*8 + int(d-'0')
	}
	return byte(n), 3
}

// headerName reads the name of a --- or +++ line. It ends at a tab, after which
// diff writes a time; where there is no tab, a time may follow blanks.
func headerName(s string) string {
	if name, _, ok := unquote(s); ok {
		return name
	}
	if i := strings.IndexByte(s, '\t'); i >= 0 {
		return s[:i]
	}
	return withoutTime(s)
}

// withoutTime cuts " YYYY-MM-DD HH:MM:SS..." from the end of a name.
func withoutTime(s string) string {
	for i := 1; i+20 <= len(s); i++ {
		if s[i] == ' ' && digits(s[i+1:], "dddd-dd-dd dd:dd:dd") {
			return strings.TrimRight(s[:i], " ")
		}
	}
	return s
}

func digits(s, form string) bool {
	if len(s) < len(form) {
		return false
	}
	for i := range len(form) {
		if form[i] == 'd' && (s[i] < '0' || s[i] > '9') || form[i] != 'd' && s[i] != form[i] {
			return false
		}
	}
	return true
}

// epoch reports whether a header's time is that of 1970's beginning, in any
// zone, with which some tools mark a missing file.
func epoch(s string) bool {
	_, time, ok := strings.Cut(s, "\t")
	return ok && (strings.HasPrefix(time, "1970-01-01 ") || strings.HasPrefix(time, "1969-12-31 ")) &&
		strings.HasSuffix(strings.SplitN(time, ".", 2)[0], "0:00")
}

// maxNames bounds a header with two names; no system has longer paths.
const maxNames = 16 << 10

// splitNames splits the two names of a "diff --git" line. Unquoted names may hold
// spaces; then the names are equal but for their prefix, and that is how the
// middle is found.
func splitNames(s string) (from, to string, ok bool) {
	if first, rest, quoted := unquote(s); quoted {
		rest, spaced := strings.CutPrefix(rest, " ")
		if second, _, quoted := unquote(rest); quoted {
			return first, second, spaced
		}
		return first, rest, spaced && rest != ""
	}
	if i := strings.Index(s, ` "`); i >= 0 {
		if second, rest, quoted := unquote(s[i+1:]); quoted && rest == "" {
			return s[:i], second, true
		}
	}
	for i := 0; i < len(s) && len(s) < maxNames; i++ {
		if s[i] != ' ' && s[i] != '\t' {
			continue
		}
		a, b := s[:i], s[i+1:]
		if a != "" && (a == b || stripped(a, 1) != "" && stripped(a, 1) == stripped(b, 1)) {
			return a, b, true
		}
	}
	if a, b, found := strings.Cut(s, " "); found && !strings.Contains(b, " ") {
		return a, b, true
	}
	return "", "", false
}

// stripped cuts n leading components; the result is empty if there are not more.
func stripped(name string, n int) string {
	for ; n > 0; n-- {
		i := strings.IndexByte(name, '/')
		if i < 0 {
			return ""
		}
		name = strings.TrimLeft(name[i:], "/")
	}
	return name
}

// prefixed reports whether name begins with a component that diff tools put
// before the real name.
func prefixed(name string) bool {
	first, rest, found := strings.Cut(name, "/")
	if !found || rest == "" {
		return false
	}
	switch first {
	case "a", "b", "c", "i", "o", "w", "1", "2", "old", "new", "orig":
		return true
	}
	return false
}

// UnsafeName says why a name of a diff is refused, or nothing. These are the
// names that git refuses.
func UnsafeName(name string) string {
	if name == "" {
		return "the name is empty"
	}
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, `\`) || len(name) > 1 && name[1] == ':' && letter(name[0]) {
		return "the path is absolute; name files relative to the working directory"
	}
	if strings.ContainsRune(name, 0) {
		return "the path holds a NUL byte"
	}
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		switch {
		case part == "..":
			return "the path leads upwards (..); name files below the working directory"
		case dotGit(part):
			return "the path lies in .git, which no patch may change"
		}
	}
	if strings.HasSuffix(name, "/") {
		return "the path names a directory"
	}
	return ""
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// dotGit recognises .git in every spelling that some file system takes for it.
func dotGit(part string) bool {
	part, _, _ = strings.Cut(part, ":")
	part = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1 // ignored by HFS+
		}
		return r
	}, part)
	part = strings.ToLower(strings.TrimRight(part, " ."))
	return part == ".git" || part == "git~1"
}

// Names cuts what is to be cut from the names of f. exists helps where the same
// name is given twice: then it most likely has no prefix.
func (f *File) Names(strip int, exists func(string) bool) (oldName, newName string) {
	cut := func(name string) string {
		switch {
		case name == "":
			return ""
		case strip < 0 || f.bare && strip == 0:
			return name
		case f.rename || f.Copy:
			return stripped(name, strip-1)
		case strip > 0:
			return stripped(name, strip)
		}
		short := stripped(name, 1)
		if short == "" || f.same && !f.prefixedTwin(name, short, exists) {
			return name
		}
		return short
	}
	return cut(f.OldName), cut(f.NewName)
}

func (f *File) prefixedTwin(name, short string, exists func(string) bool) bool {
	if UnsafeName(name) != "" {
		return false // refused as it is written
	}
	if exists == nil || f.Create {
		return prefixed(name) && exists == nil
	}
	return exists(short) || prefixed(name) && !exists(name)
}

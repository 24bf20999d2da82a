// Package names knows files by their names: other spellings of one name, where programs
// keep keys in a home, and what they run from there by themselves. It does not touch the
// disk.
package names

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The names that are protected in every directory.
const (
	Kerf = ".kerf"
	Git  = ".git"
)

// Fold returns rel as the most forgiving file system would read it: without regard
// to case, without characters that HFS+ ignores, without what Windows drops at the end
// of a name, and with the short names that Windows gives to .git and .kerf. It is asked
// on every system, as git does, since the root may lie on a foreign disk and what is
// made there today may be read elsewhere tomorrow.
func Fold(rel string) string {
	parts := strings.Split(rel, "/")
	for i, p := range parts {
		p = foldName(p)
		if name, number, ok := strings.Cut(p, "~"); ok && len(number) == 1 && number >= "1" && number <= "4" &&
			(name == "git" || name == "kerf") {
			p = "." + name
		}
		parts[i] = p
	}
	return strings.Join(parts, "/")
}

func foldName(name string) string {
	plain := true
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if !plain {
		name = strings.Map(foldRune, name)
	}
	if stream := strings.IndexByte(name, ':'); stream > 0 { // .git::$INDEX_ALLOCATION
		name = name[:stream]
	}
	if cut := strings.TrimRight(name, ". "); cut != "" {
		name = cut
	}
	return name
}

// foldRune returns the least of the characters that differ from r in case only, in
// lower case, and -1 for those that are ignored.
func foldRune(r rune) rune {
	switch {
	case r == 0x200c, r == 0x200d, r == 0x200e, r == 0x200f, 0x202a <= r && r <= 0x202e, 0x206a <= r &&
		r <= 0x206f, r == 0xfeff:
		return -1
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return unicode.ToLower(least)
}

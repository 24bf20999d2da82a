package composer

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// viType presses keys: <esc> and <ctrl+r> are named, all others type themselves.
func viType(c *Composer, v *Vi, keys string) {
	for keys != "" {
		if strings.HasPrefix(keys, "<") {
			name, rest, _ := strings.Cut(keys[1:], ">")
			keys = rest
			v.Key(c, name, "")
			continue
		}
		r, n := utf8.DecodeRuneInString(keys)
		keys = keys[n:]
		if !v.Key(c, string(r), string(r)) {
			c.Insert(string(r))
		}
	}
}

// TestVi holds what vi itself does with the same keys; ‸ is the caret.
func TestVi(t *testing.T) {
	for _, x := range []struct{ text, keys, want string }{
		{"one two", "<esc>bx", "one ‸wo"},
		{"one two", "<esc>0dw", "‸two"},
		{"one two", "<esc>0cwtwo<esc>", "tw‸o two"},
		{"one two three", "<esc>02dw", "‸three"},
		{"one two three", "<esc>0d2w", "‸three"},
		{"one, two", "<esc>0wi-<esc>", "one‸-, two"},
		{"one, two", "<esc>0Wi-<esc>", "one, ‸-two"},
		{"one two", "<esc>0ea!<esc>", "one‸! two"},
		{"one two", "<esc>0eea!<esc>", "one two‸!"},
		{"one two", "<esc>D", "one t‸w"},
		{"one two", "<esc>0wC2<esc>", "one ‸2"},
		{"a\nb\nc", "<esc>ggdd", "‸b\nc"},
		{"a\nb\nc", "<esc>dd", "a\n‸b"},
		{"a\nb\nc", "<esc>gg2dd", "‸c"},
		{"a\nb\nc", "<esc>ggddp", "b\n‸a\nc"},
		{"a\nb", "<esc>ggyyGp", "a\nb\n‸a"},
		{"a\nb", "<esc>yyggP", "‸b\na\nb"},
		{"a\nb", "<esc>ggox<esc>", "a\n‸x\nb"},
		{"a\nb", "<esc>Ox<esc>", "a\n‸x\nb"},
		{"  a b", "<esc>Ix<esc>", "  ‸xa b"},
		{"a b", "<esc>0A c<esc>", "a b ‸c"},
		{"f(a, b)", "<esc>0f,x", "f(a‸ b)"},
		{"f(a, b)", "<esc>0t,x", "f(‸, b)"},
		{"f(a, b)", "<esc>0dt,", "‸, b)"},
		{"f(a, b)", "<esc>0df,", "‸ b)"},
		{"f(a, b)", "<esc>F(r[", "f‸[a, b)"},
		{"abc", "<esc>0xxu", "‸bc"},
		{"abc", "<esc>0xxuu<ctrl+r>", "‸bc"},
		{"abc", "<esc>0xp", "b‸ac"},
		{"a\nb", "<esc>ggJ", "a‸ b"},
		{"한국어 말", "<esc>0x", "‸국어 말"},
		{"한국어 말", "<esc>0dw", "‸말"},
		{"one two", "<esc>0d<esc>x", "‸ne two"},
		{"one two", "<esc>0ywP", "one‸ one two"},
		{"one two", "<esc>0y$$p", "one twoone tw‸o"},
		{"", "<esc>xddihi<esc>", "h‸i"},
	} {
		c, v := &Composer{}, &Vi{}
		c.Set(x.text)
		viType(c, v, x.keys)
		if got := c.text[:c.at] + "‸" + c.text[c.at:]; got != x.want {
			t.Errorf("%q %s: %q, want %q", x.text, x.keys, got, x.want)
		}
	}
}

// TestViHolds presses any keys: the caret stays within the text and between
// characters, and the text stays valid.
func TestViHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, v := &Composer{}, &Vi{}
		c.Set(rapid.StringOf(rapid.SampledFrom([]rune("ab, \n한👍"))).Draw(t, "text"))
		keys := rapid.SliceOf(rapid.SampledFrom(strings.Split("h l 0 ^ $ w W b B e E G d c y f t F T r g i a I A o O x X "+
			"s D C S p P u J 1 3 , 한 <esc> <ctrl+r> <left> <right>", " "))).Draw(t, "keys")
		for _, k := range keys {
			viType(c, v, k)
			if c.at < 0 || c.at > len(c.text) || !utf8.ValidString(c.text[:c.at]) || !utf8.ValidString(c.text) {
				t.Fatalf("caret %d in %q", c.at, c.text)
			}
			c.Rows(10)
		}
	})
}

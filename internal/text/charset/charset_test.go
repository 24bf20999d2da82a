package charset

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func named(t testing.TB, name string) Charset {
	t.Helper()
	if name == "" {
		return Charset{}
	}
	c, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDecode(t *testing.T) {
	tests := []struct{ name, content, declared, text, encoding, err string }{
		{"ascii", "a\n", "", "a\n", "utf-8", ""},
		{"utf-8", "é", "", "é", "utf-8", ""},
		{"mark", "\xef\xbb\xbfé", "", "é", "utf-8-bom", ""},
		{"mark before a declaration", "\xef\xbb\xbfé", "windows-1252", "é", "utf-8-bom", ""},
		{"utf-16le", "\xff\xfeh\x00=\xd8\x00\xde", "", "h😀", "utf-16le", ""},
		{"utf-16be", "\xfe\xff\x00h\xd8=\xde\x00", "", "h😀", "utf-16be", ""},
		{"utf-16 declared", "h\x00\n\x00", "utf-16le", "h\n", "utf-16le", ""},
		{"half a pair", "\xff\xfe=\xd8", "", "", "", "not valid utf-16le at byte 2"},
		{"odd", "\xff\xfeh", "", "", "", "not valid utf-16le at byte 2"},
		{"unknown", "caf\xe9", "", "caf\xe9", "unknown-8bit", ""},
		{"latin1", "caf\xe9", "latin1", "café", "iso-8859-1", ""},
		{"windows-1252", "\x93a\x94", "Windows-1252", "“a”", "windows-1252", ""},
		{"a hole in a table", "a\xffb", "iso-8859-7", "", "", "not valid iso-8859-7 at byte 1"},
		{"no character of the table", "a\xff\xff", "shift_jis", "", "", "not valid shift_jis at byte 1"},
		{"shift_jis", "\x82\xa0", "shift_jis", "あ", "shift_jis", ""},
		{"gb18030", "\xc4\xe3\xba\xc3", "gbk", "你好", "gbk", ""},
		{"euc-kr", "\xb0\xaa", "euc-kr", "값", "euc-kr", ""},
		{"declared utf-8 that is none", "ab\xff", "utf-8", "", "", "not valid utf-8 at byte 2"},
		{"utf-32", "\xff\xfe\x00\x00a\x00\x00\x00", "", "\xff\xfe\x00\x00a\x00\x00\x00", "unknown-8bit", ""},
	}
	for _, tt := range tests {
		got, err := Decode([]byte(tt.content), named(t, tt.declared))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got error %v, want %s", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if d := cmp.Diff([]string{tt.text, tt.encoding}, []string{string(got.Bytes), got.Encoding()}); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		if back, err := got.Encode(got.Bytes); err != nil || string(back) != tt.content {
			t.Errorf("%s: written back as %q, %v", tt.name, back, err)
		}
	}
}

func TestHintsMayBeWrong(t *testing.T) {
	tests := []struct{ content, declared, text, encoding string }{
		{"café", "latin1", "café", "utf-8"},
		{"cafe", "latin1", "cafe", "iso-8859-1"},
		{"caf\xe9", "latin1", "café", "iso-8859-1"},
		{"caf\xe9", "utf-8", "caf\xe9", "unknown-8bit"},
		{"abc", "utf-16le", "abc", "utf-8"},
	}
	for _, tt := range tests {
		got, err := Decode([]byte(tt.content), named(t, tt.declared).Hint())
		if err != nil || string(got.Bytes) != tt.text || got.Encoding() != tt.encoding {
			t.Errorf("%q as %s: got %q, %s, %v", tt.content, tt.declared, got.Bytes, got.Encoding(), err)
		}
	}
}

func TestEncodeRefusesWhatDoesNotFit(t *testing.T) {
	tests := []struct {
		declared, text string
		char           rune
	}{
		{"latin1", "5 €", '€'},
		{"windows-1252", "값", '값'},
		{"shift_jis", "é", 'é'},
		{"utf-8", "\xed\xa0\xbd", '\uFFFD'},
		{"utf-16le", "a\xff", '\uFFFD'},
	}
	for _, tt := range tests {
		_, err := New(named(t, tt.declared)).Encode([]byte(tt.text))
		var e *Error
		if !errors.As(err, &e) || e.Char != tt.char {
			t.Errorf("%s %q: got %v, want %q refused", tt.declared, tt.text, err, tt.char)
		}
	}
}

func TestNamesThatAreRefused(t *testing.T) {
	for _, name := range []string{"", "nonsense", "iso-2022-jp", "utf-7", "hz-gb-2312", "x-user-defined", "replacement",
		"utf-32"} {
		if c, err := Named(name); err == nil {
			t.Errorf("%q is taken for %s", name, c)
		}
	}
}

func TestMarksAreNotDoubled(t *testing.T) {
	for _, name := range []string{"utf-8-bom", "utf-16le", "utf-16be"} {
		n := New(named(t, name))
		with, err := n.Encode([]byte("\ufeffx"))
		without, err2 := n.Encode([]byte("x"))
		if err != nil || err2 != nil || !bytes.Equal(with, without) {
			t.Errorf("%s: %q and %q", name, with, without)
		}
		if back, err := Decode(with, Charset{}); err != nil || string(back.Bytes) != "x" || back.Encoding() != name {
			t.Errorf("%s reads as %q, %s, %v", name, back.Bytes, back.Encoding(), err)
		}
	}
}

var names = []string{"", "utf-8", "utf-8-bom", "utf-16le", "utf-16be", "latin1", "windows-1251", "koi8-r", "shift_jis",
	"euc-jp", "gbk", "gb18030", "big5", "euc-kr", "macintosh"}

// TestSplicesTouchNothingElse: what can be read is written back the same, and
// where one character is put in its place the bytes around it stay.
func TestSplicesTouchNothingElse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := named(t, rapid.SampledFrom(names).Draw(rt, "charset"))
		content := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "content")
		if rapid.Bool().Draw(rt, "text") {
			if b, err := New(c).Encode([]byte(rapid.StringN(0, 20, -1).Draw(rt, "words"))); err == nil {
				content = b
			}
		}
		x, err := Decode(content, c)
		if err != nil {
			return
		}
		back, err := x.Encode(x.Bytes)
		if err != nil || !bytes.Equal(back, content) {
			rt.Fatalf("%q reads as %q and is written as %q, %v", content, x.Bytes, back, err)
		}
		runes := []rune(string(x.Bytes))
		if !x.Known() || len(runes) == 0 {
			return
		}
		at := rapid.IntRange(0, len(runes)-1).Draw(rt, "at")
		head, tail := []byte(string(runes[:at])), []byte(string(runes[at+1:]))
		got, err := x.Encode([]byte(string(head) + "z" + string(tail)))
		if err != nil {
			rt.Fatal(err)
		}
		from, to := x.Mark()+x.Size(head), len(content)-x.Size(tail)
		if !bytes.Equal(got[:from], content[:from]) || !bytes.HasSuffix(got, content[to:]) {
			rt.Fatalf("%q at %d became %q", content, at, got)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for i := range names {
		f.Add([]byte("a\xff\xfe\x00\n"), byte(i))
	}
	f.Fuzz(func(t *testing.T, content []byte, which byte) {
		x, err := Decode(content, named(t, names[int(which)%len(names)]))
		if err != nil {
			return
		}
		if back, err := x.Encode(x.Bytes); err != nil || !bytes.Equal(back, content) {
			t.Fatalf("%q, %v", back, err)
		}
	})
}

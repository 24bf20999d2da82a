package charset

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestBrokenTextsComeBack: whatever follows the mark of UTF-16 is written back to the
// byte, and a part of it takes as many bytes as Size says.
func TestBrokenTextsComeBack(t *testing.T) {
	broken := 0
	rapid.Check(t, func(t *rapid.T) {
		content := []byte(rapid.SampledFrom([]string{"\xff\xfe", "\xfe\xff"}).Draw(t, "mark"))
		unit := rapid.SampledFrom([]string{"a\x00", "\x00a", "\x00\xd8", "\xd8\x00", "\x00\xdc", "\xdc\x00", "=\xd8\x00\xde",
			"\n\x00"})
		for range rapid.IntRange(0, 12).Draw(t, "units") {
			content = append(content, unit.Draw(t, "unit")...)
		}
		content = append(content, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "end")...)
		text, err := DecodeBroken(content, Charset{})
		if err != nil {
			t.Fatal(err)
		}
		back, err := text.Encode(text.Bytes)
		if err != nil || !bytes.Equal(back, content) {
			t.Fatalf("%q became %q: %v", content, back, err)
		}
		if size := text.Mark() + text.Size(text.Bytes) + len(text.rest); size != len(content) {
			t.Fatalf("%q has %d bytes, not %d", content, len(content), size)
		}
		if _, err := Decode(content, Charset{}); (err != nil) != text.broken {
			t.Fatalf("%q: broken %v, but decoding gives %v", content, text.broken, err)
		}
		if text.broken {
			broken++
		}
	})
	if broken == 0 {
		t.Error("nothing was ever broken")
	}
}

// TestBrokenIsForMarksOnly: a declaration that does not fit may be wrong, and is told.
func TestBrokenIsForMarksOnly(t *testing.T) {
	c, err := Named("utf-16le")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeBroken([]byte("\x00\xd8"), c); err == nil {
		t.Error("read in spite of the declaration")
	}
	text, err := DecodeBroken([]byte("\xff\xfea\x00\x00\xd8"), Charset{})
	if err != nil || text.Encoding() != "utf-16le" {
		t.Errorf("%q %v", text.Encoding(), err)
	}
	if _, err := text.Encode([]byte("\xff")); err == nil {
		t.Error("bytes that are nothing were written")
	}
}

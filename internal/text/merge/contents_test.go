package merge

import (
	"testing"

	"kerf/internal/text/charset"
)

func TestContentsMergesWideText(t *testing.T) {
	for _, name := range []string{"utf-8-bom", "utf-16le", "utf-16be", "utf-8"} {
		c, err := charset.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		file := func(text string) []byte {
			b, err := charset.New(c).Encode([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		// U+0A0A and U+010A have the byte of a line feed in them.
		base := file("one\ntwo \u0a0a\nthree\nfour \u010a\nfive\n")
		ours := file("ONE\ntwo \u0a0a\nthree\nfour \u010a\nfive\n")
		theirs := file("one\ntwo \u0a0a\nthree\nfour \u010a\nFIVE \u0a0b\n")
		got, _, conflicts := Contents(base, ours, theirs, charset.Charset{})
		want := file("ONE\ntwo \u0a0a\nthree\nfour \u010a\nFIVE \u0a0b\n")
		if len(conflicts) > 0 || string(got) != string(want) {
			t.Errorf("%s: got %q, want %q, conflicts %v", name, got, want, conflicts)
		}
		if _, _, conflicts := Contents(base, ours, file("uno\ntwo \u0a0a\nthree\nfour \u010a\nfive\n"),
			charset.Charset{}); len(conflicts) != 1 {
			t.Errorf("%s: both changed the first line: %v", name, conflicts)
		}
	}
	// A side in another encoding is not taken apart.
	if _, _, conflicts := Contents([]byte("\xff\xfea\x00"), []byte("b"), []byte("\xff\xfec\x00"),
		charset.Charset{}); len(conflicts) != 1 {
		t.Errorf("mixed encodings: %v", conflicts)
	}
}

package proposal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		name, text, said string
		plans            []string
	}{
		{"none", "just words\n", "just words\n", nil},
		{"own lines", "Here it is.\n<proposed_plan>\n# Plan\n- a\n- b\n</proposed_plan>\nFine?", "Here it is.\n\nFine?", []string{"# Plan\n- a\n- b"}},
		{"one line", "<proposed_plan>do it</proposed_plan>", "", []string{"do it"}},
		{"not closed", "so:\n<proposed_plan>\n- a\n- b\n", "so:", []string{"- a\n- b"}},
		{"two", "<proposed_plan>a</proposed_plan> or <proposed_plan>b</proposed_plan>", "or", []string{"a", "b"}},
		{"empty", "<proposed_plan>\n \n</proposed_plan>x", "x", nil},
		{"talk", "put it in a `<proposed_plan>` block", "put it in a `<proposed_plan>` block", nil},
		{"half a tag", "a <proposed_pl", "a <proposed_pl", nil},
		{"closing alone", "a </proposed_plan> b", "a </proposed_plan> b", nil},
		{"opening inside", "<proposed_plan>a <proposed_plan> b</proposed_plan>", "", []string{"a <proposed_plan> b"}},
	}
	for _, tt := range tests {
		said, plans := Split(tt.text)
		if d := cmp.Diff(tt.said, said); d != "" {
			t.Errorf("%s: said (-want +got):\n%s", tt.name, d)
		}
		if d := cmp.Diff(tt.plans, plans); d != "" {
			t.Errorf("%s: plans (-want +got):\n%s", tt.name, d)
		}
	}
}

// flat joins neighbouring parts, so that only words and borders count.
func flat(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Begin {
			b.WriteString("\x01")
		}
		b.WriteString(p.Text)
		if p.End {
			b.WriteString("\x02")
		}
	}
	return b.String()
}

// FuzzSplitting holds the law: however a text is cut, the same comes out.
func FuzzSplitting(f *testing.F) {
	for _, s := range []string{"a\n<proposed_plan>\n- x\n</proposed_plan>\nb",
		"<proposed_plan><proposed_plan></proposed_plan>", "``<proposed_plan>`<proposed_plan> \n\n y",
		"<<proposed_plan>>z</</proposed_plan>"} {
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, step uint8) {
		if strings.ContainsAny(text, "\x01\x02") {
			t.Skip("the marks of the test itself")
		}
		var whole Parser
		want := flat(append(whole.Write(text), whole.Close()...))
		var bytewise Parser
		var got []Part
		for i := range len(text) {
			got = append(got, bytewise.Write(text[i:i+1])...)
		}
		if g := flat(append(got, bytewise.Close()...)); g != want {
			t.Fatalf("byte by byte: got %q, want %q", g, want)
		}
		for cut := 0; cut <= len(text); cut += max(1, int(step)) {
			var p Parser
			parts := append(p.Write(text[:cut]), p.Write(text[cut:])...)
			if g := flat(append(parts, p.Close()...)); g != want {
				t.Fatalf("cut at %d: got %q, want %q", cut, g, want)
			}
		}
	})
}

package syntax

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/front/tui/style"
)

func kinds(l style.Line) string {
	names := map[style.Role]string{style.Plain: "", style.Keyword: "k:", style.Type: "t:", style.String: "s:",
		style.Number: "n:", style.Comment: "c:", style.Name: "f:", style.Added: "+", style.Removed: "-"}
	var out []string
	for _, s := range l {
		if strings.TrimSpace(s.Text) != "" {
			out = append(out, names[s.Style.Role]+strings.TrimSpace(s.Text))
		}
	}
	return strings.Join(out, " ")
}

func TestLanguages(t *testing.T) {
	tests := []struct{ lang, text, want string }{
		{"go", `func f(s string) { return "x" + 'y' // done`, `k:func f:f (s t:string ) { k:return s:"x" + s:'y' c:// done`},
		{"python", `def f(x): return "it's" # no`, `k:def f:f (x): k:return s:"it's" c:# no`},
		{"js", "const a = `t ${x}` + 0xff", "k:const a = s:`t ${x}` + n:0xff"},
		{"sql", `SELECT name FROM t WHERE id = 3 -- all`, `k:SELECT name k:FROM t k:WHERE id = n:3 c:-- all`},
		{"json", `"key": "value", 12, true`, `s:"key" : s:"value" , n:12 , k:true`},
		{"yaml", `name: kerf # c`, `f:name : kerf c:# c`},
		{"sh", `if test $# -gt 1; then echo "x"; fi # c`, `k:if test $# -gt n:1 ; k:then echo s:"x" ; k:fi c:# c`},
		{"diff", "+new", "+ +new"},
		{"unknown", `func "x"`, `func "x"`},
	}
	for _, tt := range tests {
		want := tt.want
		if tt.lang == "diff" {
			want = "++new"
		}
		if d := cmp.Diff(want, kinds(New(tt.lang).Line(tt.text))); d != "" {
			t.Errorf("%s %s: %s", tt.lang, tt.text, d)
		}
	}
}

func TestStateGoesFromLineToLine(t *testing.T) {
	x := New("go")
	var got []string
	for _, l := range []string{"a /* one", "two */ b", "x := `raw", "\\` + y"} {
		got = append(got, kinds(x.Line(l)))
	}
	want := []string{"a c:/* one", "c:two */ b", "x := s:`raw", "s:\\` + y"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestForFile(t *testing.T) {
	for name, known := range map[string]bool{"a/b.go": true, "Makefile": true, "Dockerfile": true, "x.unknown": false,
		"": false, `c:\x.py`: true} {
		if (ForFile(name) != nil) != known {
			t.Errorf("%s: known %v, want %v", name, !known, known)
		}
	}
}

// FuzzLine: colours change nothing of the text.
func FuzzLine(f *testing.F) {
	for name := range table() {
		f.Add(name, "a \"b\\\" /* c */ // d `e` '''f # g -- h\n0x1f")
	}
	f.Fuzz(func(t *testing.T, lang, text string) {
		x := New(lang)
		for l := range strings.SplitSeq(text, "\n") {
			var all strings.Builder
			for _, s := range x.Line(l) {
				all.WriteString(s.Text)
			}
			if len(l) < MaxLine && style.Prose(l) == l && all.String() != l {
				t.Fatalf("%q became %q", l, all.String())
			}
		}
	})
}

func BenchmarkLine(b *testing.B) {
	line := "	if x, err := fmt.Sprintf(\"%d of %s\", n, name); err != nil { return nil } // trouble"
	b.SetBytes(int64(len(line)))
	x := New("go")
	for b.Loop() {
		x.Line(line)
	}
}

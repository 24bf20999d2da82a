package markup

import (
	"html/template"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The places in which values stand in pages, as html/template knows them, too.
const places = `<h1>{{.}}</h1><p class="a {{.}} b" title="{{if .}}x{{end}}{{.}}">{{.}}{{if .}} <b>{{.}}</b>{{end}}</p>` +
	`<a href="{{.}}">a</a><a href="/s/{{.}}">b</a><a href="/s/{{.}}?q={{.}}&amp;r={{.}}#c-{{.}}">c</a><a href="?q={{.}}">d</a>` +
	`<img src="{{.}}" alt="{{.}}"><form action="{{.}}"><button formaction="/now/{{.}}/stop">e</button></form>` +
	`<div data-src="{{.}}" data-undo="{{.}}" data-load="/s/{{.}}/cost" data-url="/x?{{.}}"></div><a href="&#47;s?{{.}}">f</a>` +
	`<title>{{.}}</title><textarea>{{.}}</textarea><pre>
{{.}}</pre><a href="http://a/{{.}}"{{if .}} aria-current="{{.}}"{{end}} download>g</a><a href="/b{{if .}}?c={{.}}{{end}}">h</a>`

func parsed(t testing.TB, text string, functions map[string]any) (*Templates, error) {
	t.Helper()
	return Parse(fstest.MapFS{"t.html": {Data: []byte(text)}}, "*.html", functions)
}

func filled(t testing.TB, p interface {
	Execute(w io.Writer, name string, data any) error
}, data any) string {
	var b strings.Builder
	if err := p.Execute(&b, "t.html", data); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What html/template makes of any value at any place is what Kerf makes of it.
func TestEscapesLikeHTMLTemplate(t *testing.T) {
	ours, err := parsed(t, places, nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs := template.Must(template.New("t.html").Parse(places))
	same := func(t interface{ Errorf(string, ...any) }, value string) {
		var a, b strings.Builder
		errA, errB := ours.Execute(&a, "t.html", value), theirs.Execute(&b, value)
		if errA != nil || errB != nil {
			t.Errorf("%q: %v, %v", value, errA, errB)
		}
		if d := cmp.Diff(b.String(), a.String()); d != "" {
			t.Errorf("%q (-theirs +ours):\n%s", value, d)
		}
	}
	for _, value := range []string{"", "plain", `"><script>alert(1)</script>`, "javascript:alert(1)", "JaVaScRiPt:x", " javascript:x",
		"http://a/b?c=d&e=f#g", "HTTPS://a", "mailto:a@b", "xhttp:a", "data:text/html,x", "/a:b", "a b/c+d%20e%2g%", "ä\u202e\x00\xff'`(){}[]",
		"x\njavascript:y", "//evil.test/x", "#f", "?q", "&amp;&lt;", "</title></textarea>", "--><!--"} {
		same(t, value)
	}
	rapid.Check(t, func(r *rapid.T) {
		same(r, rapid.StringOf(rapid.RuneFrom([]rune("ab:/?#&%20\"'<>=+ \x00\n;jJ.(){}\u00e4\u202e"))).Draw(r, "value"))
	})
}

type row struct {
	Name  string
	Count int
	Next  *row
	Inner any
	Names []string
	Safe  HTML
}

// Ways, lists and calls come out as those of html/template.
func TestFillsInLikeHTMLTemplate(t *testing.T) {
	const text = `{{define "one"}}<li>{{.Name}}{{if $.Next}} {{$.Next.Name}}{{end}}</li>{{end}}` +
		`{{with .Next}}{{.Name}}{{else}}none{{end}} {{range .Names}}<b>{{.}}</b>{{else}}empty{{end}}
{{- range $i, $n := .Names}}{{if $i}}, {{end}}{{$n}}{{if lt $i 1}}!{{else if eq $i 1}}?{{end}}{{end}}
{{if or .Name .Names}}some{{end}}{{if and .Count (not .Name)}}x{{end}}{{if gt (len .Names) 1}}{{index .Names 1}}{{end}}
{{template "one" .}}{{print .Count .Name}} {{up .Name}} {{with .Inner}}{{.}}{{end}} {{(next .).Count}} {{ne .Name "a"}}`
	up := map[string]any{"up": strings.ToUpper, "next": func(r row) row { return row{Count: r.Count + 1} }}
	ours, err := parsed(t, text, up)
	if err != nil {
		t.Fatal(err)
	}
	theirs := template.Must(template.New("t.html").Funcs(up).Parse(text))
	for _, r := range []row{{}, {Name: "a", Names: []string{"x<", "y", "z"}}, {Name: "<b>", Count: 2, Next: &row{Name: "n"},
		Inner: 7, Names: []string{"only"}}, {Count: 1, Inner: "i"}} {
		var b strings.Builder
		if err := theirs.Execute(&b, r); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(b.String(), filled(t, ours, r)); d != "" {
			t.Errorf("%+v (-theirs +ours):\n%s", r, d)
		}
	}
	one, err := parsed(t, `<p title="{{.Safe}}">{{.Safe}}{{.Name}}</p><textarea>{{.Safe}}</textarea>`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := filled(t, one, row{Safe: "<b>&amp;</b>", Name: "<i>"}), `<p title="&lt;b&gt;&amp;amp;&lt;/b&gt;"><b>&amp;</b>`+
		`&lt;i&gt;</p><textarea>&lt;b&gt;&amp;amp;&lt;/b&gt;</textarea>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A value stands only where it is known what it can do.
func TestRefusesOtherPlaces(t *testing.T) {
	for text, why := range map[string]string{
		`<a href={{.}}>`: "double quotes", `<a href='{{.}}'>`: "double quotes", `<a {{.}}>`: "in a tag", `<{{.}}>`: "opens no tag",
		`<a{{.}}>`: "in a tag", `<script>{{.}}</script>`: "in a script", `<a onclick="{{.}}">`: "in a script",
		`<a style="{{.}}">`: "in a script", `<img srcset="{{.}}">`: "list of addresses", `<!-- {{.}} -->`: "a comment",
		`<a href="/a{{if .}}?{{end}}{{.}}">`: "not clear", `{{if .}}<b {{end}}>`: "different places", `<b title="x`: "ends within",
		`{{range .}}<b title="{{end}}">`: "another place", `{{.A | print}}`: "pipe", `{{$x := .}}`: "variable",
		`<b {{template "t.html"}}>`: "within a tag", `{{template "nobody"}}`: "not there", `<b dat{{if .}}a{{end}}="x">`: "goes on with a name",
		`{{break}}`: "break", `1 < 2`: "opens no tag",
	} {
		if _, err := parsed(t, text, nil); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
	for text, why := range map[string]string{`<style>{{.Name}}</style>`: "in a style", `{{.Nobody}}`: "has no field",
		`{{.Next.Name}}`: "in nothing", `{{range .Count}}{{end}}`: "no list", `{{index .Names 3}}`: "no such element",
		`{{lt .Name 1}}`: "compared", `{{template "t.html" .}}`: "without end", `{{f .Count}}`: "is no string"} {
		p, err := parsed(t, text, map[string]any{"f": strings.ToUpper})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err := p.Execute(io.Discard, "t.html", row{}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
}

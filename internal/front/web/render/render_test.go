package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"kerf/internal/text/visible"
)

// tag is every tag that Markdown may make, whole.
var tag = regexp.MustCompile(`^<(/?(p|h[3-6]|ul|ol|li|pre|code|em|strong|del|table|thead|tbody|tr|th|td|blockquote|span|a)|` +
	`table tabindex="0"|hr|br|ol start="\d+"|t[dh] align="(left|right|center)"|p class="raw"|pre( class="plain")? tabindex="0"|` +
	`code class="language-[^"<>]*"|span class="([ksncft]|picture)"|` +
	`a rel="noopener noreferrer nofollow" target="_blank" href="(?i:https?)://[^"<>]*")>`)

// inert says what is in a piece of HTML that a text of others must not make.
func inert(out string) string {
	for rest := out; ; {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			break
		}
		rest = rest[i:]
		found := tag.FindString(rest)
		if found == "" {
			return rest[:min(80, len(rest))]
		}
		rest = rest[len(found):]
	}
	if shown := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(out, " "); visible.String(html.UnescapeString(shown)) != html.UnescapeString(shown) {
		return "a hidden character"
	}
	return ""
}

// FuzzMarkdown: whatever a text holds, no tag, attribute or address of it gets out.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# a\n\n- b\n  1. c\n\n> d\n\n```go\nfunc x() {}\n```\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n\n~~e~~ **f** *g* `h`\n\n---\n",
		"<script>x</script>", "<b onclick=x>y</b>", "a <i>b</i> c", "[a](javascript:x)", "[a](https://b \"c\")", "![a](https://b)",
		"<https://a.b/\"onclick=x>", "<!-- x", "<?x?>", "<![CDATA[x]]>", "- [x] done\n- [ ] open", "[a]: javascript:x\n\n[a]", "\u202e", "1) a\n5) b",
		"    code <b>\n", "a  \nb", "&lt;b&gt; &#60;c&#62;", "[a](<b c>)", "``` \"><b>\nx\n```", "<a\nhref=x>", "\x00\x1b[1m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if out := string(Markdown(text)); inert(out) != "" {
			t.Fatalf("%q makes %q: %s", text, out, inert(out))
		}
	})
}

// FuzzDialect: tables, boxes and struck words are read as another reader of them does.
func FuzzDialect(f *testing.F) {
	for _, s := range []string{"| a | b |\n|:-:|--:|\n| 1 | 2 | 3 |\n| `x\\|y` \\| |\nz\n\nq", "a | b\n:- | -\n", "x\ny\n|a|\n|-|\n",
		"> - | a |\n>   |---|\n>   | ~~b~~ |\n", "|a|b|\n|-|\n|c|\n", "|a|\n|-|-|\n|b|c|d|\n", "~a~ ~~b~~ ~~~c~~~ ~~d~ e~~f~~g ~ h~",
		"- [ ] a\n- [x] b\n- [X]c\n- [y] d\n- e [ ] f\n- [\t]\tg\n1. [ ]\n   h", "[ ] i", "a\n-\n:-\n", "||\n|-|\n||\n", "|\n|-\n",
		"a|b\n-|-|-\n-|-\n", "| a |\n    |---|\n", "|`a`|`\\`|\n|-|-|\n|``\\|``|`b\n", "*a | b*\n-|-\n**c** | [d](e|f)", "`a\nb`"} {
		f.Add(s)
	}
	judge := goldmark.New(goldmark.WithExtensions(extension.Strikethrough, extension.TaskList,
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(words{}, 1))))
	f.Fuzz(func(t *testing.T, text string) {
		text = visible.String(text)
		var got, want bytes.Buffer
		if err := errors.Join(markdown().Convert([]byte(text), &got), judge.Convert([]byte(text), &want)); err != nil {
			t.Fatal(err)
		}
		if html.UnescapeString(got.String()) != html.UnescapeString(want.String()) {
			t.Fatalf("%q makes\n%s\nwant\n%s", text, &got, &want)
		}
	})
}

// FuzzDiff: rows of a diff are made of rows only, and parts of it are those of the whole.
func FuzzDiff(f *testing.F) {
	f.Add("diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n a\n-<b>\n+<script>\n", uint8(3))
	f.Add("diff --git \"a/<b>\" \"b/<b>\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/<b>\"\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n", uint8(1))
	row := regexp.MustCompile(`<div class="(r|h)[ a-z]*"( id="file-\d+")?>|</div>|<i( class="m")?>|</i>|<code>|</code>|<b>|</b>|<span class="([ksncft]|add|del)">|</span>`)
	f.Fuzz(func(t *testing.T, text string, at uint8) {
		d := Parse(text)
		for _, split := range []bool{false, true} {
			n := d.Len(split)
			whole := string(d.Rows(0, n, split))
			if left := row.ReplaceAllString(whole, ""); strings.ContainsAny(left, "<>") {
				t.Fatalf("%q leaves %q", text, left)
			}
			if got := strings.Count(whole, "\n"); got != n {
				t.Fatalf("%q has %d rows, %d lines are drawn", text, n, got)
			}
			cut := min(int(at), n)
			parts := strings.Count(string(d.Rows(0, cut, split))+string(d.Rows(cut, n, split)), "\n")
			if parts != n {
				t.Fatalf("%q in two parts has %d rows of %d", text, parts, n)
			}
		}
		if left := row.ReplaceAllString(string(d.Exact()), ""); strings.ContainsAny(left, "<>") {
			t.Fatalf("%q, exact, leaves %q", text, left)
		}
	})
}

// TestSideBySide: what goes stands beside what comes.
func TestSideBySide(t *testing.T) {
	d := Parse("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,4 +1,5 @@\n a\n-b\n-c\n+B\n+C\n+D\n e\n")
	var got []string
	for _, r := range d.split {
		left, right := "", ""
		if r.left != nil {
			left = fmt.Sprintf("%c%s", r.left.Kind, r.left.Text)
		}
		if r.right != nil {
			right = fmt.Sprintf("%c%s", r.right.Kind, r.right.Text)
		}
		got = append(got, left+"|"+right)
	}
	want := "| @@@ -1,4 +1,5 @@|@@@ -1,4 +1,5 @@  a| a -b|+B -c|+C |+D  e| e"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, " "), want)
	}
}

// TestLongMarkdownIsCutAndKept: a long text is drawn in pieces; no line of it is lost, blocks
// of code stay blocks of code, and texts made to take the parser long do not.
func TestLongMarkdownIsCutAndKept(t *testing.T) {
	var b strings.Builder
	for i := range 1500 {
		switch {
		case i%300 == 100:
			b.WriteString("```go\n")
		case i%300 == 299:
			b.WriteString("```\n\n")
		default:
			fmt.Fprintf(&b, "word%d and more of it\n", i)
		}
		if i%17 == 0 {
			b.WriteString("\n")
		}
	}
	out := string(Markdown(b.String()))
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(out, ""))
	for i := range 1500 {
		if i%300 == 100 || i%300 == 299 {
			continue
		}
		if n := strings.Count(text, fmt.Sprintf("word%d and", i)); n != 1 {
			t.Fatalf("line %d is there %d times", i, n)
		}
	}
	for i := range 1500 { // what is code is drawn as code
		at := strings.Index(out, fmt.Sprintf("word%d and", i))
		if at < 0 {
			continue
		}
		code := strings.LastIndex(out[:at], "<pre") > strings.LastIndex(out[:at], "</pre>")
		if want := i%300 > 100; code != want {
			t.Fatalf("line %d is code: %t, want %t", i, code, want)
		}
	}
	if strings.Contains(text, "```") {
		t.Error("a fence is drawn as text")
	}
	for _, p := range pieces(strings.Repeat("*a_", 40_000) + "\n" + strings.Repeat("[a](\n", 20_000)) {
		if len(p) > hardPiece+softPiece && strings.Count(p, "\n") > 1 {
			t.Errorf("a piece of %d bytes", len(p))
		}
	}
}

// BenchmarkHostileMarkdown draws texts that take the parser long.
func BenchmarkHostileMarkdown(b *testing.B) {
	for _, u := range []string{"*a_", "[a](", "> ", "1. ", "a**b_c*"} {
		text := strings.Repeat(strings.Repeat(u, 1000)+"\n", maxMarkdown/(1000*len(u)+1))
		b.Run(u, func(b *testing.B) {
			for range b.N {
				Markdown(text)
			}
		})
	}
}

// TestJSONIsShownAsItWasWritten: a number keeps its digits, and a key that is there twice
// stays there twice.
func TestJSONIsShownAsItWasWritten(t *testing.T) {
	got := string(JSON(json.RawMessage(`{"id":12345678901234567890,"a":"<b>","a":"\u202e"}`)))
	want := "{\n  &#34;id&#34;: 12345678901234567890,\n  &#34;a&#34;: &#34;&lt;b&gt;&#34;,\n  &#34;a&#34;: &#34;\\u202e&#34;\n}"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestEditsKeepTabs draws single edits: tabs stay tabs, and what nobody sees is spelled out.
func TestEditsKeepTabs(t *testing.T) {
	list := Edits("diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,4 @@\n \tx\n-\t\told\n+\t\tn<b>\u202ew\n \ty\n+\tend\tof it\n")
	if len(list) != 2 || list[0].Line != 2 || list[1].Line != 4 {
		t.Fatalf("%+v", list)
	}
	want := "<div class=\"r d\"><i class=\"m\">-</i><code>\t\told</code></div>\n" +
		"<div class=\"r a\"><i class=\"m\">+</i><code>\t\tn&lt;b&gt;&lt;U+202E&gt;w</code></div>\n"
	if got := string(list[0].Rows); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := string(list[1].Rows); !strings.Contains(got, "<code>\tend\tof it</code>") {
		t.Errorf("got %q", got)
	}
}

// TestALongLineIsCut draws a line of megabytes: its beginning, and how much is missing.
func TestALongLineIsCut(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	got := string(Line(nil, "x"+long))
	if len(got) > 2*maxLine || !strings.HasPrefix(got, "xää") || !strings.Contains(got, "ä<b> … ") || strings.Contains(got, "<0x") ||
		!strings.Contains(got, fmt.Sprint(2<<20+1-maxLine)) && !strings.Contains(got, fmt.Sprint(2<<20+2-maxLine)) {
		t.Errorf("%d bytes: %.50s ... %s", len(got), got, got[max(0, len(got)-100):])
	}
	diff := "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+" + long + "\n"
	if rows := Parse(diff).Rows(0, 10, false); len(rows) > 2*maxLine {
		t.Errorf("the diff takes %d bytes", len(rows))
	}
	if e := Edits(diff); len(e) != 1 || len(e[0].Rows) > 2*maxLine || !strings.Contains(string(e[0].Rows), "are not shown") {
		t.Errorf("the edits take %d bytes", len(e[0].Rows))
	}
	if exact := Parse(diff).Exact(); len(exact) < len(long) {
		t.Error("what the user judges is cut")
	}
}

// TestNamesThatHide are names of files that a browser would show as others.
func TestNamesThatHide(t *testing.T) {
	for name, want := range map[string]string{"a b.txt": "a b.txt", "a  b": "a <U+0020>b", " a": "<U+0020>a", "a ": "a<U+0020>", "a\nb": "a␊b",
		"a\u202eb": "a<U+202E>b", "a\xffb": "a<0xFF>b", "  ": "<U+0020><U+0020>", "": ""} {
		if got := Path(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}

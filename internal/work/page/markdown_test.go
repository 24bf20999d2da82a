package page

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"golang.org/x/net/html"
)

var here = &url.URL{Scheme: "https", Host: "site.test", Path: "/docs/page"}

func TestElementsAsMarkdown(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{"<p>one\n two</p>three<p>four", "one two\n\nthree\n\nfour"},
		{"<h2>A <em>b</em><br>c</h2><hr>", "## A *b* c\n\n---"},
		{"a<b> b </b>c <i></i><del>d</del>", "a **b** c ~~d~~"},
		{"<b><p>x</p><p>y</p></b>", "x\n\ny"},
		{"one<br>two", "one\ntwo"},
		{"<a href='../x y'>z</a> <a href='#p'>q</a> <a href='javascript:x()'>r</a> <a href='/a(b)'></a>",
			"[z](https://site.test/x%20y) [q](#p) r"},
		{"<a href=x><h3>title</h3><p>text</p></a>", "### title\n\ntext"},
		{"<img alt='a  b' src=/i.png><img src='data:x'>", "![a b](https://site.test/i.png)"},
		{"<ul><li>a<li><p>b</p><p>c</p><ul><li>d</ul><li><ol start=3><li>e<li>f</ol></ul>",
			"- a\n- b\n\n  c\n  - d\n- 3. e\n  4. f"},
		{"<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n  - b"},
		{"<ul><li><input type=checkbox checked>done<li><input type=checkbox>open</ul>", "- [x] done\n- [ ] open"},
		{"<blockquote><p>a</p><blockquote>b</blockquote></blockquote>", "> a\n>\n> > b"},
		{"<p>use <code>a  `b`</code>, <kbd>c</kbd></p>", "use `` a `b` ``, `c`"},
		{"<pre><code class='hl language-go'>a\n\n  ```\n</code></pre>", "````go\na\n\n  ```\n````"},
		{"<pre>  x\n y</pre>", "```\n  x\n y\n```"},
		{"<table><caption>T</caption><tr><th>k<th>v</tr><tr><td>a|b<td><p>c</p><p>d</p></tr><tr><td>e</table>",
			"T\n\n| k | v |\n| --- | --- |\n| a\\|b | c d |\n| e |"},
		{"<table><tr><td><table><tr><td>a<td>b</table><td>side</table>", "| a | b |\n| --- | --- |\n\nside"},
		{"<dl><dt>k<dd>v</dl>", "**k**\n\nv"},
		{"<details><summary>s</summary>t</details>", "s\n\nt"},
	} {
		if got := strings.TrimSuffix(markdown([]byte(c.page), here), "\n"); got != c.want {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", c.page, got, c.want)
		}
	}
}

// TestMarkdownKeepsAllWords: a reader of Markdown finds each word of a page, in its order.
func TestMarkdownKeepsAllWords(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	reader := goldmark.New(goldmark.WithExtensions(extension.GFM))
	for range 3000 {
		var b strings.Builder
		n := 0
		randomPage(&b, r, &n, 0)
		md := markdown([]byte(b.String()), here)
		var out bytes.Buffer
		if err := reader.Convert([]byte(md), &out); err != nil {
			t.Fatal(err)
		}
		want, got := wordsOf(t, b.String()), wordsOf(t, out.String())
		if !slices.Equal(want, got) {
			at := 0
			for at < min(len(want), len(got)) && want[at] == got[at] {
				at++
			}
			t.Fatalf("page %.3000s\nMarkdown\n%.3000s\nat %d: want %.60q, got %.60q", b.String(), md, at, want[at:], got[at:])
		}
	}
}

func randomPage(b *strings.Builder, r *rand.Rand, n *int, depth int) {
	for range 1 + r.IntN(4) {
		*n++
		if depth > 5 || r.IntN(2) == 0 {
			fmt.Fprintf(b, " w%d ", *n)
			continue
		}
		tag := []string{"p", "div", "b", "i", "a href=x", "ul", "ol", "li", "h2", "blockquote", "table", "tr", "td", "span", "code",
			"del", "section", "dt", "dd", "br", "th"}[r.IntN(21)]
		name, _, _ := strings.Cut(tag, " ")
		switch name {
		case "ul", "ol":
			fmt.Fprintf(b, "<%s><li>", tag)
		case "table":
			fmt.Fprintf(b, "<table><tr><td>")
		default:
			fmt.Fprintf(b, "<%s>", tag)
		}
		fmt.Fprintf(b, " w%d ", *n)
		randomPage(b, r, n, depth+1)
		fmt.Fprintf(b, "</%s> ", name)
	}
}

func wordsOf(t *testing.T, page string) (all []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			all = append(all, strings.Fields(n.Data)...)
		}
	}
	return all
}

package page

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

var errBinary = errors.New("this is no text")

// text is a body as UTF-8, as Markdown where it is HTML. Kind is its media type, or empty;
// header is the whole header that names it.
func text(body []byte, kind, header string, at *url.URL) (string, error) {
	if kind == "" {
		header = http.DetectContentType(body)
		if kind, _, _ = strings.Cut(header, ";"); !readable(kind) {
			return "", errBinary
		}
	}
	decoded, err := charset.NewReader(bytes.NewReader(body), header)
	if err != nil {
		return "", err
	}
	plain, err := io.ReadAll(decoded)
	if err != nil {
		return "", fmt.Errorf("its encoding cannot be read: %w", err)
	}
	if bytes.IndexByte(plain, 0) >= 0 {
		return "", errBinary
	}
	if kind == "text/html" || kind == "application/xhtml+xml" {
		return markdown(plain, at), nil
	}
	return string(bytes.ToValidUTF8(plain, []byte(string(utf8.RuneError)))), nil
}

// markdown is a page of HTML as Markdown, with whole addresses in its links. What cannot
// be parsed within bounds is given as its words.
func markdown(page []byte, at *url.URL) string {
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil || depth(root) > mostDepth {
		return words(page)
	}
	title := titleOf(root) // before the conversion, which takes the head away
	prune(root)
	out := strings.TrimSpace(written(root, at)) + "\n"
	if title != "" && !strings.Contains(out, title) {
		out = "# " + title + "\n\n" + out
	}
	return out
}

// mostDepth bounds the nesting of a page that is converted, which recurs.
const mostDepth = 512

func depth(root *html.Node) int {
	most, d := 0, 0
	for n := root; n != nil; {
		most = max(most, d)
		switch {
		case n.FirstChild != nil:
			n, d = n.FirstChild, d+1
		default:
			for n != nil && n.NextSibling == nil {
				n, d = n.Parent, d-1
			}
			if n != nil {
				n = n.NextSibling
			}
		}
	}
	return most
}

// unread are the elements whose content is for programs, or drawn.
var unread = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true,
	atom.Svg: true, atom.Iframe: true, atom.Canvas: true, atom.Object: true}

// prune takes out what a reader of the page does not see.
func prune(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.CommentNode || c.Type == html.ElementNode && (unread[c.DataAtom] || hidden(c)) {
			n.RemoveChild(c)
		} else {
			prune(c)
		}
		c = next
	}
}

// hidden reports whether an element says that it is not shown.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return a.Val == "true"
		case "style":
			s := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			return strings.Contains(s, "display:none") || strings.Contains(s, "visibility:hidden")
		}
	}
	return false
}

func titleOf(n *html.Node) string {
	if n.Type == html.ElementNode && n.DataAtom == atom.Title && n.FirstChild != nil {
		return strings.Join(strings.Fields(n.FirstChild.Data), " ")
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if t := titleOf(c); t != "" {
			return t
		}
	}
	return ""
}

// words are those of a page, without its structure.
func words(page []byte) string {
	var b strings.Builder
	z, skip := html.NewTokenizer(bytes.NewReader(page)), 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken:
			if name, _ := z.TagName(); unread[atom.Lookup(name)] {
				skip++
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); unread[atom.Lookup(name)] {
				skip = max(skip-1, 0)
			}
		case html.TextToken:
			if t := strings.Join(strings.Fields(html.UnescapeString(string(z.Raw()))), " "); t != "" && skip == 0 {
				b.WriteString(t + "\n")
			}
		}
	}
}

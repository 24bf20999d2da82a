package tui

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocShowsTheScreens holds that the screens in doc/tui.md are those of the
// goldens.
func TestDocShowsTheScreens(t *testing.T) {
	path := filepath.Join("..", "..", "..", "doc", "tui.md")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	re := regexp.MustCompile("(?s)<!-- golden ([a-z_0-9]+) -->\n(```text\n.*?```\n)?")
	n := 0
	want := re.ReplaceAllStringFunc(string(doc), func(m string) string {
		n++
		name := re.FindStringSubmatch(m)[1]
		screen, err := os.ReadFile(filepath.Join("testdata", "golden", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		return "<!-- golden " + name + " -->\n```text\n" + strings.ReplaceAll(string(screen), "```", "'''") + "```\n"
	})
	if n == 0 {
		t.Fatal("no screens in the document")
	}
	if want == string(doc) {
		return
	}
	if os.Getenv("KERF_UPDATE") == "" {
		t.Fatal("doc/tui.md shows other screens than the goldens; KERF_UPDATE=1 writes them")
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

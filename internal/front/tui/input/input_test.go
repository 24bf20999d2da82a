package input

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"kerf/internal/front/tui/composer"
	"kerf/internal/protocol"
)

type past []string

func (p *past) Load() []string { return *p }
func (p *past) Add(s string)   { *p = append(*p, s) }

// writing is an input with a few commands and prompts; searched are the words that files
// were asked for.
type writing struct {
	*Input
	c        *composer.Composer
	searched []string
}

func begin(o Options) *writing {
	w := &writing{c: &composer.Composer{}}
	o.Commands, o.NeedsWords = []Choice{{Text: "model"}, {Text: "remodel"}, {Text: "rename"}}, "rename"
	o.Files = func(word string) tea.Cmd { w.searched = append(w.searched, word); return nil }
	w.Input = New(o, w.c)
	w.Width = 40
	w.Prompts = []protocol.Prompt{{Name: "mode-check"}, {Name: "go-style", Skill: true}}
	return w
}

func (w *writing) types(text string) *writing {
	for _, r := range text {
		w.c.Insert(string(r))
		w.Complete()
	}
	return w
}

func (w *writing) choices() string {
	var out []string
	for _, c := range w.menu.items {
		out = append(out, c.Text)
	}
	return strings.Join(out, " ")
}

func TestCommandsAreCompleted(t *testing.T) {
	w := begin(Options{}).types("/mod")
	if got := w.choices(); got != "model remodel mode-check" {
		t.Errorf("choices %q", got)
	}
	if done, send := w.CompletionKey("enter"); !done || !send || w.c.Text() != "/model " {
		t.Errorf("text %q, send %v", w.c.Text(), send)
	}
	w = begin(Options{}).types("/ren")
	if _, send := w.CompletionKey("enter"); send || w.c.Text() != "/rename " {
		t.Errorf("text %q, send %v: a command that needs words is not sent", w.c.Text(), send)
	}
	w = begin(Options{}).types("/model")
	if done, _ := w.CompletionKey("enter"); done {
		t.Error("a whole command is not left to be sent")
	}
	w = begin(Options{}).types("see /mod")
	if w.Completing() {
		t.Error("a command is completed inside a message")
	}
	if w = begin(Options{}).types("use $STY"); w.choices() != "go-style" {
		t.Errorf("skills %q", w.choices())
	}
}

func TestClosedCompletionsStayClosed(t *testing.T) {
	w := begin(Options{}).types("/mod")
	w.CompletionKey("esc")
	if w.Complete(); w.Completing() {
		t.Error("they came back for the same word")
	}
	if w.types("e"); !w.Completing() {
		t.Error("they do not come back for another word")
	}
	w.CompletionKey("esc")
	if w.OpenCompletions(); !w.Completing() {
		t.Error("they cannot be opened again")
	}
}

// TestFilesFollowTheWord: one search runs at a time, and what it found for an older word is
// not shown.
func TestFilesFollowTheWord(t *testing.T) {
	w := begin(Options{}).types("@ab")
	w.Found("", []protocol.Mention{{Text: "old"}}, nil)
	if w.Completing() {
		t.Error("files of an older word are shown")
	}
	w.Found("ab", []protocol.Mention{{Text: "a b.go"}, {Text: "ab.go"}}, nil)
	if d := cmp.Diff([]string{"", "ab"}, w.searched); d != "" {
		t.Errorf("searched (-want +got):\n%s", d)
	}
	w.CompletionKey("tab")
	if got := w.c.Text(); got != `@"a b.go" ` {
		t.Errorf("text %q", got)
	}
	w.types("@x").Found("x", nil, errors.New("no"))
	if w.Completing() {
		t.Error("an error is shown as files")
	}
}

// TestTheMarkStaysWhereTheUserPutIt: a key that moves it counts while files are still looked for, and
// what comes later leaves it on the same choice.
func TestTheMarkStaysWhereTheUserPutIt(t *testing.T) {
	found := []protocol.Mention{{Text: "ab.go"}, {Text: "abc.go"}, {Text: "abcd.go"}}
	w := begin(Options{}).types("@ab")
	w.Found("", nil, nil)
	for range 2 {
		if done, _ := w.CompletionKey("down"); !done {
			t.Error("a key is not for the list that comes")
		}
	}
	w.CompletionKey("up")
	w.Found("ab", found, nil)
	if w.CompletionKey("tab"); w.c.Text() != "@abc.go " {
		t.Errorf("text %q", w.c.Text())
	}
	w = begin(Options{}).types("@ab")
	w.Found("", nil, nil)
	for range 9 {
		w.CompletionKey("down")
	}
	w.Found("ab", found[:1], nil)
	if w.CompletionKey("tab"); w.c.Text() != "@ab.go " {
		t.Errorf("text %q: the mark is below the list", w.c.Text())
	}
	if done, _ := w.CompletionKey("down"); done {
		t.Error("a key is for a list that nobody looks for")
	}
	w = begin(Options{})
	w.Resources = []string{"res:xa", "res:xb"}
	w.types("@x").CompletionKey("down")
	w.Found("", nil, nil)
	w.Found("x", found, nil)
	if w.CompletionKey("tab"); w.c.Text() != "@res:xb " {
		t.Errorf("text %q: the mark left the choice that the user put it on", w.c.Text())
	}
}

func TestHistory(t *testing.T) {
	kept := past{"one"}
	w := begin(Options{History: &kept})
	w.c.Set("two")
	if text, _ := w.Take(); text != "two" || !w.c.Empty() {
		t.Errorf("took %q", text)
	}
	w.Remember("two") // once is enough
	w.Remember(strings.Repeat("x", maxRemembered+1))
	if d := cmp.Diff(past{"one", "two"}, kept); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
	w.c.Set("draft")
	var seen []string
	for _, by := range []int{-1, -1, -1, 1, 1, 1} {
		w.Vertical(by)
		seen = append(seen, w.c.Text())
	}
	if d := cmp.Diff([]string{"two", "one", "one", "two", "draft", "draft"}, seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := len(w.Search().Items); n != 2 {
		t.Errorf("%d messages can be found", n)
	}
}

func TestPaste(t *testing.T) {
	w := begin(Options{})
	w.Paste("short")
	w.Paste(strings.Repeat("a line\n", 20))
	if got := w.View(5, "").Rows[0].Text(); got != "› short[Pasted #1: 21 lines, 140 bytes]" {
		t.Error(got)
	}
	if text, _ := w.Take(); text != "short"+strings.Repeat("a line\n", 20) {
		t.Errorf("sent %q", text)
	}
	if w.AttachImage([]byte("no image"), "x") || w.AttachFile("/no/such.png", "/") {
		t.Error("what is no image is attached")
	}
	if !w.AttachImage([]byte("\x89PNG\r\n\x1a\n"), "x.png") {
		t.Error("an image is not attached")
	}
	if _, images := w.Take(); len(images) != 1 || !strings.HasPrefix(images[0], "data:image/png;base64,") {
		t.Errorf("images %q", images)
	}
}

func TestViewAroundTheCaret(t *testing.T) {
	w := begin(Options{})
	if got := w.View(3, "Say something").Rows[0].Text(); got != "› Say something" {
		t.Errorf("empty: %q", got)
	}
	w.c.Set("! one\ntwo\nthree\nfour")
	v := w.View(2, "")
	if v.Rows[0].Text() != "! three" || v.Rows[1].Text() != "  four" || v.Y != 1 || v.X != 6 {
		t.Errorf("%q %q, cursor %d,%d", v.Rows[0].Text(), v.Rows[1].Text(), v.X, v.Y)
	}
	w.c.Set(`on\`)
	if !w.Continues() || w.c.Text() != "on\n" || w.Continues() {
		t.Errorf("text %q", w.c.Text())
	}
}

func TestVi(t *testing.T) {
	w := begin(Options{Vi: true})
	if got := w.Mode(); got != "INSERT" {
		t.Error(got)
	}
	w.ViKey("esc", "")
	if taken, _ := w.ViKey("/", "/"); taken || w.Mode() != "INSERT" {
		t.Error("a command cannot be begun in normal mode")
	}
	if got := begin(Options{}).Mode(); got != "" {
		t.Errorf("mode %q without vi", got)
	}
}

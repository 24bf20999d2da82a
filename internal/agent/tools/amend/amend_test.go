package amend_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/amend"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

func ptr(s string) *string { return &s }

func TestFileTexts(t *testing.T) {
	wide := "\xff\xfea\x00\n\x00"
	set := delta.Set{
		{Path: "/w/new", Post: delta.NewFile([]byte("one\n"), 0o644)},
		{Path: "/w/gone", Pre: delta.NewFile([]byte("two\n"), 0o644)},
		{Path: "/w/wide", Pre: delta.NewFile([]byte(wide), 0o644), Post: delta.NewFile([]byte("\xff\xfeb\x00"), 0o644)},
		{Path: "/w/binary", Post: delta.NewFile([]byte("a\x00b"), 0o644)},
		{Path: "/w/bytes", Post: delta.NewFile([]byte("caf\xe9"), 0o644)},
		{Path: "/w/link", Post: delta.NewSymlink("x")},
		{Path: "/w/large", Post: delta.NewFile(make([]byte, 1<<20+1), 0o644)},
		{Path: "/w/unloaded", Pre: &delta.Image{Version: delta.Version{Kind: delta.File}}},
		{Path: "/w/new", Pre: delta.NewFile([]byte("one\n"), 0o644), Post: delta.NewFile([]byte("1\n"), 0o644)},
	}
	want := []protocol.FileText{
		{Path: "/w/new", New: ptr("1\n")},
		{Path: "/w/gone", Old: ptr("two\n")},
		{Path: "/w/wide", Old: ptr("a\n"), New: ptr("b")},
	}
	if d := cmp.Diff(want, amend.FileTexts(set)); d != "" {
		t.Error(d)
	}
}

func TestEditedWritesInKind(t *testing.T) {
	file := func(s string) *delta.Image { return delta.NewFile([]byte(s), 0o755) }
	set := delta.Set{
		{Path: "/w/a", Pre: file("old\n"), Post: file("new\n")},
		{Path: "/w/wide", Pre: file("\xff\xfea\x00"), Post: file("\xff\xfeb\x00")},
		{Path: "/w/mark", Pre: file("\xef\xbb\xbfa"), Post: file("\xef\xbb\xbfb")},
		{Path: "/w/from", Pre: file("m\n"), To: "/w/to"},
		{Path: "/w/to", Post: file("m\n"), From: "/w/from"},
		{Path: "/w/gone", Pre: file("g\n")},
	}
	got, err := amend.Edited(set, map[string]string{"/w/a": "mine\n", "/w/wide": "값", "/w/mark": "c",
		"/w/gone": "stays\n", "/w/from": "m\n"})
	if err != nil {
		t.Fatal(err)
	}
	want := delta.Set{
		{Path: "/w/a", Pre: file("old\n"), Post: file("mine\n")},
		{Path: "/w/wide", Pre: file("\xff\xfea\x00"), Post: file("\xff\xfe\x12\xac")},
		{Path: "/w/mark", Pre: file("\xef\xbb\xbfa"), Post: file("\xef\xbb\xbfc")},
		{Path: "/w/to", Post: file("m\n"), From: "/w/from"},
		{Path: "/w/gone", Pre: file("g\n"), Post: file("stays\n")},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if string(set[0].Post.Data) != "new\n" || amend.Binding(set) == amend.Binding(got) {
		t.Error("the proposal itself was changed")
	}
	left, err := amend.Edited(set[:1], map[string]string{"/w/a": "old\n"})
	if err != nil || len(left) != 0 {
		t.Errorf("a change that the user took back: %v, %v", left, err)
	}
}

func TestEditedRefuses(t *testing.T) {
	set := delta.Set{
		{Path: "/w/a", Post: delta.NewFile([]byte("x"), 0o644)},
		{Path: "/w/b", Post: delta.NewFile([]byte("x\x00"), 0o644)},
	}
	for path, code := range map[string]string{"/w/other": tool.InvalidArguments, "/w/b": tool.InvalidArguments} {
		_, err := amend.Edited(set, map[string]string{path: "y"})
		var e *tool.Error
		if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, err := amend.Edited(set, map[string]string{"/w/a": "\xff"})
	var e *tool.Error
	if !errors.As(err, &e) || e.Code != tool.EncodingError {
		t.Errorf("bytes that are no text: %v", err)
	}
}

func TestWriteReportCountsBoth(t *testing.T) {
	model := delta.Set{{Path: "/w/a", Pre: delta.NewFile([]byte("1\n2\n3\n"), 0o644),
		Post: delta.NewFile([]byte("1\ntwo\n3\nfour\n"), 0o644)}}
	user, err := amend.Edited(model, map[string]string{"/w/a": "1\nTWO\n3\nfour\n"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(amend.WriteCounts{ModelAdded: 2, ModelRemoved: 1, UserAdded: 1, UserRemoved: 1},
		amend.Counts(model, user)); d != "" {
		t.Error(d)
	}
	want := `The user changed the proposal before it was written. Lines changed by the model: +2 -1; by the user: +1 -1.
From the proposed /w/a to what was written:
--- a/w/a
+++ b/w/a
@@ -1,4 +1,4 @@
 1
-two
+TWO
 3
 four`
	if d := cmp.Diff(want, amend.WriteReport(model, user)); d != "" {
		t.Error(d)
	}
	if got := amend.WriteReport(model, model); got != "Lines changed by the model: +2 -1; by the user: +0 -0." {
		t.Error(got)
	}
	if got := amend.WriteReport(model, nil); !strings.Contains(got, "by the user: +1 -2") ||
		!strings.Contains(got, "/w/a was left as it was.") {
		t.Error(got)
	}
}

func TestBindingSeesEveryPart(t *testing.T) {
	base := delta.Change{Path: "/w/a", Pre: delta.NewFile([]byte("x"), 0o644), Post: delta.NewFile([]byte("y"), 0o644)}
	bind := func(edit func(*delta.Change)) string {
		c := base
		edit(&c)
		return amend.Binding(delta.Set{c})
	}
	seen := map[string]string{bind(func(*delta.Change) {}): "itself"}
	for name, edit := range map[string]func(*delta.Change){
		"path":    func(c *delta.Change) { c.Path = "/w/b" },
		"pre":     func(c *delta.Change) { c.Pre = delta.NewFile([]byte("z"), 0o644) },
		"mode":    func(c *delta.Change) { c.Post = delta.NewFile([]byte("y"), 0o755) },
		"content": func(c *delta.Change) { c.Post = delta.NewFile([]byte("Y"), 0o644) },
		"gone":    func(c *delta.Change) { c.Post = nil },
		"from":    func(c *delta.Change) { c.From = "/w/c" },
	} {
		b := bind(edit)
		if other, twice := seen[b]; twice {
			t.Errorf("%s and %s are bound alike", name, other)
		}
		seen[b] = name
	}
}

package correct_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/correct"
	"kerf/internal/text/delta"
)

// asker answers every question the same way and counts them.
type asker struct {
	reply  string
	err    error
	hangs  bool
	asked  int
	prompt string
}

func (a *asker) Ask(ctx context.Context, prompt string) (string, error) {
	a.asked++
	a.prompt = prompt
	if a.hangs {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return a.reply, a.err
}

func proposal(content string) tool.Change {
	states := map[string]tool.FileState{"a.go": {Affected: tool.LineRange{Start: 1, End: 1}, NewContent: content}}
	return tool.Change{Result: tool.Result{UpdatedStates: states},
		Set: delta.Set{{Path: "/w/a.go", Pre: delta.NewFile([]byte("old\n"), 0o755), Post: delta.NewFile([]byte(content), 0o755)}}}
}

func TestCorrections(t *testing.T) {
	const slip = "func a() string {\\n\treturn \\\"x\\\"\\n}\n"
	const mended = "func a() string {\n\treturn \"x\"\n}\n"
	for _, tt := range []struct {
		name, proposed, reply string
		want, code            string
	}{
		{"a slip", slip, "<corrected>\n" + mended + "</corrected>", mended, correct.Corrected},
		{"a fence", "```go\npackage a\n```\n", "<corrected>\npackage a\n</corrected>", "package a\n", ""},
		{"nothing to mend", mended, "UNCHANGED", mended, ""},
		{"chatter", slip, "It looks fine to me!", slip, ""},
		{"cut off", slip, "<corrected>\nfunc a()", slip, ""},
		{"lines left out", "a\nb\nc\nd\n", "<corrected>\na\n// rest as before\n</corrected>", "a\nb\nc\nd\n", correct.NotCorrected},
		{"words left out", "one two three four five six\n", "<corrected>\none\n</corrected>", "one two three four five six\n", correct.NotCorrected},
		{"no line end stays none", "x = \\\"1\\\"", "<corrected>\nx = \"1\"\n</corrected>", "x = \"1\"", correct.Corrected},
		{"line ends stay", "a = \\\"1\\\"\r\nb\r\n", "<corrected>\na = \"1\"\nb\n</corrected>", "a = \"1\"\r\nb\r\n", correct.Corrected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &asker{reply: tt.reply}
			c := correct.Corrector{Asker: a}
			was := proposal(tt.proposed)
			got := c.Correct(context.Background(), was)
			if string(got.Set[0].Post.Data) != tt.want || got.Set[0].Post.Mode != 0o755 {
				t.Errorf("got %q, want %q", got.Set[0].Post.Data, tt.want)
			}
			if got := got.Result.UpdatedStates["a.go"].NewContent; got != tt.want {
				t.Errorf("the state tells %q", got)
			}
			if tt.code != "" && (len(got.Result.Warnings) != 1 || got.Result.Warnings[0].Code != tt.code) {
				t.Errorf("warnings %v, want %s", got.Result.Warnings, tt.code)
			}
			if string(was.Set[0].Post.Data) != tt.proposed || len(was.Result.Warnings) > 0 {
				t.Error("the proposal itself was changed")
			}
			c.Correct(context.Background(), was)
			if a.asked != 1 {
				t.Errorf("asked %d times for one text", a.asked)
			}
			if !strings.Contains(a.prompt, tt.proposed) || !strings.Contains(a.prompt, "<before>\nold") {
				t.Errorf("the question lacks the texts:\n%s", a.prompt)
			}
		})
	}
}

func TestCorrectionIsACourtesy(t *testing.T) {
	was := proposal("new\n")
	var none *correct.Corrector
	if got := none.Correct(context.Background(), was); string(got.Set[0].Post.Data) != "new\n" {
		t.Error("no corrector changes something")
	}
	broken := correct.Corrector{Asker: &asker{err: errors.New("no such model")}}
	if got := broken.Correct(context.Background(), was); string(got.Set[0].Post.Data) != "new\n" ||
		len(got.Result.Warnings) > 0 {
		t.Errorf("an error: %+v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		hangs := correct.Corrector{Asker: &asker{hangs: true}, Timeout: 3 * time.Second}
		began := time.Now()
		if got := hangs.Correct(t.Context(), was); string(got.Set[0].Post.Data) != "new\n" {
			t.Error("a silent model changes something")
		}
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("waited %v", d)
		}
	})
	untouched := &asker{reply: "<corrected>\nx\n</corrected>"}
	c := correct.Corrector{Asker: untouched}
	c.Correct(context.Background(), tool.Change{Set: delta.Set{
		{Path: "/w/gone", Pre: delta.NewFile([]byte("x"), 0o644)},
		{Path: "/w/bin", Post: delta.NewFile([]byte("a\x00b"), 0o644)},
		{Path: "/w/link", Post: delta.NewSymlink("x")},
		{Path: "/w/large", Post: delta.NewFile([]byte(strings.Repeat("x\n", 20_000)), 0o644)},
		{Path: "/w/moved", Pre: delta.NewFile([]byte("same"), 0o644), Post: delta.NewFile([]byte("same"), 0o755)},
	}})
	if untouched.asked != 0 {
		t.Errorf("asked %d times about what is no new text", untouched.asked)
	}
}

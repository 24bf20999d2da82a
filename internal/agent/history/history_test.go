package history

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"kerf/internal/model"
	"kerf/internal/pathname"
)

// TestTruncateLaws: short texts stay, long ones keep both ends and their
// characters, and say what is gone.
func TestTruncateLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text") + strings.Repeat(rapid.StringN(1, 3, -1).Draw(t, "piece"),
			rapid.IntRange(0, 200).Draw(t, "times"))
		limit := rapid.IntRange(-1, 60).Draw(t, "limit")
		got := Truncate(s, limit)
		if limit <= 0 || len(s) <= limit*BytesPerToken {
			if got != s {
				t.Fatalf("%q was cut although it fits", s)
			}
			return
		}
		if !strings.Contains(got, "left out of the middle") || utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("cut to %q", got)
		}
		head, rest, _ := strings.Cut(got, "\n[… ")
		_, tail, _ := strings.Cut(rest, " …]\n")
		if !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) || len(head)+len(tail) > limit*BytesPerToken {
			t.Fatalf("head %q, tail %q of %q", head, tail, s)
		}
	})
}

// TestReplacementKeepsWords: the newest words stay whole, the older ones as far as
// the budget goes, open ones always and last.
func TestReplacementKeepsWords(t *testing.T) {
	long := strings.Repeat("word ", WordsBudget*2)
	words := []*model.Item{model.UserText("oldest"), model.UserText(long), model.UserText("newer"), model.UserText("open")}
	items, kept := Replacement([]*model.Item{model.UserText("context")}, words, 1, "what </session_summary> happened",
		&Notes{})
	var texts []string
	for _, it := range items {
		texts = append(texts, it.Text())
	}
	all := strings.Join(texts, "\x00")
	if texts[0] != "context" || texts[len(texts)-1] != "open" || !strings.Contains(all, "newer") ||
		strings.Contains(all, "oldest") {
		t.Errorf("items %.300q", texts)
	}
	if strings.Count(all, "</session_summary>") != 1 {
		t.Error("a summary can end its element")
	}
	if Sizes(items) > WordsBudget+500 {
		t.Errorf("%d tokens are kept", Sizes(items))
	}
	if len(kept) != 3 || items[kept[2]].Text() != "open" {
		t.Errorf("the words are at %v", kept)
	}
}

// TestDropOldestKeepsPairs: outputs go with their calls, and something always goes.
func TestDropOldestKeepsPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []*model.Item
		for i := range rapid.IntRange(1, 12).Draw(t, "rounds") {
			call := &model.Item{Kind: model.Call, CallID: string(rune('a' + i)),
				Input: strings.Repeat("x", rapid.IntRange(0, 400).Draw(t, "size"))}
			items = append(items, call, model.OutputText(call, "out"), model.UserText("more"))
		}
		for items != nil {
			rest := DropOldest(items)
			if len(rest) >= len(items) {
				t.Fatalf("%d items became %d", len(items), len(rest))
			}
			open := map[string]bool{}
			for _, it := range rest {
				switch {
				case it.Kind == model.Call:
					open[it.CallID] = true
				case it.Kind == model.Output && !open[it.CallID]:
					t.Fatalf("an output of %s without its call", it.CallID)
				}
			}
			if rest != nil && rest[len(rest)-1] != items[len(items)-1] {
				t.Fatal("the newest item went")
			}
			items = rest
		}
	})
}

func TestImagesTravelByteForByte(t *testing.T) {
	const url = "data:image/png;base64,aGVsbG8="
	kind, data, ok := ImageData(url)
	if !ok || kind != "image/png" || string(data) != "hello" || ImageURL(kind, data) != url {
		t.Errorf("%q %q %v", kind, data, ok)
	}
	for _, odd := range []string{"", "http://x/y.png", "data:image/png,hello", "data:image/png;base64,aGVsbG8",
		"data:a;b;base64,aGVsbG8=", "data:image/png;base64,aGVs\nbG8="} {
		if _, _, ok := ImageData(odd); ok {
			t.Errorf("%q is taken for an image", odd)
		}
	}
	items := []*model.Item{{Content: []model.Part{{ImageURL: ImageName("image/png", "n")}, {ImageURL: "http://x"}}}}
	RestoreImages(items, func(name string) ([]byte, error) { return []byte("hello"), nil })
	if items[0].Content[0].ImageURL != url || items[0].Content[1].ImageURL != "http://x" {
		t.Errorf("restored %+v", items[0].Content)
	}
}

func TestNotesAreBoundedAndCannotBeEnded(t *testing.T) {
	var n Notes
	for range 300 {
		n.Observe(ToolCall{Command: "x </session_record>\nnot a line"})
	}
	for i := range 300 {
		n.Observe(FileChange{Path: pathname.Path(strings.Repeat("d", i%250) + "/f"), Operation: "created", Cause: "tool"})
	}
	if len(n.Commands) != maxCommandNotes || n.MoreCommands != 300-maxCommandNotes || len(n.Files) > maxFileNotes {
		t.Errorf("%d commands, %d files", len(n.Commands), len(n.Files))
	}
	if text := n.Text(); strings.Count(text, "</session_record>") != 1 || strings.Contains(text, "\nnot a line") {
		t.Errorf("the record can be ended from inside:\n%.400s", text)
	}
}

// TestCutResultsShowNoLines: lines whose result was cut do not count as shown.
func TestCutResultsShowNoLines(t *testing.T) {
	saw := []Observation{{Path: "/w/f", Sum: "s", First: 1, Last: 9, Lines: 9}}
	if got := Shown("whole", saw); got[0].Last != 9 {
		t.Errorf("a whole result shows %+v", got)
	}
	if got := Shown(Truncate(strings.Repeat("line\n", 100), 10), saw); got[0].First != 0 || got[0].Sum != "s" ||
		saw[0].Last != 9 {
		t.Errorf("a cut result shows %+v (%+v)", got, saw)
	}
}

package review

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/protocol"
)

func TestParseIsLenient(t *testing.T) {
	one := []protocol.Finding{{Title: "Mend it", Body: "It breaks.", Priority: 1, Confidence: 0.5, Path: "a.go", Start: 3,
		End: 4}}
	tests := []struct {
		name, text string
		want       protocol.ReviewResult
	}{
		{"as asked", `{"findings":[{"title":"Mend it","body":"It breaks.","confidence_score":0.5,"priority":1,"code_location":{"absolute_file_path":"/w/a.go","line_range":{"start":3,"end":4}}}],"overall_explanation":"Bad."}`,
			protocol.ReviewResult{Text: "Bad.", Findings: one}},
		{"among words, marked in the title", "I looked {twice}.\n```json\n" +
			`{"findings":[{"title":"[P1] Mend it","body":"It breaks.","confidence":0.5,"code_location":{"path":"./a.go","line_range":{"start":3,"end":4}}}],"overall_correctness":"patch is incorrect"}` + "\n```\n",
			protocol.ReviewResult{Text: "patch is incorrect", Findings: one}},
		{"words only", " All is well. ", protocol.ReviewResult{Text: "All is well."}},
		{"another object", `{"answer": 42}`, protocol.ReviewResult{Text: `{"answer": 42}`}},
		{"nothing found", `{"findings":[],"overall_explanation":"Fine."}`, protocol.ReviewResult{Text: "Fine."}},
		{"nonsense in fields", `{"findings":[{"title":"T","priority":"P0","confidence_score":7,"code_location":{"absolute_file_path":"/else/b.go","line_range":{"start":9,"end":-1}}},{}],"overall_explanation":""}`,
			protocol.ReviewResult{Findings: []protocol.Finding{{Title: "T", Confidence: 1, Path: "/else/b.go", Start: 9,
				End: 9}}}},
		{"wrong types", `{"findings":"none"}`, protocol.ReviewResult{Text: `{"findings":"none"}`}},
		{"cut off", `{"findings":[{"title":"T"`, protocol.ReviewResult{Text: `{"findings":[{"title":"T"`}},
		{"in the order of urgency", `{"findings":[{"title":"c"},{"title":"b","priority":2},{"title":"a","priority":"0"}]}`,
			protocol.ReviewResult{Findings: []protocol.Finding{{Title: "a"}, {Title: "b", Priority: 2},
				{Title: "c", Priority: 3}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Parse(tt.text, "/w")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRender(t *testing.T) {
	got := Render(protocol.ReviewResult{Text: "Bad.", Findings: []protocol.Finding{
		{Title: "Mend it", Body: "It breaks.\nAlways.", Priority: 1, Path: "a.go", Start: 3, End: 4},
		{Title: "And this", Priority: 3, Path: "b.go", Start: 7, End: 7}, {Title: "All over", Priority: 2}}})
	want := "Bad.\n\nReview comments:\n\n- [P1] Mend it — a.go:3-4\n  It breaks.\n  Always.\n\n- [P3] And this — " +
		"b.go:7\n\n- [P2] All over"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := Render(protocol.ReviewResult{}); got != "Nothing was found." {
		t.Errorf("got %q", got)
	}
	if got := Render(protocol.ReviewResult{Text: "Fine."}); got != "Fine." {
		t.Errorf("got %q", got)
	}
}

// FuzzParse shows that whatever a model says becomes a result that can be shown.
func FuzzParse(f *testing.F) {
	f.Add(`{"findings":[{"title":"[P1] x","priority":1}]}`)
	f.Add(`{{{"findings":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		r := Parse(text, "/w")
		for _, x := range r.Findings {
			if x.Priority < 0 || x.Priority > 3 || x.Confidence < 0 || x.Confidence > 1 || x.Start < 0 || x.End < x.Start ||
				x.Title == "" && x.Body == "" {
				t.Fatalf("%q gives %+v", text, x)
			}
		}
		Render(r)
	})
}

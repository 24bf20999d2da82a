package script

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
)

// fake is a client that gives each request the chunks and the error that a test says.
type fake struct {
	chunks []model.Chunk
	err    error
}

func (f fake) Stream(_ context.Context, _ *model.Request, emit func(model.Chunk) error) error {
	for _, c := range f.chunks {
		if err := emit(c); err != nil {
			return err
		}
	}
	return f.err
}

// recorded is what a recorder wrote about a client that gives one answer.
func recorded(t *testing.T, f fake, items ...*model.Item) (*Scenario, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.json")
	err := Record(f, RecordOptions{Path: path, Title: "t"}).Stream(t.Context(), &model.Request{Items: items}, func(model.Chunk) error { return nil })
	data, readErr := os.ReadFile(path)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return load(t, string(data)), err
}

// TestARecordingPlaysWhatWasRecorded: the same items, usage and errors come again for the same requests, and no others.
func TestARecordingPlaysWhatWasRecorded(t *testing.T) {
	const source = `{"version":1,"title":"story","rounds":[
 {"items":[{"reasoning":"Hm."},{"message":"I <look>."},{"call":"read_file","args":{"a":1}},{"call":"odd","args":"no JSON"},
           {"call":"apply_patch","input":"*** Begin"},{"call":"shell","args":{"c":["ls"]},"style":"shell"}],
  "usage":{"input_tokens":10,"cached_input_tokens":4,"cache_write_input_tokens":2,"output_tokens":3,"reasoning_output_tokens":1}},
 {"items":[{"message":"Half"}],"cut":true},
 {"error":{"kind":"rate_limit","status":429,"message":"slow","retry_after":1.5}},
 {"items":[{"message":"Done."}]}]}`
	path := filepath.Join(t.TempDir(), "s.json")
	original := New(load(t, source))
	r := Record(original, RecordOptions{Path: path, Title: "story", Redact: func(b []byte) []byte {
		return []byte(strings.ReplaceAll(string(b), "secret", "[key]"))
	}})
	var talk []*model.Item
	say := func(c model.Client, items []*model.Item) (got []*model.Item, usage *model.Usage, err error) {
		err = c.Stream(t.Context(), &model.Request{Items: items}, func(c model.Chunk) error {
			switch c := c.(type) {
			case model.ItemDone:
				got = append(got, c.Item)
			case model.Done:
				usage = c.Usage
			}
			return nil
		})
		return got, usage, err
	}
	type answer struct {
		items []*model.Item
		usage *model.Usage
		err   error
	}
	var asked [][]*model.Item
	var want []answer
	talk = append(talk, model.UserText("hi, this is secret"), model.UserText("and more"))
	for range 4 {
		asked = append(asked, append([]*model.Item(nil), talk...))
		items, usage, err := say(r, talk)
		want = append(want, answer{items, usage, err})
		talk = append(talk, items...)
		for _, i := range items {
			if i.Kind == model.Call {
				talk = append(talk, model.OutputText(i, "output of "+i.Name))
			}
		}
		talk = append(talk, model.UserText("go on"))
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), "secret") {
		t.Fatalf("%v: %s", err, data)
	}
	for _, matching := range []string{Tolerant, Exact} {
		s := load(t, strings.ReplaceAll(string(data), "[key]", "secret"))
		s.Matching = matching
		c := New(s)
		for n, items := range asked {
			got, usage, err := say(c, items)
			if d := cmp.Diff(want[n].items, got); d != "" {
				t.Errorf("%s, round %d (-want +got):\n%s", matching, n+1, d)
			}
			var is, was *model.Error
			if errors.As(want[n].err, &was) {
				if !errors.As(err, &is) || is.Kind != was.Kind || is.Message != was.Message && was.Kind != model.Broken || is.RetryAfter != was.RetryAfter ||
					is.Status != was.Status {
					t.Errorf("%s, round %d: %#v, want %#v", matching, n+1, err, was)
				}
			} else if err != nil || !cmp.Equal(usage, want[n].usage) {
				t.Errorf("%s, round %d: %v, %+v", matching, n+1, err, usage)
			}
		}
	}
}

// TestARequestThatDiffersFromTheRecordedOneIsRefused, with what differs.
func TestARequestThatDiffersFromTheRecordedOneIsRefused(t *testing.T) {
	call := &model.Item{Kind: model.Call, CallID: "c", Name: "f"}
	said := fake{chunks: []model.Chunk{model.ItemDone{Item: &model.Item{Kind: model.Message, Content: []model.Part{{Text: "x"}}}}, model.Done{}}}
	s, err := recorded(t, said, model.UserText("old"), call, model.OutputText(call, "fine"), model.UserText("one"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&Expect{Shape: []string{"output f", "user"}, Texts: []string{"fine", "one"}}, s.Rounds[0].Expect); d != "" {
		t.Errorf("recorded (-want +got):\n%s", d)
	}
	other := &model.Item{Kind: model.Call, CallID: "c", Name: "g"}
	for _, tt := range []struct {
		exact bool
		items []*model.Item
		want  string
	}{
		{false, []*model.Item{call, model.OutputText(call, "other"), model.UserText("other")}, ""},
		{true, []*model.Item{call, model.OutputText(call, "fine"), model.UserText("one")}, ""},
		{true, []*model.Item{call, model.OutputText(call, "find"), model.UserText("one")},
			`"output f" says something else than in the recording: after 3 bytes it has "d", recorded is "e"`},
		{true, []*model.Item{call, model.OutputText(call, "fine"), model.UserText("one"), model.UserText("two")},
			`"user" says something else than in the recording: after 3 bytes it has "\n\ntwo", recorded is ""`},
		{false, []*model.Item{call, model.OutputText(call, "fine")}, `the request lacks "user", which follows "output f" in the recording`},
		{false, []*model.Item{call}, `the request lacks "output f", which follows "nothing" in the recording`},
		{false, []*model.Item{call, model.OutputText(call, "fine"), model.UserText("one"), model.OutputText(call, "fine")},
			`the request has "output f", which the recording has not; it ends in "user"`},
		{false, []*model.Item{other, model.OutputText(other, "fine"), model.UserText("one")},
			`item 1 of what is new is "output g", in the recording it is "output f"`},
		{false, []*model.Item{model.OutputText(call, "fine"), model.UserText("one")},
			`item 1 of what is new is "output of a call that is not there", in the recording it is "output f"`},
	} {
		s.Matching = Tolerant
		if tt.exact {
			s.Matching = Exact
		}
		_, err := stream(t.Context(), New(s), tt.items...)
		var e *model.Error
		if tt.want == "" {
			if err != nil {
				t.Errorf("%v", err)
			}
		} else if !errors.As(err, &e) || e.Message != `scenario "t": round 1: `+tt.want || e.Kind != model.BadCall {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// TestWhatIsNoAnswerIsRecordedAsWhatItWas: a break, an error with its status, and a caller that left.
func TestWhatIsNoAnswerIsRecordedAsWhatItWas(t *testing.T) {
	empty := []model.Chunk{model.ItemDone{Item: &model.Item{Kind: model.Reasoning, Encrypted: "sealed"}},
		model.ItemDone{Item: &model.Item{Kind: model.Message}}, model.ItemDone{Item: &model.Item{Kind: "other"}}, model.ItemDone{Item: &model.Item{Kind: model.Call}}}
	for _, tt := range []struct {
		err  error
		want Round
	}{
		{&model.Error{Kind: model.Broken, Message: "it broke"}, Round{Cut: true}},
		{context.Canceled, Round{Cut: true}},
		{&model.Error{Kind: model.Auth, Status: 401, Message: "no key"}, Round{Error: &Failure{Kind: model.Auth, Status: 401, Message: "no key"}}},
		{&model.Error{Kind: model.BadCall, Status: 307, Message: "moved"}, Round{Error: &Failure{Kind: model.BadCall, Message: "moved"}}},
		{nil, Round{}},
	} {
		s, err := recorded(t, fake{chunks: empty, err: tt.err})
		tt.want.Expect = &Expect{}
		if d := cmp.Diff([]Round{tt.want}, s.Rounds); d != "" || !errors.Is(err, tt.err) {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
}

// TestDelaysAreRecordedWithAClock: up to the beginning of the answer.
func TestDelaysAreRecordedWithAClock(t *testing.T) {
	now := time.Unix(0, 0)
	path := filepath.Join(t.TempDir(), "s.json")
	r := Record(fake{chunks: []model.Chunk{model.Started{}, model.Done{}}}, RecordOptions{Path: path, Now: func() time.Time {
		now = now.Add(1500 * time.Millisecond)
		return now
	}})
	if err := r.Stream(t.Context(), &model.Request{}, func(model.Chunk) error { return nil }); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if s := load(t, string(data)); err != nil || len(s.Rounds) != 1 || s.Rounds[0].DelayMS != 1500 {
		t.Errorf("%v: %s", err, data)
	}
}

// TestARecordingThatCannotBeWrittenEndsTheRequest; an error of the model comes first.
func TestARecordingThatCannotBeWrittenEndsTheRequest(t *testing.T) {
	o := RecordOptions{Path: filepath.Join(t.TempDir(), "missing", "s.json")}
	if err := os.WriteFile(filepath.Dir(o.Path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var e *model.Error
	err := Record(fake{chunks: []model.Chunk{model.Done{}}}, o).Stream(t.Context(), &model.Request{}, func(model.Chunk) error { return nil })
	if !errors.As(err, &e) || e.Kind != model.BadCall || !strings.HasPrefix(e.Message, "recording: ") || !strings.Contains(e.Hint, "--record") || e.Err == nil {
		t.Errorf("%#v", err)
	}
	failed := &model.Error{Kind: model.Auth, Message: "no key"}
	if err := Record(fake{err: failed}, o).Stream(t.Context(), &model.Request{}, func(model.Chunk) error { return nil }); !errors.Is(err, failed) {
		t.Error(err)
	}
}

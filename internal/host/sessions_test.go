package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/rollout"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// caller is a model that calls one tool in its first answer to "change" and
// otherwise repeats what it was told.
func caller(tool string, args map[string]any) *talker {
	raw, _ := json.Marshal(args)
	return &talker{answer: func(n int, r *model.Request) []*model.Item {
		last := r.Items[len(r.Items)-1]
		if last.Kind == model.Message && strings.HasPrefix(last.Text(), "change") {
			return []*model.Item{{Kind: model.Call, CallID: fmt.Sprintf("call_%d", n), Name: tool, Input: string(raw)}}
		}
		return []*model.Item{{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: "heard: " + last.Text()}}}}
	}}
}

// talk has a session say things and closes it.
func talk(t testing.TB, h *Host, o protocol.OpenOptions, words ...string) protocol.SessionID {
	t.Helper()
	s := open(t, h, o)
	for _, w := range words {
		s.say(w)
	}
	shut(t, s)
	return s.ID()
}

func verified(h *Host, id protocol.SessionID) error {
	return rollout.Verify(filepath.Join(h.SessionsDir(), string(id)))
}

func shut(t testing.TB, s *live) {
	t.Helper()
	go func() { // ends with the session
		for range s.Events() {
		}
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTranscriptTellsWhatWasShown(t *testing.T) {
	h := scripted(t, caller("write_file", map[string]any{"file_path": "a.txt", "content": "one\n"}))
	id := talk(t, h, protocol.OpenOptions{}, "hello", "change it")
	turns, err := h.Sessions().Transcript(context.Background(), string(id[:13]), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, turn := range turns {
		for _, i := range turn.Items {
			switch b := i.Body.(type) {
			case protocol.UserMessage:
				got = append(got, "user: "+b.Input[0].Text)
			case protocol.AgentMessage:
				text, _, _ := strings.Cut(b.Text, "\n")
				got = append(got, "agent: "+text[:min(14, len(text))])
			case protocol.FileChange:
				got = append(got, fmt.Sprintf("%s %s %s", i.Status, b.Changes[0].Kind, filepath.Base(b.Changes[0].Path)))
				if !strings.Contains(b.Diff, "+one") {
					t.Errorf("the diff of the change is %q", b.Diff)
				}
			default:
				got = append(got, fmt.Sprintf("%T", b))
			}
		}
		got = append(got, turn.Ended)
	}
	want := []string{"user: hello", "agent: heard: hello", "completed", "user: change it", "completed add a.txt",
		"agent: heard: Created", "completed"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !strings.Contains(turns[1].Diff, "+one") || turns[0].Diff != "" || turns[1].Usage.Input != 20 {
		t.Errorf("turns %+v", turns)
	}
	last, err := h.Sessions().Transcript(context.Background(), string(id), 1)
	if err != nil || len(last) != 1 {
		t.Fatalf("the last turn alone: %d, %v", len(last), err)
	}
	if d := cmp.Diff(turns[1], last[0]); d != "" {
		t.Error(d)
	}
}

func TestTranscriptLeavesOutWhatWasRewound(t *testing.T) {
	h := scripted(t, &talker{})
	s := open(t, h, protocol.OpenOptions{})
	s.say("one")
	two := s.say("two")
	s.submit(protocol.Rewind{Turn: two, Conversation: true})
	s.say("three")
	shut(t, s)
	turns, err := h.Sessions().Transcript(context.Background(), string(s.ID()), 0)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, turn := range turns {
		said = append(said, turn.Items[0].Body.(protocol.UserMessage).Input[0].Text)
	}
	if d := cmp.Diff([]string{"one", "three"}, said); d != "" {
		t.Error(d)
	}
}

func TestNamesOfSessions(t *testing.T) {
	h := scripted(t, &talker{})
	ctx := context.Background()
	first, second := talk(t, h, protocol.OpenOptions{}, "the first thing"),
		talk(t, h, protocol.OpenOptions{}, "the second thing")
	if err := h.Sessions().Rename(ctx, "the first thing", "  Parser \n work "); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Parser work", "parser work", string(first), strings.ToUpper(string(first))} {
		if info, err := h.Sessions().Find(ctx, name); err != nil || info.ID != first || info.Title != "Parser work" {
			t.Errorf("%q finds %+v, %v", name, info, err)
		}
	}
	_, err := h.Sessions().Find(ctx, "Parser wrok")
	if err == nil || !strings.Contains(err.Error(), string(first)) ||
		strings.Index(err.Error(), string(first)) > strings.Index(err.Error()+string(second), string(second)) {
		t.Errorf("the nearest of a slip: %v", err)
	}
	if _, err := h.Sessions().Find(ctx, string(first[:8])); err == nil && first[:8] == second[:8] {
		t.Error("a beginning of two ids finds one")
	}
	if err := h.Sessions().Rename(ctx, string(first), " \n"); err == nil {
		t.Error("an empty title is taken")
	}
	if err := verified(h, first); err != nil {
		t.Errorf("after a rename: %v", err)
	}
}

func TestArchiveAndDelete(t *testing.T) {
	h := scripted(t, &talker{})
	ctx := context.Background()
	first, second := talk(t, h, protocol.OpenOptions{}, "find the needle"), talk(t, h, protocol.OpenOptions{}, "another")
	list := func(f protocol.Filter) []protocol.SessionID {
		t.Helper()
		infos, err := h.Sessions().List(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		var ids []protocol.SessionID
		for _, i := range infos {
			ids = append(ids, i.ID)
		}
		return ids
	}
	same := func(what string, want []protocol.SessionID, f protocol.Filter) {
		t.Helper()
		if d := cmp.Diff(want, list(f)); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	same("all", []protocol.SessionID{second, first}, protocol.Filter{})
	same("second page", []protocol.SessionID{first}, protocol.Filter{Limit: 1, Cursor: string(second)})
	if err := h.Sessions().Archive(ctx, string(second), true); err != nil {
		t.Fatal(err)
	}
	same("without the archived", []protocol.SessionID{first}, protocol.Filter{})
	same("archived", []protocol.SessionID{second}, protocol.Filter{Archived: true})
	if err := h.Sessions().Archive(ctx, string(second), false); err != nil {
		t.Fatal(err)
	}
	same("back", []protocol.SessionID{second, first}, protocol.Filter{})
	found, err := h.Sessions().Search(ctx, "NEEDLE find", 0)
	if err != nil || len(found) != 1 || found[0].Session.ID != first ||
		!strings.Contains(found[0].Excerpt, "find the needle") {
		t.Errorf("search: %+v, %v", found, err)
	}
	if err := h.Sessions().Delete(ctx, string(first)); err != nil {
		t.Fatal(err)
	}
	same("after the deletion", []protocol.SessionID{second}, protocol.Filter{})
	if found, _ := h.Sessions().Search(ctx, "needle", 0); len(found) != 0 {
		t.Errorf("a deleted session is found: %+v", found)
	}
	if _, err := os.Stat(filepath.Join(h.SessionsDir(), string(first))); !os.IsNotExist(err) {
		t.Errorf("its directory: %v", err)
	}
	if err := filepath.WalkDir(h.SessionsDir(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "needle") {
			t.Errorf("%s still has the words of a deleted session", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestALiveSessionIsLeftAlone(t *testing.T) {
	h := scripted(t, &talker{})
	ctx := context.Background()
	s := open(t, h, protocol.OpenOptions{})
	s.say("hello")
	for what, err := range map[string]error{"rename": h.Sessions().Rename(ctx, string(s.ID()), "x"),
		"archive": h.Sessions().Archive(ctx, string(s.ID()), true),
		"delete":  h.Sessions().Delete(ctx, string(s.ID()))} {
		if err == nil || !strings.Contains(err.Error(), "open in another process") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := h.Open(ctx, protocol.OpenOptions{Resume: string(s.ID())})
	if err == nil || !strings.Contains(err.Error(), "open in another process") {
		t.Errorf("resume: %v", err)
	}
}

func TestForkFromATurn(t *testing.T) {
	c := &talker{}
	h := scripted(t, c)
	s := open(t, h, protocol.OpenOptions{})
	one := s.say("say one")
	s.say("say two")
	s.say("say three")
	shut(t, s)
	for name, turn := range map[string]protocol.TurnID{"by id": one, "by number": "1"} {
		id := talk(t, h, protocol.OpenOptions{Fork: string(s.ID()), ForkTurn: turn}, "and now")
		if got := c.last(); !strings.Contains(got, "say one") || strings.Contains(got, "say two") {
			t.Errorf("%s: the model was told %q", name, got)
		}
		if err := verified(h, id); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.Open(context.Background(), protocol.OpenOptions{Fork: string(s.ID()), ForkTurn: "none"}); err == nil ||
		!strings.Contains(err.Error(), `no turn "none"`) {
		t.Errorf("an unknown turn: %v", err)
	}
}

func TestModelsPutTheCurrentOneFirst(t *testing.T) {
	h := scripted(t, &talker{})
	told := `{"version":1,"providers":{"script":{"gpt-5":{"window":1000},"z":{}}}}`
	if err := os.WriteFile(filepath.Join(h.Config.Home, "models.json"), []byte(told), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := h.Query().Models(context.Background())
	if err != nil || len(list) != 3 || list[0].Name != "m" || list[1].Name != "gpt-5" || list[1].Window != 1000 ||
		len(list[1].Efforts) == 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

package anthropic_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
	"kerf/internal/model/anthropic"
	"kerf/internal/model/script/dialect"
	"kerf/internal/model/wire"
	mt "kerf/internal/testkit/modeltest"
)

func events() []string {
	return dialect.Anthropic.Render(*mt.Answer(mt.Reasoning("Hm."), mt.Message("I look."), mt.Call("f", mt.M{"a": 1}),
		mt.Call("g", mt.M{})).Script, 1)
}

// stream plays a body and returns the whole items.
func stream(t *testing.T, body string) ([]*model.Item, error) {
	t.Helper()
	s := mt.Start(t, mt.Raw(body))
	c := anthropic.New(anthropic.Options{Options: wire.Options{BaseURL: s.URL, IdleTimeout: 10 * time.Second}})
	var got []*model.Item
	err := c.Stream(t.Context(), &model.Request{Model: "m", Items: []*model.Item{model.UserText("hi")}},
		func(ch model.Chunk) error {
			if d, ok := ch.(model.ItemDone); ok {
				got = append(got, d.Item)
			}
			return nil
		})
	return got, err
}

// Events told twice, and events that Kerf does not know, change nothing but what
// is streamed for show.
func TestRepeatedEvents(t *testing.T) {
	all := events()
	want, err := stream(t, strings.Join(all, ""))
	if err != nil || len(want) != 4 {
		t.Fatal(err, want)
	}
	var twice []string
	for _, e := range all {
		twice = append(twice, e)
		if !strings.Contains(e, "_delta") && !strings.Contains(e, "message_stop") {
			twice = append(twice, e, "event: odd\ndata: {\"type\":\"odd\"}\n\n")
		}
	}
	got, err := stream(t, strings.Join(twice, ""))
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(strings.Join(events(), ""))
	f.Add("event: content_block_start\ndata: " +
		"{\"type\":\"content_block_start\",\"index\":-1,\"content_block\":{\"type\":\"tool_use\",\"input\":[1]}}\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		got, err := stream(t, body)
		seen := map[string]bool{}
		for _, i := range got {
			if i.Kind == model.Call && (i.CallID == "" || seen[i.CallID]) {
				t.Errorf("call %+v", i)
			}
			seen[i.CallID] = i.Kind == model.Call
		}
		var e *model.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%T %v", err, err)
		}
	})
}

package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
	"kerf/internal/model/anthropic"
	"kerf/internal/model/chat"
	"kerf/internal/model/gemini"
	"kerf/internal/model/openai"
	"kerf/internal/model/script"
	"kerf/internal/model/script/dialect"
	"kerf/internal/model/script/serve"
	"kerf/internal/model/wire"
)

// client is a real client of a protocol, who asks a server.
func client(api dialect.API, url string) model.Client {
	o := wire.Options{Name: "test", BaseURL: url, IdleTimeout: time.Minute, FirstAnswer: time.Minute}
	switch api {
	case dialect.Chat:
		return chat.New(chat.Options{Options: o})
	case dialect.Anthropic:
		return anthropic.New(anthropic.Options{Options: o})
	case dialect.Gemini:
		o.BaseURL = strings.TrimSuffix(url, "/v1")
		return gemini.New(o)
	}
	return openai.New(o)
}

// heard is what came of one request: the items in a line each, the text as it was streamed, what was
// used, and the error with what a session looks at.
type heard struct {
	Items  []string
	Stream string
	Usage  model.Usage
	Error  string
}

func ask(t *testing.T, c model.Client, items []*model.Item) (heard, []*model.Item) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var h heard
	var whole []*model.Item
	err := c.Stream(ctx, &model.Request{Model: "some-model", Items: items, Parallel: true, Tools: []model.Tool{
		{Name: "look", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`)},
		{Name: "patch", Schema: json.RawMessage(`{"type":"object","properties":{"input":{"type":"string"}}}`)}}},
		func(c model.Chunk) error {
			switch c := c.(type) {
			case model.TextDelta:
				h.Stream += c.Text
			case model.ReasoningDelta:
				h.Stream += "(" + c.Text + ")"
			case model.ItemDone:
				whole = append(whole, c.Item)
				h.Items = append(h.Items, brief(c.Item)...)
			case model.Done:
				if c.Usage != nil {
					h.Usage = *c.Usage
				}
			}
			return nil
		})
	var failed *model.Error
	if errors.As(err, &failed) {
		h.Error = fmt.Sprintf("%s, began %t, again after %v", failed.Kind, failed.Began, failed.RetryAfter)
	} else if err != nil {
		h.Error = err.Error()
	}
	return h, whole
}

// brief is an item without what only one protocol has; a freeform call is told as its text.
func brief(i *model.Item) []string {
	switch i.Kind {
	case model.Call:
		input := i.Input
		var free struct{ Input *string }
		if json.Unmarshal([]byte(input), &free) == nil && free.Input != nil {
			input = *free.Input
		}
		return []string{fmt.Sprintf("calls %s (%s) %s", i.Name, i.CallID, strings.Join(strings.Fields(input), " "))}
	case model.Reasoning:
		if len(i.Summary) == 0 { // a signature alone
			return nil
		}
		return []string{"thinks " + strings.Join(i.Summary, "")}
	}
	return []string{"says " + i.Text()}
}

func scenario() *script.Scenario {
	patch := "*** Begin Patch\n\"x\" <&>\n"
	return &script.Scenario{Title: "all of it", Rounds: []script.Round{
		{Items: []script.Item{{Reasoning: "Let me see, it may be there."}, {Message: "I look <at> it: \"ü\"."},
			{Call: "look", Args: json.RawMessage(`{"at":"a & b"}`)}, {Call: "look", Args: json.RawMessage(`{"at":"c"}`), ID: "own"}},
			Usage: &script.Usage{Input: 100, Cached: 40, Output: 20, Reasoning: 5}},
		{Expect: &script.Expect{InputContains: []string{"please", "I look"}, ToolOutputContains: []string{"found it"}},
			Items: []script.Item{{Call: "patch", Input: &patch}}},
		{Items: []script.Item{{Message: "Almost"}}, Cut: true},
		{Items: []script.Item{{Message: "Almost"}}, Error: &script.Failure{Kind: model.Server, Message: "overloaded"}},
		{Error: &script.Failure{Kind: model.Auth}},
		{Error: &script.Failure{Kind: model.Quota}},
		{Error: &script.Failure{Kind: model.BadCall}},
		{Error: &script.Failure{Kind: model.Context}},
		{Error: &script.Failure{Kind: model.RateLimit, RetryAfter: 7}},
		{Error: &script.Failure{Kind: model.Server, Status: 503, Message: "down"}},
		{Expect: &script.Expect{InputContains: []string{"nobody says this"}}, Items: []script.Item{{Message: "never"}}},
		{Items: []script.Item{{Message: "Done."}}, DelayMS: 1},
	}}
}

// TestEveryProtocolPlaysTheSame: what a client hears of a scenario does not depend on the protocol in
// which it is played, and is what the client that plays it without a server hears.
func TestEveryProtocolPlaysTheSame(t *testing.T) {
	play := func(c model.Client) (all []heard) {
		items := []*model.Item{model.UserText("please")}
		for range len(scenario().Rounds) + 1 {
			h, whole := ask(t, c, items)
			if h.Error != "" { // whether an item was whole then, not each protocol can say
				h.Items = nil
				all = append(all, h)
				continue
			}
			all = append(all, h)
			items = append(items, whole...)
			for _, i := range whole {
				if i.Kind == model.Call {
					items = append(items, &model.Item{Kind: model.Output, CallID: i.CallID, Name: i.Name, Style: i.Style,
						Content: []model.Part{{Text: "found it"}}})
				}
			}
		}
		return all
	}
	want := play(script.New(scenario()))
	if len(want[0].Items) != 4 || want[0].Usage.Input != 100 || want[1].Error != "" || want[2].Error == "" || want[10].Error == "" || want[11].Error != "" || want[12].Error == "" {
		t.Fatalf("without a server: %+v", want)
	}
	for _, api := range dialect.All() {
		s, err := serve.Start(scenario())
		if err != nil {
			t.Fatal(err)
		}
		got := play(client(api, s.URL))
		s.Close()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-without a server +played):\n%s", api, d)
		}
	}
}

// TestTokensWrittenToACache are told by the protocols that have a word for them.
func TestTokensWrittenToACache(t *testing.T) {
	used := script.Usage{Input: 100, Cached: 40, Write: 30, Output: 9}
	for api, want := range map[dialect.API]int{dialect.Responses: 30, dialect.Chat: 30, dialect.Anthropic: 30, dialect.Gemini: 0} {
		s, err := serve.Start(&script.Scenario{Rounds: []script.Round{{Items: []script.Item{{Message: "hi"}}, Usage: &used}}})
		if err != nil {
			t.Fatal(err)
		}
		h, _ := ask(t, client(api, s.URL), []*model.Item{model.UserText("hi")})
		s.Close()
		if h.Usage != (model.Usage{Input: 100, Cached: 40, CacheWrite: want, Output: 9}) {
			t.Errorf("%s: %+v", api, h.Usage)
		}
	}
}

// TestRefusalsSayWhatIsWrongWithTheScenario, in the words of each protocol.
func TestRefusalsSayWhatIsWrongWithTheScenario(t *testing.T) {
	for _, api := range dialect.All() {
		s, err := serve.Start(&script.Scenario{Title: "short", Rounds: []script.Round{
			{Expect: &script.Expect{ToolOutputContains: []string{"an output"}}, Items: []script.Item{{Message: "never"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		c := client(api, s.URL)
		for _, want := range []string{`scenario "short": round 1: no tool output contains "an output"; there is none`,
			`scenario "short" has 1 rounds, request 2 has no answer`} {
			err := c.Stream(t.Context(), &model.Request{Model: "some-model", Items: []*model.Item{model.UserText("hi")}},
				func(model.Chunk) error { return nil })
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", api, err, want)
			}
		}
		s.Close()
	}
}

// TestOnlyQuestionsOfAProtocolAreAnswered.
func TestOnlyQuestionsOfAProtocolAreAnswered(t *testing.T) {
	s, err := serve.Start(&script.Scenario{Rounds: []script.Round{{Items: []script.Item{{Message: "hi"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, path string }{{"GET", "/responses"}, {"POST", "/models"}, {"GET", "/models"}, {"POST", ""}} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if r.StatusCode != http.StatusNotFound {
			t.Errorf("%s %s: %s", c.method, c.path, r.Status)
		}
	}
	if h, _ := ask(t, client(dialect.Chat, s.URL), []*model.Item{model.UserText("hi")}); len(h.Items) != 1 {
		t.Errorf("the round was used up by what was not answered: %+v", h)
	}
	s.Close()
	if h, _ := ask(t, client(dialect.Chat, s.URL), []*model.Item{model.UserText("hi")}); !strings.HasPrefix(h.Error, string(model.Network)) {
		t.Errorf("after the end: %+v", h)
	}
}

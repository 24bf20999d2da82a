// Package script is a model that plays a written scenario.
//
// Round k answers request k; nothing else is consulted, so the same requests
// always get the same chunks. It is for demonstrations, tests and replays, and
// [Client.Label] says so wherever it is shown.
package script

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"kerf/internal/model"
)

// Client plays a scenario. It may be used by several goroutines; who comes
// first gets the earlier round.
type Client struct {
	scenario *Scenario
	mu       sync.Mutex
	played   int // rounds handed out; guarded by mu
}

var _ model.Client = (*Client)(nil)

// New returns a client at the first round of s, which must not change.
func New(s *Scenario) *Client { return &Client{scenario: s} }

// Label names the model for users: that it is scripted, and the title.
func (c *Client) Label() string {
	if c.scenario.Title == "" {
		return "scripted"
	}
	return "scripted: " + c.scenario.Title
}

// Left is how many rounds were not asked for.
func (c *Client) Left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.scenario.Rounds) - min(c.played, len(c.scenario.Rounds))
}

// Stream plays the next round. A scenario that ran out, and a request that is
// not what the round expects, are an error that no retry mends.
func (c *Client) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k := c.next()
	if k > len(c.scenario.Rounds) {
		return c.refuse("it has %d rounds, request %d has no answer", len(c.scenario.Rounds), k)
	}
	round := c.scenario.Rounds[k-1]
	if round.Expect != nil {
		differs := round.Expect.Check(inputText(r), outputText(r))
		if differs == "" {
			differs = round.Expect.match(r.Items, c.scenario.Matching == Exact)
		}
		if differs != "" {
			return c.refuse("round %d: %s", k, differs)
		}
	}
	if err := wait(ctx, time.Duration(round.DelayMS)*time.Millisecond); err != nil {
		return err
	}
	return play(ctx, round, k, emit)
}

func (c *Client) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.played++
	return c.played
}

func (c *Client) refuse(format string, args ...any) error {
	return &model.Error{Kind: model.BadCall, Hint: "fix the scenario, or what led to this request",
		Message: fmt.Sprintf("scenario %q: ", c.scenario.Title) + fmt.Sprintf(format, args...)}
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// play emits the chunks of round k.
func play(ctx context.Context, r Round, k int, emit func(model.Chunk) error) error {
	if r.Error != nil && len(r.Items) == 0 {
		return r.Error.model(false)
	}
	id := ResponseID(k)
	if err := emit(model.Started{ResponseID: id}); err != nil {
		return err
	}
	for n, item := range r.Items {
		if err := playItem(ctx, item, k, n, emit); err != nil {
			return err
		}
	}
	switch {
	case r.Error != nil:
		return r.Error.model(true)
	case r.Cut:
		return &model.Error{Kind: model.Broken, Message: "stream closed before the end of the response", Began: true}
	}
	return emit(model.Done{ResponseID: id, Usage: r.Usage.model()})
}

// ResponseID is the id of the response of round k (from 1).
func ResponseID(k int) string { return fmt.Sprintf("resp_%d", k) }

func playItem(ctx context.Context, i Item, k, n int, emit func(model.Chunk) error) error {
	item := i.Model(k, n)
	begun, text := *item, ""
	switch item.Kind {
	case model.Message:
		begun.Content, text = nil, item.Text()
	case model.Reasoning:
		begun.Summary, text = nil, strings.Join(item.Summary, "")
	case model.Call:
		begun.Input, text = "", item.Input
	}
	if err := emit(model.ItemAdded{Index: n, Item: &begun}); err != nil {
		return err
	}
	for _, word := range Words(text) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := emit(piece(item.Kind, n, word)); err != nil {
			return err
		}
	}
	return emit(model.ItemDone{Index: n, Item: item})
}

func piece(kind model.Kind, index int, text string) model.Chunk {
	switch kind {
	case model.Message:
		return model.TextDelta{Index: index, Text: text}
	case model.Reasoning:
		return model.ReasoningDelta{Index: index, Text: text}
	}
	return model.InputDelta{Index: index, Text: text}
}

// Words cuts s into the pieces in which it is streamed: words with the white
// space after them. Joined they are s.
func Words(s string) []string {
	const longest = 80 // a word without end comes in pieces, as from a real model
	var words []string
	start, inSpace := 0, false
	for i, r := range s {
		space := r == ' ' || r == '\n' || r == '\t'
		if (inSpace && !space) || i-start >= longest {
			words = append(words, s[start:i])
			start = i
		}
		inSpace = space
	}
	if start < len(s) {
		words = append(words, s[start:])
	}
	return words
}

func (u *Usage) model() *model.Usage {
	if u == nil {
		return nil
	}
	return &model.Usage{Input: u.Input, Cached: u.Cached, CacheWrite: u.Write, Output: u.Output, Reasoning: u.Reasoning}
}

func (f *Failure) model(began bool) *model.Error {
	message := f.Message
	if message == "" {
		message = "scripted error: " + string(f.Kind)
	}
	return &model.Error{Kind: f.Kind, Status: f.Status, Message: message, Began: began,
		RetryAfter: time.Duration(f.RetryAfter * float64(time.Second))}
}

// Check says how a request differs from what e expects, or nothing. Input is
// the text of the whole conversation, outputs what tools gave back.
func (e *Expect) Check(input, outputs string) string {
	for _, want := range e.InputContains {
		if !strings.Contains(input, want) {
			return fmt.Sprintf("the input does not contain %q; it ends in %q", want, tail(input))
		}
	}
	for _, want := range e.ToolOutputContains {
		if strings.Contains(outputs, want) {
			continue
		}
		if outputs == "" {
			return fmt.Sprintf("no tool output contains %q; there is none", want)
		}
		return fmt.Sprintf("no tool output contains %q; the last ends in %q", want, tail(outputs))
	}
	return ""
}

// tail is the end of a text that fits into a message.
func tail(s string) string {
	const most = 400
	s = strings.TrimSpace(s)
	if len(s) <= most {
		return s
	}
	s = s[len(s)-most:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return "…" + s
}

// inputText is everything of the conversation that is text, instructions not.
func inputText(r *model.Request) string {
	var b strings.Builder
	for _, i := range r.Items {
		for _, s := range []string{i.Text(), strings.Join(i.Summary, "\n"), i.Name, i.Input} {
			if s != "" {
				b.WriteString(s)
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

func outputText(r *model.Request) string {
	var b strings.Builder
	for _, i := range r.Items {
		if i.Kind == model.Output {
			b.WriteString(i.Text())
			b.WriteByte('\n')
		}
	}
	return b.String()
}

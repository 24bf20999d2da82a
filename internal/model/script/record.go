package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/atomicfile"
	"kerf/internal/model"
	"kerf/internal/text/visible"
)

// RecordOptions says where a recording goes.
type RecordOptions struct {
	Path  string
	Title string
	// Redact takes secrets out of what is written; nil keeps everything.
	Redact func([]byte) []byte
	// Now is a clock; with one the delays are recorded too.
	Now func() time.Time
}

// Recorder is a client that writes what another one does into a scenario. The
// file is whole after every round. It may be used by several goroutines; their
// rounds are recorded in the order in which they end.
type Recorder struct {
	inner model.Client
	o     RecordOptions

	mu       sync.Mutex
	scenario Scenario // guarded by mu
}

var _ model.Client = (*Recorder)(nil)

// Record returns a recorder around a client.
func Record(inner model.Client, o RecordOptions) *Recorder {
	return &Recorder{inner: inner, o: o, scenario: Scenario{Version: Version, Title: o.Title}}
}

// Stream passes the request on, see model.Client. A recording that cannot be
// written ends the request: it would be missed later.
func (c *Recorder) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	round := Round{Expect: &Expect{}}
	round.Expect.Shape, round.Expect.Texts = news(r.Items)
	var start time.Time
	if c.o.Now != nil {
		start = c.o.Now()
	}
	err := c.inner.Stream(ctx, r, func(ch model.Chunk) error {
		switch ch := ch.(type) {
		case model.Started:
			if c.o.Now != nil {
				round.DelayMS = int(c.o.Now().Sub(start).Milliseconds())
			}
		case model.ItemDone:
			if item, ok := itemOf(ch.Item); ok {
				round.Items = append(round.Items, item)
			}
		case model.Done:
			if u := ch.Usage; u != nil {
				round.Usage = &Usage{Input: u.Input, Cached: u.Cached, Write: u.CacheWrite, Output: u.Output,
					Reasoning: u.Reasoning}
			}
		}
		return emit(ch)
	})
	var failed *model.Error
	switch {
	case errors.As(err, &failed) && failed.Kind == model.Broken:
		round.Cut = true
	case errors.As(err, &failed):
		round.Error = &Failure{Kind: failed.Kind, Message: failed.Message, RetryAfter: failed.RetryAfter.Seconds()}
		if failed.Status >= 400 {
			round.Error.Status = failed.Status
		}
	case err != nil:
		round.Cut = true // the caller left
	}
	if saved := c.save(round); saved != nil && err == nil {
		return &model.Error{Kind: model.BadCall, Message: saved.Error(),
			Hint: "choose another file for --record, or leave it out", Began: true, Err: saved}
	}
	return err
}

// save appends a round and replaces the file.
func (c *Recorder) save(r Round) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scenario.Rounds = append(c.scenario.Rounds, r)
	var b bytes.Buffer
	if err := c.scenario.Save(&b); err != nil {
		return err
	}
	text := b.Bytes()
	if c.o.Redact != nil {
		text = c.o.Redact(text)
	}
	if err := atomicfile.WriteCache(c.o.Path, text); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}

// itemOf is an item as a scenario has it. Reasoning without words is left out.
func itemOf(i *model.Item) (Item, bool) {
	switch i.Kind {
	case model.Message:
		return Item{Message: i.Text()}, i.Text() != ""
	case model.Reasoning:
		words := strings.Join(i.Summary, "\n\n")
		return Item{Reasoning: words}, words != ""
	case model.Call:
		item := Item{Call: i.Name, ID: i.CallID}
		switch {
		case i.Style == model.Freeform:
			input := i.Input
			item.Input = &input
		case strings.HasPrefix(strings.TrimSpace(i.Input), "{") && json.Valid([]byte(i.Input)):
			item.Args = json.RawMessage(i.Input)
		default:
			item.Args, _ = json.Marshal(i.Input) // a text always has JSON
		}
		if i.Style == model.Shell {
			item.Style = string(model.Shell)
		}
		return item, item.Call != ""
	}
	return Item{}, false
}

// news is what came since the model spoke last: its shape and its words.
// Messages of the user that follow each other are one.
func news(items []*model.Item) (shape, texts []string) {
	from := len(items)
	for from > 0 && !spoken(items[from-1]) {
		from--
	}
	for _, i := range items[from:] {
		word := "user"
		if i.Kind == model.Output {
			word = "output " + callName(items[:from], i.CallID)
		} else if n := len(shape); n > 0 && shape[n-1] == word {
			texts[n-1] += "\n\n" + i.Text()
			continue
		}
		shape, texts = append(shape, word), append(texts, i.Text())
	}
	return shape, texts
}

// spoken reports whether the model made an item.
func spoken(i *model.Item) bool {
	return i.Kind == model.Call || i.Kind == model.Reasoning || i.Kind == model.Message && i.Role == "assistant"
}

func callName(items []*model.Item, id string) string {
	for _, i := range slices.Backward(items) {
		if i.Kind == model.Call && i.CallID == id {
			return i.Name
		}
	}
	return "of a call that is not there"
}

// match says how what came since the model spoke last differs from what was
// recorded, or nothing.
func (e *Expect) match(items []*model.Item, exact bool) string {
	if e.Shape == nil {
		return ""
	}
	shape, texts := news(items)
	for n := range max(len(shape), len(e.Shape)) {
		switch {
		case n >= len(shape):
			return fmt.Sprintf("the request lacks %q, which follows %q in the recording", e.Shape[n], before(e.Shape, n))
		case n >= len(e.Shape):
			return fmt.Sprintf("the request has %q, which the recording has not; it ends in %q", shape[n], before(e.Shape, n))
		case shape[n] != e.Shape[n]:
			return fmt.Sprintf("item %d of what is new is %q, in the recording it is %q", n+1, shape[n], e.Shape[n])
		case exact && n < len(e.Texts) && texts[n] != e.Texts[n]:
			at := commonPrefix(texts[n], e.Texts[n])
			return fmt.Sprintf("%q says something else than in the recording: after %d bytes it has %q, recorded is %q",
				shape[n], at, visible.Clip(texts[n][at:], 120), visible.Clip(e.Texts[n][at:], 120))
		}
	}
	return ""
}

func before(shape []string, n int) string {
	if n == 0 {
		return "nothing"
	}
	return shape[n-1]
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"kerf/internal/model"
)

// Checked is what a model did when it was tried.
type Checked struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Streaming says that the answer came in pieces, Tools that the model called the tool as
	// it was asked to, Parallel that it made both calls in one answer, and Results that it
	// went on with what they came to, its own reasoning sent back with them.
	Streaming bool `json:"streaming"`
	Tools     bool `json:"tools"`
	Parallel  bool `json:"parallel"`
	Results   bool `json:"results"`
	// Reasoning says that there was some, Cached how many tokens of the second request the
	// provider had kept from the first.
	Reasoning bool `json:"reasoning"`
	Cached    int  `json:"cached"`
	// Images says that the model saw the colour of a picture. None is sent to one that is
	// known not to take any.
	Images bool `json:"images"`
	// Problem is why it was not tried to the end, or empty.
	Problem string `json:"problem,omitempty"`
}

// Fit reports whether a session can work with the model.
func (c Checked) Fit() bool { return c.Tools && c.Results }

const checkTask = "Call the tool add twice in one answer: for 2 and 3, and for 40 and 50. Then tell the two sums and " +
	"nothing else."

var checkTool = model.Tool{Name: "add", Description: "Adds two integers.", Schema: json.RawMessage(
	`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`)}

// checkPicture is a red square of 64 pixels.
const (
	checkPicture = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgAsetfWiP4Fg" +
		"YrsKZeS0BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC"
	checkColour = "Which colour has this picture? Answer with one English word."
)

// Check tries the model of a choice: a tiny request with a tool, one with the results, and one
// with a picture. What it cannot do is no error.
func (c *Choice) Check(ctx context.Context) (Checked, error) {
	facts, _ := c.Facts(c.Model)
	got := Checked{Provider: c.Provider, Model: c.Model}
	client, err := c.Client()
	if err != nil {
		return got, err
	}
	req := &model.Request{Model: c.Model, Instructions: "You test whether tools work.", Tools: []model.Tool{checkTool},
		Parallel: true, CacheKey: "kerf-check", Items: []*model.Item{model.UserText(checkTask)}}
	first, err := tried(ctx, client, req)
	if err != nil {
		return got, withHint(err)
	}
	got.Streaming, got.Reasoning = first.pieces > 1, first.reasoned
	results := first.results()
	got.Tools, got.Parallel = len(results) > 0, len(results) > 1
	if !got.Tools {
		got.Problem = "it did not call the tool as it was asked to"
		return got, nil
	}
	second := *req
	second.Items = append(append(append([]*model.Item{}, req.Items...), first.items...), results...)
	then, err := tried(ctx, client, &second)
	if err != nil {
		got.Problem = fmt.Sprintf("the results of the calls were refused: %v", err)
		return got, nil
	}
	got.Streaming = got.Streaming || then.pieces > 1
	if got.Results = len(then.items) > 0; !got.Results {
		got.Problem = "it said nothing about the results of its calls"
	}
	if then.usage != nil {
		got.Cached = then.usage.Cached
	}
	got.Images = facts.Images && sees(ctx, client, c.Model)
	return got, nil
}

// sees reports whether a model tells the colour of a picture. One that is refused is not seen.
func sees(ctx context.Context, client model.Client, name string) bool {
	picture := model.UserText(checkColour)
	picture.Content = append(picture.Content, model.Part{ImageURL: checkPicture})
	t, err := tried(ctx, client, &model.Request{Model: name, Instructions: "You test whether pictures work.",
		CacheKey: "kerf-check", Items: []*model.Item{picture}})
	return err == nil && slices.ContainsFunc(t.items, func(i *model.Item) bool {
		words := strings.FieldsFunc(strings.ToLower(i.Text()), func(r rune) bool { return !unicode.IsLetter(r) })
		return i.Kind == model.Message && slices.Contains(words, "red")
	})
}

// trial is what one request came to.
type trial struct {
	items    []*model.Item
	pieces   int
	reasoned bool
	usage    *model.Usage
}

func tried(ctx context.Context, client model.Client, req *model.Request) (trial, error) {
	var t trial
	err := client.Stream(ctx, req, func(c model.Chunk) error {
		switch c := c.(type) {
		case model.TextDelta, model.InputDelta:
			t.pieces++
		case model.ReasoningDelta:
			t.pieces++
			t.reasoned = true
		case model.ItemDone:
			t.reasoned = t.reasoned || c.Item.Kind == model.Reasoning
			t.items = append(t.items, c.Item)
		case model.Done:
			t.usage = c.Usage
		}
		return nil
	})
	return t, err
}

// results answer the calls, as far as they are what was asked for.
func (t trial) results() []*model.Item {
	var list []*model.Item
	for _, i := range t.items {
		var n struct{ A, B *int }
		if i.Kind != model.Call || i.Name != checkTool.Name || json.Unmarshal([]byte(i.Input), &n) != nil ||
			n.A == nil || n.B == nil {
			continue
		}
		list = append(list, model.OutputText(i, fmt.Sprint(*n.A+*n.B)))
	}
	return list
}

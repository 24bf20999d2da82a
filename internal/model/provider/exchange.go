package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"kerf/internal/model"
	"kerf/internal/model/cassette"
)

// Told is a chunk of an answer, or its error, as `kerf debug provider` prints it.
type Told struct {
	Type  string `json:"type"` // the chunk's name, or error
	Value any    `json:"value"`
}

// Record sends one request to the provider of its model and writes what was said over HTTP
// to a file, without secrets. tell gets what Kerf makes of the answer.
func (r *Registry) Record(ctx context.Context, req *model.Request, path string, tell func(Told) error) error {
	recorder := &cassette.Recorder{}
	with := &Registry{o: r.o, catalog: r.catalog, traffic: func(next http.RoundTripper) http.RoundTripper {
		recorder.Next = next
		return recorder
	}}
	c, err := with.Choose(ctx, req.Model, false)
	if err != nil {
		return err
	}
	name, bare := c.split(c.Model)
	p, err := with.Provider(name)
	if err != nil {
		return err
	}
	if p.API == "script" {
		return setupFault("provider %s plays a scenario; there is no traffic to record", name)
	}
	told := *req
	told.Model = c.Model
	failed := c.exchange(ctx, &told, tell)
	file := cassette.Cassette{Provider: name, API: p.API, BaseURL: p.BaseURL, Model: bare}
	for _, t := range req.Tools {
		file.Tools = append(file.Tools, t.Name)
	}
	if err := recorder.Save(path, file, r.o.Redact); err != nil {
		return err
	}
	return failed
}

// Replay plays a recorded exchange and tells what Kerf makes of it. Nothing is sent, and no
// key is needed.
func (r *Registry) Replay(ctx context.Context, path string, tell func(Told) error) error {
	file, err := cassette.Load(path)
	if err != nil {
		return setupFault("%w", err)
	}
	o := r.o
	o.Providers = map[string]Provider{file.Provider: {Name: file.Provider, BaseURL: file.BaseURL, API: file.API}}
	o.Default, o.Fallbacks = file.Provider, nil
	o.Key = func(string) (Key, error) { return Key{}, nil }
	player := &cassette.Player{Cassette: file}
	with := &Registry{o: o, catalog: r.catalog, traffic: func(http.RoundTripper) http.RoundTripper { return player }}
	req := &model.Request{Model: file.Model, Items: []*model.Item{model.UserText("replay")}, Parallel: true}
	for _, name := range file.Tools {
		req.Tools = append(req.Tools, model.Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return with.Fixed(file.Model).exchange(ctx, req, tell)
}

// exchange makes one request and tells what comes of it.
func (c *Choice) exchange(ctx context.Context, req *model.Request, tell func(Told) error) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	err = client.Stream(ctx, req, func(chunk model.Chunk) error {
		return tell(Told{fmt.Sprintf("%T", chunk)[len("model."):], chunk})
	})
	if err != nil {
		if failed := tell(Told{"error", err.Error()}); failed != nil {
			return failed
		}
	}
	return err
}

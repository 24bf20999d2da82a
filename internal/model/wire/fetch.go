package wire

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"kerf/internal/model"
)

// maxFetch bounds the answer to a fetch.
const maxFetch = 32 << 20

// Fetch asks for a document under the base URL, such as the list of models. Body
// and Last of the call do not count; a failure is a *model.Error or the
// context's error.
func (e *Endpoint) Fetch(ctx context.Context, c Call) ([]byte, error) {
	c.Body = NewBody()
	x := &exchange{Endpoint: e, call: c}
	body, err := x.fetch(ctx)
	if x.renewable(err) && e.opts.Rejected(x.key) {
		x = &exchange{Endpoint: e, call: c}
		body, err = x.fetch(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return body, err
}

func (x *exchange) fetch(parent context.Context) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	req, err := x.request(ctx, http.MethodGet)
	if err != nil {
		return nil, err
	}
	x.first = x.opts.IdleTimeout
	watch := newWatch(x.first, cancel)
	defer watch.stop()
	resp, err := x.client.Do(req)
	if err != nil {
		return nil, x.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if !good(resp.StatusCode) {
		return nil, x.refused(resp)
	}
	if err := x.decompress(resp); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFetch+1))
	if err != nil {
		return nil, x.broken(ctx, err)
	}
	if len(body) > maxFetch {
		message := fmt.Sprintf("%s answered with more than %d bytes", x.host, maxFetch)
		return nil, &model.Error{Kind: model.BadCall, Message: message}
	}
	return body, nil
}

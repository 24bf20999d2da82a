package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/sse"
)

// maxWhole bounds an answer that comes at once.
const maxWhole = 32 << 20

// good reports whether a status tells of success. Some gateways say created, or accepted.
func good(status int) bool { return status >= 200 && status < 300 }

// decompress replaces the body of an answer that a proxy compressed though nobody asked for
// it.
func (x *exchange) decompress(resp *http.Response) error {
	switch encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
		resp.Body = &unzipped{from: resp.Body}
		return nil
	default:
		return &model.Error{Kind: model.BadCall, Status: resp.StatusCode,
			Message: x.clean(fmt.Sprintf("%s answered in content encoding %s, which was not asked for", x.host, encoding)),
			Hint:    "check base_url and proxies"}
	}
}

// unzipped is a compressed body as it was before. Its header is read when it is first read.
type unzipped struct {
	from io.ReadCloser
	zip  *gzip.Reader
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.zip == nil {
		zip, err := gzip.NewReader(u.from)
		if err != nil {
			return 0, err
		}
		u.zip = zip
	}
	return u.zip.Read(p)
}

func (u *unzipped) Close() error { return u.from.Close() }

// eventBody returns the events of a good answer, or what it says when it has none. The first
// byte decides: media types are often wrong.
func (x *exchange) eventBody(ctx context.Context, resp *http.Response) (io.Reader, error) {
	if err := x.decompress(resp); err != nil {
		return nil, err
	}
	head, err := readHead(resp.Body)
	if err != nil && err != io.EOF {
		return nil, x.broken(ctx, err)
	}
	start := bytes.TrimLeft(head, " \t\r\n\ufeff")
	switch {
	case len(start) == 0 && err == io.EOF:
		e := x.broken(ctx, io.EOF).(*model.Error)
		e.Message += ": the answer is empty"
		return nil, e
	case len(start) > 0 && (strings.IndexByte("{[<", start[0]) >= 0 || x.call.Events == nil && !beginsEvent(start)):
		most := int64(maxErrorBody)
		if strings.IndexByte("{[", start[0]) >= 0 {
			most = maxWhole
		}
		rest, _ := io.ReadAll(io.LimitReader(resp.Body, most)) // what was read says enough
		return x.atOnce(resp, append(head, rest...))
	}
	if err == io.EOF {
		return bytes.NewReader(head), nil
	}
	return io.MultiReader(bytes.NewReader(head), resp.Body), nil
}

// readHead reads up to the first byte that is not white space.
func readHead(r io.Reader) ([]byte, error) {
	buf := make([]byte, 512)
	n := 0
	for n < len(buf) {
		m, err := r.Read(buf[n:])
		n += m
		if err != nil || len(bytes.TrimLeft(buf[:n], " \t\r\n")) > 0 {
			return buf[:n], err
		}
	}
	return buf[:n], nil
}

// beginsEvent reports whether an event stream may begin with start: with a comment or a
// field, of which only a part may have come.
func beginsEvent(start []byte) bool {
	for _, field := range []string{":", "data:", "event:", "id:", "retry:", "error: {"} {
		n := min(len(field), len(start))
		if string(start[:n]) == field[:n] {
			return true
		}
	}
	return false
}

// atOnce is a good answer that is no event stream: the whole answer, if the protocol makes
// events of it, or a failure.
func (x *exchange) atOnce(resp *http.Response, body []byte) (io.Reader, error) {
	f, failed := ParseFailure(body)
	if !failed && x.call.Whole != nil {
		if events := x.call.Whole(body); events != nil {
			var b bytes.Buffer
			for _, e := range events {
				b.WriteString("data: ")
				b.Write(bytes.ReplaceAll(e, []byte{'\n'}, []byte{' '})) // no text of JSON holds one
				b.WriteString("\n\n")
			}
			return &b, nil
		}
	}
	start := strings.TrimLeft(string(body), " \t\r\n\ufeff")
	what := "JSON"
	switch {
	case failed:
		return nil, x.failure(f, resp.StatusCode, resp.Header)
	case isHTML(body):
		what = "a web page (" + htmlLine(body) + ")"
	case start[0] != '{' && start[0] != '[':
		return nil, x.failure(&Failure{Message: start}, resp.StatusCode, resp.Header)
	}
	return nil, &model.Error{Kind: model.BadCall, Status: resp.StatusCode,
		Message: x.clean(fmt.Sprintf("%s answered with %s instead of an event stream", x.host, what)),
		Hint:    "check base_url: it may lack a path such as /v1"}
}

// vain reports whether an event says only that the server is there.
func vain(ev sse.Event) bool {
	if ev.Name == "ping" || len(bytes.TrimSpace(ev.Data)) == 0 {
		return true
	}
	var typed struct {
		Type string `json:"type"`
	}
	return len(ev.Data) < 100 && bytes.Contains(ev.Data, []byte(`"ping"`)) && Decode(ev.Data, &typed) == nil &&
		typed.Type == "ping"
}

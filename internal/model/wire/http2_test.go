package wire_test

import (
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"kerf/internal/model"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// A server that speaks HTTP/2 and gives an answer up, by a reset of the stream or by the end of
// the connection, broke off an answer, which may be asked for again; the next request is answered.
func TestHTTP2ThatBreaksOff(t *testing.T) {
	var requests atomic.Int32
	var server *httptest.Server
	var end func()
	heard := make(chan struct{}, 4) // else what was sent could go with the connection
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the client speaks %s", r.Proto)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: first\n\n")
		w.(http.Flusher).Flush()
		if requests.Add(1)%2 == 1 {
			<-heard
			end()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "data: last\n\n")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for name, how := range map[string]func(){"reset": func() {}, "connection": server.CloseClientConnections} {
		end = how
		e := wire.New(wire.Options{BaseURL: server.URL, RootCAs: roots})
		ask := func() (said []string, err error) {
			err = e.Stream(t.Context(), wire.Call{Path: "x", Body: wire.NewBody([]byte("{}")), Last: "last"},
				func(ev sse.Event, _ map[string]string) (bool, error) {
					said = append(said, string(ev.Data))
					heard <- struct{}{}
					return string(ev.Data) == "last", nil
				})
			return said, err
		}
		said, err := ask()
		var told *model.Error
		if !errors.As(err, &told) || told.Kind != model.Broken || !told.Passes() || !told.Began || len(said) != 1 {
			t.Errorf("%s: %q, %v", name, said, err)
		}
		if said, err := ask(); err != nil || strings.Join(said, " ") != "first last" {
			t.Errorf("%s, the next: %q, %v", name, said, err)
		}
		for len(heard) > 0 {
			<-heard
		}
	}
}

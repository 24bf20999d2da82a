package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// collector starts a collector of OpenTelemetry, which writes what it is sent into a file, a
// line for each request: the path and the body. With "stuck" it never answers.
func collector(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: collector FILE [stuck]")
	}
	file := ts.MkAbs(args[0])
	stuck := make(chan struct{})
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if len(args) == 2 {
			<-stuck
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil || r.Header.Get("Content-Type") != "application/json" || !json.Valid(body) {
			body = []byte(`"not JSON"`)
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = io.WriteString(f, r.URL.Path+" key="+r.Header.Get("X-Key")+" "+string(body)+"\n")
			f.Close()
		}
		_, _ = io.WriteString(w, "{}")
	}))
	ts.Defer(func() { close(stuck); s.Close() })
	ts.Setenv("COLLECTOR", s.URL)
}

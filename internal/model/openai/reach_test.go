package openai_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"kerf/internal/model"
	"kerf/internal/model/openai"
)

func TestUnreachable(t *testing.T) {
	refused := closedPort(t)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	defer secure.Close()
	resetting := resettingServer(t)
	tests := []struct{ name, url, words string }{
		{"refused", "http://" + refused, "cannot reach " + refused + ": connection refused"},
		{"unknown name", "http://nobody.invalid/v1", "cannot reach nobody.invalid: "},
		{"certificate", secure.URL, "cannot reach " + secure.Listener.Addr().String() + ": tls: "},
		{"no TLS", "https://" + resetting, "cannot reach " + resetting + ": "},
		{"closed", "http://" + resetting, "cannot reach " + resetting + ": "},
	}
	for _, tt := range tests {
		start := time.Now()
		e := failure(t, openai.New(options(tt.url)))
		if e.Kind != model.Network || !strings.HasPrefix(e.Message, tt.words) || e.Hint == "" {
			if !(tt.name == "refused" && runtime.GOOS == "windows") { // it has other words
				t.Errorf("%s: %s %q, want %q", tt.name, e.Kind, e.Message, tt.words)
			}
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: took %v", tt.name, d)
		}
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// resettingServer closes every connection it gets.
func resettingServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return l.Addr().String()
}

func TestMisconfigured(t *testing.T) {
	for _, url := range []string{"", "api.example.com/v1", "ftp://h/v1", "http://", "http://u:" + key + "@ h/", "%zz"} {
		e := failure(t, openai.New(options(url)))
		if e.Kind != model.BadCall || e.Message != "model provider test: base_url is not an http or https URL" {
			t.Errorf("%q: %v", url, e)
		}
	}
	o := options("http://127.0.0.1:1")
	o.Headers = map[string]string{"X-A": "b\nc"}
	if e := failure(t, openai.New(o)); e.Kind != model.Network {
		t.Errorf("bad header: %v", e)
	}
}

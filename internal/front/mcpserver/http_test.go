package mcpserver

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestWhatIsNoMessageIsAnsweredOverHTTP: with the error that JSON-RPC has for it, inside and
// outside of a connection, and the server lives on.
func TestWhatIsNoMessageIsAnsweredOverHTTP(t *testing.T) {
	s := httptest.NewServer(Handler(func() *mcp.Server { return mcp.NewServer(&mcp.Implementation{Name: "s"}, nil) }, "token"))
	defer s.Close()
	post := func(text, session, token string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+endpoint, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(b)
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	first, _ := post(hello, "", "token")
	session := first.Header.Get("Mcp-Session-Id")
	if _, text := post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session, "token"); text != "" {
		t.Fatalf("the beginning is answered %q", text)
	}
	for _, at := range []string{"", session} {
		for text, code := range map[string]int{"{broken": -32700, "": -32700, "7": -32600, "{}": -32600, "[]": -32600, `"s"`: -32600,
			`{"id":3,"method":"ping"}`: -32600, `{"jsonrpc":"1.0","id":3,"method":"ping"}`: -32600,
			`{"jsonrpc":"2.0","id":{},"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":3,"method":7}`: -32600} {
			res, said := post(text, at, "token")
			var m struct {
				JSONRPC string
				Error   struct {
					Code    int
					Message string
				}
			}
			if err := json.Unmarshal([]byte(said), &m); err != nil || res.StatusCode != 400 || m.JSONRPC != "2.0" ||
				m.Error.Code != code || m.Error.Message == "" || strings.Contains(said, "Go value") {
				t.Errorf("session %q, %q: %d, %s", at, text, res.StatusCode, said)
			}
			if res, said := post(text, at, "other"); res.StatusCode != 401 || strings.Contains(said, "jsonrpc") {
				t.Errorf("%q without the token: %d, %s", text, res.StatusCode, said)
			}
		}
		if _, said := post(`{"jsonrpc":"2.0","id":4,"method":"ping"}`, session, "token"); !strings.Contains(said, `"id":4`) {
			t.Errorf("afterwards: %s", said)
		}
	}
}

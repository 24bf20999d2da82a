package cassette_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model/cassette"
)

// get makes a request and returns status, body and whether the answer was whole.
func get(t *testing.T, rt http.RoundTripper, url string) (int, string, bool) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"prompt":"the secret is hunter22"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-secret")
	req.Header.Set("X-Api-Key", "sk-secret")
	req.Header.Set("Content-Type", "application/json")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return 0, err.Error(), false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err == nil
}

// TestReplayGivesWhatWasRecorded plays good, failing, cut and missing answers again, and
// finds no secret in the file.
func TestReplayGivesWhatWasRecorded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=sk-secret")
		w.Header().Set("Retry-After", "3")
		switch r.URL.Path {
		case "/good":
			_, _ = io.WriteString(w, "data: {\"a\":\"<é>\"}\n\n")
		case "/busy":
			w.WriteHeader(429)
		case "/cut":
			_, _ = io.WriteString(w, "data: ha")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer s.Close()
	r := &cassette.Recorder{Next: http.DefaultTransport}
	var want [][3]any
	urls := []string{s.URL + "/good?key=sk-secret&alt=sse", s.URL + "/busy", s.URL + "/cut", "http://127.0.0.1:1/none"}
	for _, url := range urls {
		status, body, whole := get(t, r, url)
		want = append(want, [3]any{status, body, whole})
	}
	path := filepath.Join(t.TempDir(), "c.json")
	redact := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter22"), []byte("[redacted]")) }
	if err := r.Save(path, cassette.Cassette{Provider: "p", BaseURL: "https://u:sk-secret@h/v1?key=sk-secret"}, redact); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"sk-secret", "hunter22"} {
		if bytes.Contains(file, []byte(secret)) {
			t.Errorf("the file holds %q:\n%s", secret, file)
		}
	}
	c, err := cassette.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &cassette.Player{Cassette: c}
	for i, url := range urls {
		status, body, whole := get(t, p, url)
		if d := cmp.Diff(want[i], [3]any{status, body, whole}); d != "" {
			t.Errorf("%s (-recorded +played):\n%s", url, d)
		}
	}
	if _, words, _ := get(t, p, urls[0]); !strings.Contains(words, "holds 4 exchanges, and this is request 5") {
		t.Errorf("a request too many: %s", words)
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{"nonsense": "is no cassette", `{"version":9}`: "version 9",
		`{"version":1}`: "holds no exchange"} {
		path := filepath.Join(t.TempDir(), "c.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cassette.Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := cassette.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

package rollout

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRedactsShapes(t *testing.T) {
	pem := "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq3w0v1Zx\nYb0+/abcdefghijklmnopqrstuv==\n-----END RSA PRIVATE KEY-----"
	r := NewRedactor(nil)
	for _, c := range []struct{ in, want string }{
		{"key sk-proj-abcDEF0123456789xyz.", "key [redacted]."},
		{"sk-ant-api03-AAAAAAAAAAAAAAAAAAAA", "[redacted]"},
		{`{"k":"a\nsk-abcdefghijklmnop0"}`, `{"k":"a\n[redacted]"}`},
		{"\x1b[1;32msk-abcdefghijklmnop0\x1b[0m", "\x1b[1;32m[redacted]\x1b[0m"},
		{`\u003csk-abcdefghijklmnop0\u003e`, `\u003c[redacted]\u003e`},
		{"task-management-system-of-the-desk", "task-management-system-of-the-desk"},
		{"sk-short", "sk-short"},
		{"ghp_0123456789abcdefghijABCDEFGHIJ012345", "[redacted]"},
		{"xghs_0123456789abcdefghijABCDEFGHIJ012345", "x[redacted]"},
		{"github_pat_11ABCDEFG0abcdefghijkl_mnop", "[redacted]"},
		{"AKIAIOSFODNN7EXAMPLE", "[redacted]"},
		{"AKIA is a prefix", "AKIA is a prefix"},
		{"xoxb-123456789012-abcdef", "[redacted]"},
		{"Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [redacted]"},
		{"authorization: bearer " + strings.Repeat("x", 24), "authorization: bearer [redacted]"},
		{"Bearer authentication is used", "Bearer authentication is used"},
		{"t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_DEF-123 t", "t [redacted] t"},
		{"eyJhbGciOiJIUzI1NiJ9 alone", "eyJhbGciOiJIUzI1NiJ9 alone"},
		{"a " + pem + " b", "a [redacted] b"},
		{strings.ReplaceAll(`"`+pem+`"`, "\n", `\n`), `"[redacted]"`},
		{strings.ReplaceAll(`"`+pem+`"`, "\n", `\\n`), `"[redacted]"`},
		{"   1 | " + strings.ReplaceAll(pem, "\n", "\n   2 | "), "   1 | [redacted]"},
		{pem[:70] + `…`, "[redacted]…"},
		{`"-----BEGIN PRIVATE KEY-----"`, `"-----BEGIN PRIVATE KEY-----"`},
		{"-----BEGIN PUBLIC KEY-----\nMIIBIjAN", "-----BEGIN PUBLIC KEY-----\nMIIBIjAN"},
		{"https://me:hunter2@host/x", "https://me:[redacted]@host/x"},
		{"postgres://u:p@ss:w0rd@db:5432/x", "postgres://u:[redacted]@db:5432/x"},
		{"https://$USER:$PASS@host http://a:1@b https://host:8080/a@b", "https://$USER:$PASS@host http://a:1@b https://host:8080/a@b"},
		{"", ""},
		{"sk", "sk"}, {"e", "e"}, {"://", "://"}, {"-----BEGIN ", "-----BEGIN "}, {"Bearer ", "Bearer "},
	} {
		in := []byte(c.in)
		if got := string(r.Bytes(in)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
		if string(in) != c.in {
			t.Errorf("%q was changed", c.in)
		}
	}
}

func TestRedactsEnvironment(t *testing.T) {
	secret := "p\"a\\s<s>\nwörd&1"
	r := NewRedactor([]string{
		"DB_PASSWORD=" + secret, "my_api_key=abcd1234", "LONGER_KEY=abcd1234efgh", "PATH=/usr/bin:/bin",
		"SHORT_TOKEN=1234567", "SSH_AUTH_SOCK=/tmp/ssh-x/agent.1", "PROXY_AUTH=required", "EMPTY_KEY=", "NOVALUE_KEY",
	})
	once, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(once))
	for _, c := range []struct{ in, want string }{
		{"a " + secret + " b", "a [redacted] b"},
		{string(once), `"[redacted]"`},
		{string(twice), `"\"[redacted]\""`},
		{"abcd1234 and abcd1234efgh", "[redacted] and [redacted]"},
		{"1234567 /usr/bin:/bin /tmp/ssh-x/agent.1 required", "1234567 /usr/bin:/bin /tmp/ssh-x/agent.1 required"},
		{"abcd123", "abcd123"},
	} {
		if got := string(r.Bytes([]byte(c.in))); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// TestRedactKeepsJSON has secrets that look like the JSON around them.
func TestRedactKeepsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[n"\\{}:,0-9a-cu<\n]{8,12}`).Draw(t, "secret")
		text := rapid.StringMatching(`[n"\\{}:,0-9a-cu<\n]{0,9}`).Draw(t, "before") + secret + rapid.StringMatching(`[nu0-9"]{0,3}`).Draw(t, "after")
		r := NewRedactor([]string{"A_KEY=" + secret, "B_KEY=12345678", `C_KEY="result"`, `D_KEY={"n":12345678`})
		b, err := encode(Entry{"x", map[string]any{"text": text, "n": 12345678, "result": []string{text}, text: 1}}, r.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		flat := strings.Join(stringsOf(got), "\x00")
		if strings.Contains(flat, secret) || strings.Contains(flat, "12345678") && !strings.Contains(secret, "[redacted]") {
			t.Fatalf("secret %q in %s", secret, b)
		}
	})
}

func stringsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, stringsOf(x)...)
		}
		return out
	case map[string]any:
		var out []string
		for k, x := range v {
			out = append(append(out, k), stringsOf(x)...)
		}
		return out
	}
	return nil
}

func TestRedactIsLinear(t *testing.T) {
	const n = 2 << 20
	r := NewRedactor([]string{"A_KEY=" + strings.Repeat("a", 200) + "b"})
	for name, unit := range map[string]string{
		"eyJ": "eyJ", "eyJ.": "eyJaaaaaaaaaa.", "begin": "-----BEGIN ", "key": "-----BEGIN PRIVATE KEY-----", "a": "a",
		"bearer": "Bearer ", "sk": "sk-", "url": "://a:", "esc": `\u001b[1meyJ`, "dash": "-", "ghp": "ghp_",
	} {
		start := time.Now()
		r.Bytes(bytes.Repeat([]byte(unit), n/len(unit)))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte("Bearer abcdefgh12345678 sk-abcdefghijklmnop0"))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nabc"))
	r := NewRedactor([]string{"X_KEY=abcd1234"})
	f.Fuzz(func(t *testing.T, b []byte) {
		if out := r.Bytes(b); bytes.Contains(out, []byte("abcd1234")) {
			t.Fatalf("%q holds the secret", out)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	r := NewRedactor([]string{"X_KEY=abcd1234", "Y_TOKEN=0123456789abcdef"})
	text := []byte(strings.Repeat("func (s *Session) begin(ctx context.Context) error { return nil } // nothing here\n", 100))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Bytes(text)
	}
}

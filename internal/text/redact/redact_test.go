package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kerf/internal/testkit/growth"
)

func TestRedactsShapes(t *testing.T) {
	pem := "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq3w0v1Zx\nYb0+/abcdefghijklmnopqrstuv==\n-----END RSA " +
		"PRIVATE KEY-----"
	r := New(nil)
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
	r := New([]string{
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

func TestRedactIsLinear(t *testing.T) {
	r := New([]string{"A_KEY=" + strings.Repeat("a", 200) + "b"})
	for name, unit := range map[string]string{
		"eyJ": "eyJ", "eyJ.": "eyJaaaaaaaaaa.", "begin": "-----BEGIN ", "key": "-----BEGIN PRIVATE KEY-----", "a": "a",
		"bearer": "Bearer ", "sk": "sk-", "url": "://a:", "esc": `\u001b[1meyJ`, "dash": "-", "ghp": "ghp_",
	} {
		took := func(n int) time.Duration {
			text := bytes.Repeat([]byte(unit), n/len(unit))
			return growth.Took(func() { r.Bytes(text) })
		}
		if !growth.Linear(2<<20, took) {
			t.Errorf("%s: it takes far more than eight times as long for eight times as much", name)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte("Bearer abcdefgh12345678 sk-abcdefghijklmnop0"))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nabc"))
	r := New([]string{"X_KEY=abcd1234"})
	f.Fuzz(func(t *testing.T, b []byte) {
		if out := r.Bytes(b); bytes.Contains(out, []byte("abcd1234")) {
			t.Fatalf("%q holds the secret", out)
		}
	})
}

// To skip what begins with none of the pairs skips nothing that is looked for.
func TestPairsSkipNothing(t *testing.T) {
	env := []string{"API_KEY=Zq9-secret/one", "DB_PASSWORD=correct horse \"battery\"", "TOKEN=aaaaaaaaaaaaaaaa"}
	quick, slow := New(env), New(env)
	slow.build.Do(slow.prepare)
	for i := range slow.pairs {
		slow.pairs[i] = ^uint64(0)
	}
	var pieces []string
	for _, k := range kinds {
		pieces = append(pieces, k.prefix, k.prefix+"A1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6")
	}
	for _, v := range env {
		_, value, _ := strings.Cut(v, "=")
		for _, f := range forms(value) {
			pieces = append(pieces, f, f[:len(f)-1], f[1:])
		}
	}
	pieces = append(pieces, " ", "\n", "x", "=", "user:pass@host ", "-----END PRIVATE KEY-----", ".eyJhIjoxfQ.c2ln")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		if got, want := quick.Bytes([]byte(text)), slow.Bytes([]byte(text)); string(got) != string(want) {
			t.Fatalf("%q becomes %q, want %q", text, got, want)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	r := New([]string{"X_KEY=abcd1234", "Y_TOKEN=0123456789abcdef"})
	text := []byte(strings.Repeat("func (s *Session) begin(ctx context.Context) error { return nil } // nothing here\n",
		100))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Bytes(text)
	}
}

// A secret is found wherever it begins, though most of a text is passed over in steps.
func TestRedactsAtEachPlace(t *testing.T) {
	r := New([]string{"API_KEY=correct horse"})
	for _, secret := range []string{"correct horse", "sk-abcdefghijklmnop0", "hf_" + strings.Repeat("a", 30)} {
		for before := range 40 {
			for after := range 10 {
				head, tail := strings.Repeat(".", before), strings.Repeat(".", after)
				if got := string(r.Bytes([]byte(head + secret + tail))); got != head+redacted+tail {
					t.Fatalf("%d bytes before %q, %d after: %q", before, secret, after, got)
				}
			}
		}
	}
}

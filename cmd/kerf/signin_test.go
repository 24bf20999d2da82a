package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// emulator is the sign-in servers and the model servers of all providers, as strict as they
// are: what is not signed in as it must be gets 401.
type emulator struct {
	*httptest.Server
	t   *testing.T
	key *rsa.PrivateKey // of the service account

	mu        sync.Mutex
	seen      []string // guarded by mu
	challenge string   // of PKCE; guarded by mu
	polls     int      // of the device flow; guarded by mu
	tokens    int      // that were given; guarded by mu
	refuse    string   // a token that is taken no more; guarded by mu

	// What goes wrong. Set before a test runs kerf.
	refresh string        // the refresh token that counts, each for once; guarded by mu
	lives   int           // seconds that a token of ChatGPT lasts; guarded by mu
	busy    int           // how often the token server of ChatGPT says so; guarded by mu
	calls   bool          // the model calls a tool before it answers
	between func()        // is called after that call, with mu held
	off     time.Duration // the clock of the servers
}

const account = "acc-42"

func emulate(t *testing.T) *emulator {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	e := &emulator{t: t, key: key, lives: 3600}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

func (e *emulator) saw(format string, args ...any) {
	e.seen = append(e.seen, fmt.Sprintf(format, args...))
}

func (e *emulator) serve(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	posted, _ := url.ParseQuery(string(body))
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	refused := func() {
		answer(401, map[string]any{"error": map[string]any{"message": "bad token", "type": "invalid"}})
	}
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	type o = map[string]any
	switch path := r.URL.Path; {
	// ChatGPT: PKCE, an identity token with the account, refresh.
	case path == "/chatgpt/authorize":
		q := r.URL.Query()
		if q.Get("client_id") != "my-client" || q.Get("code_challenge_method") != "S256" ||
			q.Get("id_token_add_organizations") != "true" || !strings.Contains(q.Get("scope"), "offline_access") {
			answer(400, o{"error": "invalid_request"})
			return
		}
		e.challenge = q.Get("code_challenge")
		back := q.Get("redirect_uri") + "?" + url.Values{"code": {"the-code"}, "state": {q.Get("state")}}.Encode()
		http.Redirect(w, r, back, http.StatusFound)
	case path == "/chatgpt/token":
		sum := sha256.Sum256([]byte(posted.Get("code_verifier")))
		byCode := posted.Get("code") == "the-code" && base64.RawURLEncoding.EncodeToString(sum[:]) == e.challenge
		if !byCode && e.busy > 0 {
			e.busy--
			e.saw("busy")
			answer(503, o{"error": "temporarily_unavailable"})
			return
		}
		if !byCode && (posted.Get("refresh_token") == "" || posted.Get("refresh_token") != e.refresh) ||
			posted.Get("client_id") != "my-client" {
			e.saw("refused %s", posted.Get("refresh_token"))
			answer(400, o{"error": "invalid_grant", "error_description": "the token is wrong or was used before"})
			return
		}
		e.tokens++
		e.refresh = fmt.Sprintf("refresh-%d", e.tokens)
		claims, _ := json.Marshal(o{"https://api.openai.com/auth": o{"chatgpt_account_id": account}})
		got := o{"access_token": fmt.Sprintf("chatgpt-access-%d", e.tokens), "token_type": "Bearer", "expires_in": e.lives,
			"refresh_token": e.refresh}
		if byCode {
			got["id_token"] = "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".sig"
		}
		e.saw("token by code=%v", byCode)
		answer(200, got)
	case path == "/chatgpt/codex/responses":
		if !strings.HasPrefix(bearer, "chatgpt-access-") || bearer == e.refuse || r.Header.Get("ChatGPT-Account-ID") != account {
			e.saw("refused %s", bearer)
			refused()
			return
		}
		e.saw("responses with %s", bearer)
		if e.calls && !bytes.Contains(body, []byte(`"function_call_output"`)) {
			e.between()
			spoken(w, "call")
			return
		}
		spoken(w, "responses")
	// OpenRouter: PKCE without a client, for a key.
	case path == "/openrouter/auth":
		q := r.URL.Query()
		if q.Get("code_challenge_method") != "S256" {
			answer(400, o{"error": "invalid_request"})
			return
		}
		e.challenge = q.Get("code_challenge")
		http.Redirect(w, r, q.Get("callback_url")+"?code=the-code", http.StatusFound)
	case path == "/openrouter/keys":
		var sent struct {
			Code, Verifier string
			Method         string `json:"code_challenge_method"`
			V              string `json:"code_verifier"`
		}
		_ = json.Unmarshal(body, &sent) // what it is not is refused
		sum := sha256.Sum256([]byte(sent.V))
		if sent.Code != "the-code" || sent.Method != "S256" || base64.RawURLEncoding.EncodeToString(sum[:]) != e.challenge {
			answer(403, o{"error": o{"message": "Invalid code"}})
			return
		}
		answer(200, o{"key": "sk-or-v1-of-the-sign-in", "user_id": "u"})
	case path == "/openrouter/v1/chat/completions":
		if bearer != "sk-or-v1-of-the-sign-in" {
			refused()
			return
		}
		e.saw("openrouter")
		spoken(w, "chat")
	// GitHub: the device flow in forms, an exchange, an address of its own.
	case path == "/github/device":
		answer(200, o{"device_code": "dev-1", "user_code": "ABCD-1234", "verification_uri": e.URL + "/enter",
			"expires_in": 60, "interval": 1})
	case path == "/github/token":
		w.Header().Set("Content-Type", "application/x-www-form-urlencoded")
		if e.polls++; e.polls == 1 {
			_, _ = io.WriteString(w, "error=authorization_pending&error_description=wait")
			return
		}
		if posted.Get("device_code") != "dev-1" || posted.Get("client_id") != "my-client" {
			_, _ = io.WriteString(w, "error=incorrect_device_code")
			return
		}
		_, _ = io.WriteString(w, "access_token=gho_secret_of_github&scope=read%3Auser&token_type=bearer")
	case path == "/github/exchange":
		if r.Header.Get("Authorization") != "token gho_secret_of_github" || r.Header.Get("Editor-Version") == "" {
			answer(401, o{"message": "Bad credentials"})
			return
		}
		e.tokens++
		now := time.Now().Add(e.off)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		answer(200, o{"token": fmt.Sprintf("copilot-%d", e.tokens), "expires_at": now.Add(time.Hour).Unix(),
			"endpoints": o{"api": e.URL + "/business"}})
	case path == "/business/chat/completions":
		if !strings.HasPrefix(bearer, "copilot-") || bearer == e.refuse {
			e.saw("refused %s", bearer)
			refused()
			return
		}
		e.saw("chat with %s", bearer)
		if e.calls && !bytes.Contains(body, []byte(`"role":"tool"`)) {
			spoken(w, "chat call")
			return
		}
		spoken(w, "chat")
	// Azure: the key under a name of its own, or a token of Entra.
	case path == "/tenant-1/oauth2/v2.0/token":
		if posted.Get("client_id") != "app-1" || posted.Get("scope") != "https://cognitiveservices.azure.com/.default" ||
			posted.Get("grant_type") != "client_credentials" || posted.Get("client_secret") != "entra-secret-value" {
			answer(401, o{"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided."})
			return
		}
		answer(200, o{"access_token": "entra-token-1", "token_type": "Bearer", "expires_in": 3599})
	case path == "/azure/openai/v1/responses":
		if r.Header.Get("Api-Key") != "azure-key-value" && bearer != "entra-token-1" {
			refused()
			return
		}
		e.saw("azure key=%v token=%v", r.Header.Get("Api-Key") != "", bearer != "")
		spoken(w, "responses")
	// Bedrock: a bearer, or a signature; an answer in frames.
	case strings.HasPrefix(path, "/model/"):
		signed := regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\d{8}/eu-central-1/bedrock/aws4_request, ` +
			`SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$`)
		if bearer != "bedrock-bearer-value" && !signed.MatchString(r.Header.Get("Authorization")) {
			w.Header().Set("X-Amzn-Errortype", "AccessDeniedException:http://internal")
			answer(403, o{"message": "The security token included in the request is invalid."})
			return
		}
		w.Header().Set("Date", time.Now().Add(e.off).UTC().Format(http.TimeFormat))
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if bearer != "bedrock-bearer-value" && (err != nil || time.Until(at.Add(-e.off)).Abs() > 5*time.Minute) {
			e.saw("signature expired")
			w.Header().Set("X-Amzn-Errortype", "InvalidSignatureException:http://internal")
			answer(403, o{"message": "Signature expired: " + r.Header.Get("X-Amz-Date") + " is now earlier than it may be"})
			return
		}
		var sent struct {
			Model   string `json:"model"`
			Version string `json:"anthropic_version"`
			Stream  bool   `json:"stream"`
		}
		if json.Unmarshal(body, &sent) != nil || sent.Model != "" || sent.Stream || sent.Version != "bedrock-2023-05-31" ||
			r.URL.EscapedPath() != "/model/eu.anthropic.claude-sonnet-4-5-v1%3A0/invoke-with-response-stream" {
			answer(400, o{"message": "Malformed input request"})
			return
		}
		e.saw("bedrock signed=%v", strings.HasPrefix(bearer, "AWS4"))
		for _, event := range messageEvents {
			b, _ := json.Marshal(o{"bytes": []byte(event)})
			_, _ = w.Write(frame(map[string]string{":message-type": "event", ":event-type": "chunk"}, b))
		}
	// Google: an assertion that is signed, or a refresh token; Vertex.
	case path == "/google/token":
		if posted.Get("refresh_token") != "google-refresh-value" && !e.asserted(posted.Get("assertion")) {
			answer(400, o{"error": "invalid_grant", "error_description": "Invalid JWT Signature."})
			return
		}
		answer(200, o{"access_token": "google-token-1", "token_type": "Bearer", "expires_in": 3599})
	case path == "/computeMetadata/v1/instance/service-accounts/default/token":
		if r.Header.Get("Metadata-Flavor") != "Google" {
			answer(403, o{})
			return
		}
		answer(200, o{"access_token": "google-token-1", "token_type": "Bearer", "expires_in": 3599})
	case path == "/publishers/anthropic/models/claude-sonnet-4-6:streamRawPredict":
		if bearer != "google-token-1" || !bytes.Contains(body, []byte(`{"anthropic_version":"vertex-2023-10-16","max_tokens"`)) {
			refused()
			return
		}
		e.saw("vertex project=%q", r.Header.Get("X-Goog-User-Project"))
		spoken(w, "anthropic")
	default:
		http.NotFound(w, r)
	}
}

// asserted checks the assertion of the service account.
func (e *emulator) asserted(assertion string) bool {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || rsa.VerifyPKCS1v15(&e.key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return false
	}
	b, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Iss, Aud, Scope string
		Exp, Iat        int64
	}
	return json.Unmarshal(b, &claims) == nil && claims.Iss == "kerf@example.test" && claims.Aud == e.URL+"/google/token" &&
		claims.Scope == "https://www.googleapis.com/auth/cloud-platform" && claims.Exp-claims.Iat <= 3600
}

var messageEvents = []string{
	`{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":9,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Signed in well."}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`,
	`{"type":"message_stop"}`,
}

// spoken answers in a protocol.
func spoken(w io.Writer, api string) {
	var events []string
	switch api {
	case "anthropic":
		events = messageEvents
	case "chat":
		events = []string{`{"id":"c","choices":[{"index":0,"delta":{"content":"Signed in well."},"finish_reason":"stop"}]}`, "[DONE]"}
	case "chat call":
		events = []string{`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":` +
			`{"name":"read_file","arguments":"{\"file_path\":\"a.txt\"}"}}]},"finish_reason":"tool_calls"}]}`, "[DONE]"}
	case "call":
		events = []string{`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f1",` +
			`"status":"completed","call_id":"c1","name":"read_file","arguments":"{\"file_path\":\"a.txt\"}"}}`,
			`{"type":"response.completed","response":{"id":"r1","status":"completed","output":[],"usage":{"input_tokens":9}}}`}
	default:
		events = []string{`{"type":"response.created","response":{"id":"r1","status":"in_progress"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1","status":"completed",` +
				`"role":"assistant","content":[{"type":"output_text","annotations":[],"text":"Signed in well."}]}}`,
			`{"type":"response.completed","response":{"id":"r1","status":"completed","output":[],` +
				`"usage":{"input_tokens":9,"output_tokens":5}}}`}
	}
	for _, e := range events {
		_, _ = io.WriteString(w, "data: "+e+"\n\n")
	}
}

// frame is a frame of Amazon's event streams.
func frame(headers map[string]string, payload []byte) []byte {
	var h []byte
	for name, value := range headers {
		h = append(append(append(h, byte(len(name))), name...), 7)
		h = append(binary.BigEndian.AppendUint16(h, uint16(len(value))), value...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(h)+len(payload)+16))
	b = binary.BigEndian.AppendUint32(b, uint32(len(h)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, h...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// signedIn is a user with a home of their own.
type signedIn struct {
	t    *testing.T
	dir  string
	env  []string
	emu  *emulator
	conf string
}

func newUser(t *testing.T, e *emulator, config string, env ...string) *signedIn {
	dir := t.TempDir()
	u := &signedIn{t: t, dir: dir, emu: e, conf: filepath.Join(dir, "home", ".kerf", "config.toml")}
	u.env = append([]string{"HOME=" + filepath.Join(dir, "home"), "KERF_HOME=" + filepath.Join(dir, "home", ".kerf"),
		"PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "TMPDIR=" + dir, "GIT_CONFIG_GLOBAL=" + os.DevNull}, env...)
	u.write(u.conf, "cli_auth_credentials_store = \"file\"\n"+strings.ReplaceAll(config, "URL", e.URL))
	u.write(filepath.Join(dir, "repo", "a.txt"), "a\n")
	return u
}

func (u *signedIn) write(path, text string) {
	u.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		u.t.Fatal(err)
	}
}

// run runs kerf; each line that it writes to stderr goes to told as well, unless that is nil.
func (u *signedIn) run(told func(line string), args ...string) (exit int, out string) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kerf", args...)
	cmd.Dir, cmd.Env = filepath.Join(u.dir, "repo"), u.env
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		u.t.Fatal(err)
	}
	var words strings.Builder
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		words.WriteString(lines.Text() + "\n")
		if told != nil {
			told(lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		u.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String() + words.String()
}

// works has a session answer, and looks for secrets in all that Kerf wrote.
func (u *signedIn) works(model string, secrets ...string) {
	u.t.Helper()
	exit, out := u.run(nil, "exec", "--skip-git-repo-check", "-s", "read-only", "-m", model, "go")
	if exit != 0 || !strings.Contains(out, "Signed in well.") {
		u.t.Fatalf("exec ends with %d: %s\nthe servers saw %q", exit, out, u.emu.seen)
	}
	auth := filepath.Join(filepath.Dir(u.conf), "auth.json")
	err := filepath.WalkDir(filepath.Dir(u.conf), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == auth || path == u.conf {
			return err
		}
		b, err := os.ReadFile(path)
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) || strings.Contains(out, s) {
				u.t.Errorf("%s or what is shown holds the secret %s", path, s)
			}
		}
		return err
	})
	if err != nil {
		u.t.Fatal(err)
	}
}

func (u *signedIn) saw(want string) {
	u.t.Helper()
	u.emu.mu.Lock()
	defer u.emu.mu.Unlock()
	for _, s := range u.emu.seen {
		if s == want {
			return
		}
	}
	u.t.Errorf("the servers saw %q, not %q", u.emu.seen, want)
}

const chatgptConfig = `[model_providers.chatgpt]
base_url = "URL/chatgpt/codex"
[model_providers.chatgpt.oauth]
authorization_url = "URL/chatgpt/authorize"
token_url = "URL/chatgpt/token"
redirect_port = 0
`

// A sign-in with a browser: Kerf shows an address, the browser follows it and comes back to
// this machine, the code is worth tokens with the verifier only, requests name the account,
// and a refused token is renewed.
func TestSignInWithABrowser(t *testing.T) {
	e := emulate(t)
	u := newUser(t, e, chatgptConfig)
	exit, out := u.run(nil, "login", "chatgpt")
	if exit != 2 || !strings.Contains(out, "oauth.client_id") {
		t.Errorf("without a client id: %d, %s", exit, out)
	}
	if exit, out := u.run(nil, "exec", "--skip-git-repo-check", "-m", "chatgpt:gpt-5.2", "go"); exit != 2 ||
		!strings.Contains(out, "oauth.client_id") {
		t.Errorf("exec without a client id: %d, %s", exit, out)
	}
	u = newUser(t, e, chatgptConfig+"client_id = \"my-client\"\n")
	exit, out = u.run(func(line string) {
		if address := regexp.MustCompile(`http\S+`).FindString(line); strings.Contains(line, "in a browser") {
			resp, err := http.Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if resp.StatusCode != 200 {
				t.Errorf("the browser ends at %s: %s", resp.Request.URL.Path, resp.Status)
			}
		}
	}, "login", "chatgpt")
	if exit != 0 || !strings.Contains(out, "signed in to chatgpt") {
		t.Fatalf("login: %d, %s", exit, out)
	}
	u.works("chatgpt:gpt-5.2", "chatgpt-access-", "refresh-1", "the-code")
	u.saw("responses with chatgpt-access-1")
	e.mu.Lock()
	e.refuse = "chatgpt-access-1"
	e.mu.Unlock()
	u.works("chatgpt:gpt-5.2", "chatgpt-access-", "refresh-1")
	u.saw("token by code=false")
	u.saw("responses with chatgpt-access-2")
}

// A sign-in with a code: GitHub's forms, its exchange for a token that lasts shortly, the
// address that the answer names, and another exchange when that token is refused.
func TestSignInWithACode(t *testing.T) {
	e := emulate(t)
	u := newUser(t, e, `[model_providers.copilot]
base_url = "URL/nobody-is-here"
[model_providers.copilot.oauth]
client_id = "my-client"
device_authorization_url = "URL/github/device"
token_url = "URL/github/token"
exchange_url = "URL/github/exchange"
`)
	exit, out := u.run(nil, "login", "copilot")
	if exit != 0 || !strings.Contains(out, "enter the code ABCD-1234") {
		t.Fatalf("login: %d, %s", exit, out)
	}
	u.works("copilot:gpt-4.1", "gho_secret", "copilot-1")
	u.saw("chat with copilot-1")
	e.mu.Lock()
	e.refuse = "copilot-2"
	e.mu.Unlock()
	u.works("copilot:gpt-4.1", "gho_secret", "copilot-2", "copilot-3")
	u.saw("refused copilot-2")
	u.saw("chat with copilot-3")
}

// Clouds: what their programs keep is what Kerf signs in with.
func TestSignInToClouds(t *testing.T) {
	e := emulate(t)
	azure := "[model_providers.azure]\nbase_url = \"URL/azure/openai/v1\"\n"
	newUser(t, e, azure, "AZURE_OPENAI_API_KEY=azure-key-value").works("azure:gpt-5.2", "azure-key-value")
	entra := []string{"AZURE_TENANT_ID=tenant-1", "AZURE_CLIENT_ID=app-1", "AZURE_AUTHORITY_HOST=" + e.URL}
	u := newUser(t, e, azure, append(entra, "AZURE_CLIENT_SECRET=entra-secret-value")...)
	u.works("azure:gpt-5.2", "entra-secret-value", "entra-token-1")
	u.saw("azure key=true token=false")
	u.saw("azure key=false token=true")
	exit, out := newUser(t, e, azure, append(entra, "AZURE_CLIENT_SECRET=another")...).run(nil, "exec",
		"--skip-git-repo-check", "-m", "azure:gpt-5.2", "go")
	if exit != 1 || !strings.Contains(out, "AADSTS7000215") || strings.Contains(out, "another") {
		t.Errorf("a wrong secret: %d, %s", exit, out)
	}
	exit, out = newUser(t, e, "").run(nil, "exec", "--skip-git-repo-check", "-m", "azure:gpt-5.2", "go")
	if exit != 2 || !strings.Contains(out, "AZURE_OPENAI_RESOURCE or AZURE_RESOURCE_NAME") {
		t.Errorf("without a resource: %d, %s", exit, out)
	}

	const bedrock, claude = "[model_providers.bedrock]\nbase_url = \"URL\"\n", "bedrock:eu.anthropic.claude-sonnet-4-5-v1:0"
	newUser(t, e, bedrock, "AWS_BEARER_TOKEN_BEDROCK=bedrock-bearer-value").works(claude, "bedrock-bearer-value")
	u = newUser(t, e, bedrock, "AWS_PROFILE=work")
	u.write(filepath.Join(u.dir, "home", ".aws", "config"), "[profile work]\nregion = eu-central-1\n")
	u.write(filepath.Join(u.dir, "home", ".aws", "credentials"), "[work]\naws_access_key_id = AKIDEXAMPLE\n"+
		"aws_secret_access_key = aws-secret-value\naws_session_token = aws-session-value\n")
	u.works(claude, "aws-secret-value", "aws-session-value")
	u.saw("bedrock signed=false")
	u.saw("bedrock signed=true")
	exit, out = newUser(t, e, bedrock, "AWS_ACCESS_KEY_ID=AKIDOTHER", "AWS_SECRET_ACCESS_KEY=s", "AWS_REGION=x").run(nil,
		"exec", "--skip-git-repo-check", "-m", claude, "go")
	if exit != 1 || !strings.Contains(out, "security token included in the request is invalid") {
		t.Errorf("wrong keys: %d, %s", exit, out)
	}

	vertex := "[model_providers.vertex-claude]\nbase_url = \"URL/publishers/anthropic\"\n"
	u = newUser(t, e, vertex)
	file := filepath.Join(u.dir, "sa.json")
	der, err := x509.MarshalPKCS8PrivateKey(e.key)
	if err != nil {
		t.Fatal(err)
	}
	sa, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "kerf@example.test",
		"private_key_id": "k1", "token_uri": e.URL + "/google/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
	if err != nil {
		t.Fatal(err)
	}
	u.write(file, string(sa))
	u.env = append(u.env, "GOOGLE_APPLICATION_CREDENTIALS="+file)
	u.works("vertex-claude:claude-sonnet-4-6", "google-token-1", "PRIVATE KEY")
	u = newUser(t, e, vertex)
	u.write(filepath.Join(u.dir, "home", ".config", "gcloud", "application_default_credentials.json"),
		`{"type":"authorized_user","client_id":"c","client_secret":"d","refresh_token":"google-refresh-value",`+
			`"quota_project_id":"my-project","token_uri":"`+e.URL+`/google/token"}`)
	u.works("vertex-claude:claude-sonnet-4-6", "google-token-1", "google-refresh-value")
	u.saw(`vertex project="my-project"`)
	u = newUser(t, e, vertex, "GCE_METADATA_HOST="+strings.TrimPrefix(e.URL, "http://"))
	u.works("vertex-claude:claude-sonnet-4-6", "google-token-1")
}

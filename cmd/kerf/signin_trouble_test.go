package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// addressIn is the address that a line shows, or empty.
func addressIn(line string) string {
	if !strings.Contains(line, "in a browser") {
		return ""
	}
	return regexp.MustCompile(`http\S+`).FindString(line)
}

// browse follows an address as a browser does, to the end.
func browse(t *testing.T, address string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Error(err)
		return
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("the browser ends at %s: %s", resp.Request.URL.Path, resp.Status)
	}
}

// chatgptUser is one that has signed in to ChatGPT.
func chatgptUser(t *testing.T, e *emulator) *signedIn {
	t.Helper()
	u := newUser(t, e, chatgptConfig+"client_id = \"my-client\"\n")
	exit, out := u.run(func(line string) {
		if address := addressIn(line); address != "" {
			browse(t, address)
		}
	}, "login", "chatgpt")
	if exit != 0 {
		t.Fatalf("login: %d, %s", exit, out)
	}
	return u
}

// stored are the credentials that the user has.
func (u *signedIn) stored() string {
	b, err := os.ReadFile(filepath.Join(filepath.Dir(u.conf), "auth.json"))
	if err != nil {
		return ""
	}
	return string(b)
}

func (u *signedIn) exec(model string) (exit int, out string) {
	return u.run(nil, "exec", "--skip-git-repo-check", "-s", "read-only", "-m", model, "go")
}

// count is how many of the things that the servers saw begin so.
func (e *emulator) count(prefix string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.seen {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// Who comes back with another state is not listened to, and changes nothing; a refusal ends the
// sign-in with the server's word, and nothing is stored.
func TestSignInFromElsewhere(t *testing.T) {
	e := emulate(t)
	u := newUser(t, e, chatgptConfig+"client_id = \"my-client\"\n")
	var back string
	exit, out := u.run(func(line string) {
		address := addressIn(line)
		if address == "" {
			return
		}
		redirect, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Error(err)
			return
		}
		back = redirect.URL.Query().Get("redirect_uri")
		for _, foreign := range []string{"?code=the-code&state=guess", "?code=the-code", "?error=access_denied&state=guess", "x"} {
			resp, err := http.Get(back + foreign)
			if err != nil || resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s is answered with %v, %v", foreign, resp, err)
			}
		}
		browse(t, address)
	}, "login", "chatgpt")
	if exit != 0 || !strings.Contains(out, "signed in to chatgpt") || back == "" {
		t.Errorf("%d, %s", exit, out)
	}
	for words, query := range map[string]string{"access_denied": "&error=access_denied", "wrong or was used": "&code=another"} {
		u := newUser(t, e, chatgptConfig+"client_id = \"my-client\"\n")
		exit, out := u.run(func(line string) {
			if address := addressIn(line); address != "" {
				state := regexp.MustCompile(`[?&]state=([^&]+)`).FindStringSubmatch(address)[1]
				port := regexp.MustCompile(`localhost%3A(\d+)`).FindStringSubmatch(address)[1]
				browse(t, "http://localhost:"+port+"/auth/callback?state="+state+query)
			}
		}, "login", "chatgpt")
		if exit != 1 || !strings.Contains(out, words) || u.stored() != "" {
			t.Errorf("%s: %d, %s; stored %q", words, exit, out, u.stored())
		}
	}
}

// A port that is taken is named, with what to do; nobody who closes the browser holds the
// terminal for ever, and an interrupt stores nothing.
func TestSignInThatDoesNotComeBack(t *testing.T) {
	e := emulate(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	u := newUser(t, e, strings.Replace(chatgptConfig, "redirect_port = 0", "redirect_port = "+port, 1)+"client_id = \"my-client\"\n")
	exit, out := u.run(nil, "login", "chatgpt")
	if exit != 1 || !strings.Contains(out, port) || !strings.Contains(out, "end the program that listens there") {
		t.Errorf("a port that is taken: %d, %s", exit, out)
	}

	u = newUser(t, e, chatgptConfig+"client_id = \"my-client\"\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kerf", "login", "chatgpt")
	cmd.Dir, cmd.Env = filepath.Join(u.dir, "repo"), u.env
	var words interrupts
	words.at, words.do = "in a browser", func() { _ = cmd.Process.Signal(syscall.SIGINT) }
	cmd.Stderr = &words
	_ = cmd.Run() // its exit code tells
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(words.String(), "nothing was stored") || u.stored() != "" {
		t.Errorf("interrupted: %d, %s; stored %q", code, words.String(), u.stored())
	}
}

// interrupts does something once when certain words were written to it.
type interrupts struct {
	words bytes.Buffer
	at    string
	do    func()
}

func (i *interrupts) String() string { return i.words.String() }

func (i *interrupts) Write(b []byte) (int, error) {
	n, err := i.words.Write(b)
	if i.do != nil && strings.Contains(i.String(), i.at) {
		i.do()
		i.do = nil
	}
	return n, err
}

// OpenRouter gives a key for a sign-in with a browser, to a program that has no client id.
func TestSignInForAKey(t *testing.T) {
	e := emulate(t)
	u := newUser(t, e, `[model_providers.openrouter]
base_url = "URL/openrouter/v1"
[model_providers.openrouter.oauth]
authorization_url = "URL/openrouter/auth"
token_url = "URL/openrouter/keys"
`)
	exit, out := u.run(func(line string) {
		if address := addressIn(line); address != "" {
			browse(t, address)
		}
	}, "login", "--browser", "openrouter")
	if exit != 0 || !strings.Contains(u.stored(), "sk-or-v1-of-the-sign-in") {
		t.Fatalf("login: %d, %s", exit, out)
	}
	u.works("openrouter:deepseek/deepseek-v4", "sk-or-v1-of-the-sign-in")
	u.saw("openrouter")
}

// Tokens that run out, are revoked, or whose server is busy amid a session are renewed; nothing
// is asked of the user. A renewal that is refused ends the turn with the server's words and the
// command that helps; one that cannot be made does not blame the sign-in.
func TestTokensEndInMidSession(t *testing.T) {
	session := func(change func(e *emulator), between func(e *emulator)) (*emulator, *signedIn) {
		e := emulate(t)
		change(e)
		e.calls, e.between = true, func() { between(e) }
		return e, chatgptUser(t, e)
	}
	const model = "chatgpt:gpt-5.2"
	revoke := func(e *emulator) { e.refuse = "chatgpt-access-" + strconv.Itoa(e.tokens) }
	nothing := func(*emulator) {}

	e, u := session(func(e *emulator) { e.lives = 1 }, nothing)
	u.works(model, "chatgpt-access-", "refresh-")
	if n := e.count("token by code=false"); n != 2 {
		t.Errorf("two requests with tokens that last a second: %d renewals", n)
	}

	_, u = session(nothing, revoke)
	u.works(model, "chatgpt-access-", "refresh-")
	u.saw("refused chatgpt-access-1")
	u.saw("responses with chatgpt-access-2")
	if !strings.Contains(u.stored(), "refresh-2") {
		t.Errorf("the renewed tokens are not stored: %s", u.stored())
	}

	e, u = session(nothing, func(e *emulator) { revoke(e); e.busy = 2 })
	u.works(model)
	if n := e.count("busy"); n != 2 {
		t.Errorf("a busy token server is asked %d times in vain, not 2", n)
	}

	e, u = session(nothing, func(e *emulator) { revoke(e); e.refresh = "of nobody" })
	exit, out := u.exec(model)
	if exit != 1 || !strings.Contains(out, "wrong or was used before") || !strings.Contains(out, "kerf login") {
		t.Errorf("a renewal that is refused: %d, %s", exit, out)
	}
	if n := e.count("refused refresh"); n != 1 {
		t.Errorf("a refresh token that is refused is sent %d times", n)
	}

	e, u = session(nothing, func(e *emulator) { revoke(e); e.busy = 1000 })
	before := u.stored()
	u.write(u.conf, strings.Replace(readAll(t, u.conf), "[model_providers.chatgpt]", "[model_providers.chatgpt]\nrequest_max_retries = 1", 1))
	exit, out = u.exec(model)
	if exit != 1 || !strings.Contains(out, "cannot be renewed") || strings.Contains(out, "kerf login") || u.stored() != before {
		t.Errorf("a token server that is away: %d, %s", exit, out)
	}
	if n := e.count("busy"); n != 2 {
		t.Errorf("it is asked %d times with one retry", n)
	}
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Two programs whose token is revoked at the same moment renew it once: a refresh token is worth
// something only once, and the second would be signed out.
func TestTokensOfTwoPrograms(t *testing.T) {
	e := emulate(t)
	const programs = 3
	arrived, all := 0, make(chan struct{})
	e.calls, e.between = true, func() {
		if arrived++; arrived == programs {
			e.refuse = "chatgpt-access-1"
			close(all)
		}
		e.mu.Unlock()
		defer e.mu.Lock()
		select {
		case <-all:
		case <-t.Context().Done():
		case <-time.After(time.Minute):
		}
	}
	u := chatgptUser(t, e)
	type ending struct {
		exit int
		out  string
	}
	ends := make(chan ending, programs)
	for range programs {
		go func() {
			exit, out := u.exec("chatgpt:gpt-5.2")
			ends <- ending{exit, out}
		}()
	}
	for range programs {
		if end := <-ends; end.exit != 0 || !strings.Contains(end.out, "Signed in well.") {
			t.Errorf("%d, %s", end.exit, end.out)
		}
	}
	if n := e.count("token by code=false"); n != 1 || e.count("refused refresh") != 0 {
		t.Errorf("%d renewals; the servers saw %q", n, e.seen)
	}
}

// Who signs out while a session runs stays signed out, and who signs in again helps it.
func TestSignOutInMidSession(t *testing.T) {
	e := emulate(t)
	var at atomic.Pointer[signedIn] // for the server's goroutines
	e.calls, e.between = true, func() {
		e.refuse = "chatgpt-access-1"
		if exit, out := at.Load().run(nil, "logout", "chatgpt"); exit != 0 {
			t.Errorf("logout: %d, %s", exit, out)
		}
	}
	u := chatgptUser(t, e)
	at.Store(u)
	exit, out := u.exec("chatgpt:gpt-5.2")
	if exit != 1 || !strings.Contains(out, "run kerf login chatgpt") || strings.Contains(u.stored(), "refresh-") {
		t.Errorf("%d, %s; stored %s", exit, out, u.stored())
	}

	e = emulate(t)
	e.calls, e.between = true, func() {
		u := at.Load()
		e.refuse, e.refresh = "chatgpt-access-1", "of nobody"
		fresh := strings.NewReplacer("chatgpt-access-1", "chatgpt-access-of-another-sign-in").Replace(u.stored())
		u.write(filepath.Join(filepath.Dir(u.conf), "auth.json"), fresh)
	}
	u = chatgptUser(t, e)
	at.Store(u)
	u.works("chatgpt:gpt-5.2")
	u.saw("responses with chatgpt-access-of-another-sign-in")
}

// Clocks that differ: requests to AWS are signed by the server's clock, and tokens last as long
// as the server says by its own.
func TestSignInWithAClockThatIsOff(t *testing.T) {
	for _, off := range []time.Duration{2 * time.Hour, -2 * time.Hour} {
		e := emulate(t)
		e.off = off
		u := newUser(t, e, "[model_providers.bedrock]\nbase_url = \"URL\"\n", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE",
			"AWS_SECRET_ACCESS_KEY=aws-secret-value", "AWS_SESSION_TOKEN=aws-session-value", "AWS_REGION=eu-central-1")
		u.works("bedrock:eu.anthropic.claude-sonnet-4-5-v1:0", "aws-secret-value")
		if n := e.count("signature expired"); n != 1 {
			t.Errorf("off by %s: %d requests with the wrong time", off, n)
		}
		e.calls = true
		u = newUser(t, e, "[model_providers.copilot]\nbase_url = \"URL/nobody-is-here\"\n"+
			"[model_providers.copilot.oauth]\nexchange_url = \"URL/github/exchange\"\n", "COPILOT_GITHUB_TOKEN=gho_secret_of_github")
		u.works("copilot:gpt-4.1", "gho_secret")
		if first, all := e.count("chat with copilot-1"), e.count("chat with"); first != 2 || all != 2 {
			t.Errorf("off by %s: %d of %d requests with the first token", off, first, all)
		}
	}
}

// The device flow: a server that is busy, or away, while the user enters the code does not end it.
func TestSignInWithACodeAndABusyServer(t *testing.T) {
	var polls, sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/device" {
			_, _ = w.Write([]byte(`{"device_code":"d","user_code":"WXYZ-9","verification_uri":"https://example.test/enter","expires_in":120,"interval":1}`))
			return
		}
		switch polls.Add(1) {
		case 1:
			w.WriteHeader(502)
			_, _ = w.Write([]byte("<html><title>502 Bad Gateway</title></html>"))
		case 2: // no answer at all
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
		case 3:
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"error":"authorization_pending"}`))
		default:
			if r.PostFormValue("device_code") == "d" {
				sent.Add(1)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "access-of-the-code", "token_type": "Bearer"})
		}
	}))
	defer server.Close()
	s := server.URL
	e := emulate(t)
	u := newUser(t, e, "[model_providers.gate]\nname = \"Gate\"\nbase_url = \"URL/x\"\n[model_providers.gate.oauth]\nclient_id = \"c\"\n"+
		"device_authorization_url = \""+s+"/device\"\ntoken_url = \""+s+"/token\"\n")
	exit, out := u.run(nil, "login", "gate")
	if exit != 0 || !strings.Contains(out, "WXYZ-9") || sent.Load() != 1 || !strings.Contains(u.stored(), "access-of-the-code") {
		t.Errorf("%d, %s; polls %d; stored %s", exit, out, polls.Load(), u.stored())
	}
}

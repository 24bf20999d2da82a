package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// office is a network in which servers have certificates of its own, and are reached through a
// proxy alone: nothing else knows the way to them.
type office struct {
	*emulator
	proxy    *httptest.Server
	tunnels  atomic.Int64
	browser  *http.Client
	settings string // of a provider there
}

func newOffice(t *testing.T) *office {
	o := &office{emulator: emulate(t)}
	o.Server.Close()
	o.Server = httptest.NewTLSServer(http.HandlerFunc(o.serve))
	t.Cleanup(o.Server.Close)
	behind := o.Listener.Addr().String()
	o.URL = "https://example.com" // for which the certificate is, too
	o.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "example.com:443" {
			http.Error(w, r.Method+" "+r.Host, http.StatusForbidden)
			return
		}
		o.tunnels.Add(1)
		tunnel(w, behind)
	}))
	t.Cleanup(o.proxy.Close)
	through := o.Client().Transport.(*http.Transport).Clone()
	through.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Hostname() == "localhost" { // where the browser comes back to
			return nil, nil
		}
		return url.Parse(o.proxy.URL)
	}
	o.browser = &http.Client{Transport: through}
	file := filepath.Join(t.TempDir(), "ca.pem")
	(&signedIn{t: t}).write(file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: o.Certificate().Raw})))
	o.settings = fmt.Sprintf("proxy = %q\nca_certificate = %q\n", o.proxy.URL, file)
	return o
}

// tunnel joins a client with a server.
func tunnel(w http.ResponseWriter, server string) {
	there, err := net.Dial("tcp", server)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(there, buffered)
		_ = there.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(here, there)
	here.Close()
	<-done
}

// user is one whose provider is reached as the office demands.
func (o *office) user(t *testing.T, config string, env ...string) *signedIn {
	return newUser(t, o.emulator, strings.ReplaceAll(config, "SETTINGS\n", o.settings), env...)
}

// signIn signs in, with the browser of the office where one is needed.
func (u *signedIn) signIn(o *office, provider string, flags ...string) {
	u.t.Helper()
	exit, out := u.run(func(line string) {
		if address := regexp.MustCompile(`http\S+`).FindString(line); strings.Contains(line, "in a browser") {
			resp, err := o.browser.Get(address)
			if err != nil {
				u.t.Error(err)
				return
			}
			resp.Body.Close()
		}
	}, append([]string{"login", provider}, flags...)...)
	if exit != 0 || !strings.Contains(out, provider) {
		u.t.Fatalf("login %s: %d, %s", provider, exit, out)
	}
}

// What gets and renews keys goes the way that requests go: through the provider's proxy, with
// its certificates. Each flow that Kerf has is tried where there is no other way.
func TestSignInThroughAProxy(t *testing.T) {
	t.Run("browser, and renewal", func(t *testing.T) {
		o := newOffice(t)
		u := o.user(t, strings.Replace(chatgptConfig, "[model_providers.chatgpt.oauth]", "SETTINGS\n[model_providers.chatgpt.oauth]", 1)+
			"client_id = \"my-client\"\n")
		u.signIn(o, "chatgpt")
		u.works("chatgpt:gpt-5.2", "chatgpt-access-")
		o.mu.Lock()
		o.refuse = "chatgpt-access-1"
		o.mu.Unlock()
		u.works("chatgpt:gpt-5.2", "chatgpt-access-")
		u.saw("token by code=false")
		if o.tunnels.Load() == 0 {
			t.Error("nothing went through the proxy")
		}
	})
	t.Run("browser, for a key", func(t *testing.T) {
		o := newOffice(t)
		u := o.user(t, "[model_providers.openrouter]\nbase_url = \"URL/openrouter/v1\"\nSETTINGS\n[model_providers.openrouter.oauth]\n"+
			"authorization_url = \"URL/openrouter/auth\"\ntoken_url = \"URL/openrouter/keys\"\nredirect_port = 0\n")
		u.signIn(o, "openrouter", "--browser")
		u.works("openrouter:openai/gpt-5.2", "sk-or-v1-of-the-sign-in")
	})
	t.Run("code, and exchange", func(t *testing.T) {
		o := newOffice(t)
		u := o.user(t, `[model_providers.copilot]
base_url = "URL/nobody-is-here"
SETTINGS
[model_providers.copilot.oauth]
client_id = "my-client"
device_authorization_url = "URL/github/device"
token_url = "URL/github/token"
exchange_url = "URL/github/exchange"
`)
		u.signIn(o, "copilot")
		u.works("copilot:gpt-4.1", "gho_secret", "copilot-1")
	})
	t.Run("clouds", func(t *testing.T) {
		o := newOffice(t)
		u := o.user(t, "[model_providers.azure]\nbase_url = \"URL/azure/openai/v1\"\nSETTINGS\n", "AZURE_TENANT_ID=tenant-1",
			"AZURE_CLIENT_ID=app-1", "AZURE_AUTHORITY_HOST="+o.URL, "AZURE_CLIENT_SECRET=entra-secret-value")
		u.works("azure:gpt-5.2", "entra-token-1")
		u = o.user(t, "[model_providers.vertex-claude]\nbase_url = \"URL/publishers/anthropic\"\nSETTINGS\n")
		u.write(filepath.Join(u.dir, "home", ".config", "gcloud", "application_default_credentials.json"),
			`{"type":"authorized_user","client_id":"c","client_secret":"d","refresh_token":"google-refresh-value",`+
				`"token_uri":"`+o.URL+`/google/token"}`)
		u.works("vertex-claude:claude-sonnet-4-6", "google-token-1")
	})
	t.Run("no such file", func(t *testing.T) {
		o := newOffice(t)
		o.settings = "ca_certificate = \"/nowhere/ca.pem\"\n"
		u := o.user(t, "[model_providers.copilot]\nbase_url = \"URL/x\"\nSETTINGS\n[model_providers.copilot.oauth]\n"+
			"client_id = \"my-client\"\ndevice_authorization_url = \"URL/github/device\"\ntoken_url = \"URL/github/token\"\n")
		exit, out := u.run(nil, "login", "copilot")
		if exit == 0 || !strings.Contains(out, "model_providers.copilot.ca_certificate: ") || !strings.Contains(out, "/nowhere/ca.pem") {
			t.Errorf("%d: %s", exit, out)
		}
	})
}

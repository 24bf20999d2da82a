//go:build unix

package main

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// visitor asks the server as a program of this machine could.
type visitor struct {
	t      *testing.T
	u      *url.URL
	client *http.Client
	cookie string
}

func visit(t *testing.T, u *url.URL) *visitor {
	v := &visitor{t: t, u: u, client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
	code, _, h := v.ask("GET", u.RequestURI(), "", nil)
	v.cookie, _, _ = strings.Cut(h.Get("Set-Cookie"), ";")
	if code != 200 || v.cookie == "" {
		t.Fatalf("the first address answers %d and gives the cookie %q", code, v.cookie)
	}
	if set := h.Get("Set-Cookie"); !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") ||
		strings.Contains(set, "Domain") {
		t.Errorf("the cookie is %q", set)
	}
	return v
}

// ask sends a request to the port of the server, whatever its headers say.
func (v *visitor) ask(method, path, body string, headers map[string]string) (int, string, http.Header) {
	v.t.Helper()
	r, err := http.NewRequest(method, "http://"+net.JoinHostPort("127.0.0.1", v.u.Port())+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Host = v.u.Host
	for k, val := range headers {
		switch {
		case k == "Host":
			r.Host = val
		case val != "":
			r.Header.Set(k, val)
		}
	}
	res, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(text), res.Header
}

// TestWebLetsNobodyElseIn asks as web pages, other programs and guessers would: under other
// names of the machine, from other origins, without the cookie, with wrong ones. Whatever
// they ask for, they learn nothing of a session and change nothing.
func TestWebLetsNobodyElseIn(t *testing.T) {
	v := newVictim(t)
	v.did("say the password hunter2", call("write_file", map[string]any{"path": "a.txt", "content": "hunter2\n"}), ends("ok"))
	u := v.web("--control")
	in := visit(t, u)
	form := "application/x-www-form-urlencoded"
	own := map[string]string{"Cookie": in.cookie, "Origin": "http://" + u.Host, "Content-Type": form}
	changed := func(k, val string) map[string]string {
		h := map[string]string{}
		for a, b := range own {
			h[a] = b
		}
		h[k] = val
		return h
	}
	token := u.Query().Get("token")
	bad := map[string]map[string]string{
		"no cookie":                 changed("Cookie", ""),
		"wrong cookie":              changed("Cookie", "kerf_web="+strings.Repeat("0", 64)),
		"token as cookie":           changed("Cookie", "kerf_web="+token),
		"two cookies":               changed("Cookie", "kerf_web=x; "+in.cookie),
		"two cookies, ours first":   changed("Cookie", in.cookie+"; kerf_web=x"),
		"localhost":                 changed("Host", "localhost:"+u.Port()),
		"127.0.0.1":                 changed("Host", "127.0.0.1:"+u.Port()),
		"a name that rebinds":       changed("Host", "evil.example:"+u.Port()),
		"the name without the port": changed("Host", u.Hostname()),
		"another port":              changed("Host", u.Hostname()+":1"),
		"a name below":              changed("Host", "x."+u.Host),
		"the name with a dot":       changed("Host", u.Hostname()+".:"+u.Port()),
		"another origin":            changed("Origin", "http://evil.example"),
		"another port's origin":     changed("Origin", "http://"+u.Hostname()+":1"),
		"https":                     changed("Origin", "https://"+u.Host),
		"null":                      changed("Origin", "null"),
		"another site":              changed("Sec-Fetch-Site", "cross-site"),
		"same site":                 changed("Sec-Fetch-Site", "same-site"),
	}
	sid := v.sessionIDs()[0]
	for what, headers := range bad {
		for _, path := range []string{"/", "/sessions/" + sid, "/changes", "/undo", "/blame?path=a.txt", "/now", "/usage",
			"/assets/app.js", "/assets/live.js", "/nowhere", "/now/" + sid + "/events", "/now/events", "/now/events/x/1?session=" + sid,
			"/sessions/" + sid + "/page.html"} {
			if code, text, _ := in.ask("GET", path, "", headers); code < 400 || strings.Contains(text, "hunter2") || strings.Contains(text, sid) {
				t.Errorf("%s: GET %s answers %d: %.80s", what, path, code, text)
			}
		}
		for _, path := range []string{"/undo", "/now/" + sid + "/steer", "/now/" + sid + "/interrupt", "/now/" + sid + "/answer"} {
			if code, text, _ := in.ask("POST", path, "text=x&redo=", headers); code != 401 && code != 403 && code != 421 {
				t.Errorf("%s: POST %s answers %d: %.80s", what, path, code, text)
			}
		}
	}
	for _, origin := range []string{"", "null"} { // what changes something must name its origin
		if code, _, _ := in.ask("POST", "/undo", "", changed("Origin", origin)); code != 403 {
			t.Errorf("POST with the origin %q answers %d", origin, code)
		}
	}
	for _, guess := range []string{"", "?token=", "?token=" + token[:63], "?token=" + token + "0", "?token=" + strings.ToUpper(token) + "x",
		"?token[]=" + token, "?Token=" + token} {
		if code, _, h := in.ask("GET", "/enter"+guess, "", nil); code != 401 || h.Get("Set-Cookie") != "" {
			t.Errorf("/enter%s answers %d", guess, code)
		}
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		if code, _, h := in.ask(method, "/", "", own); code != 405 || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s answers %d", method, code)
		}
	}
	code, _, h := in.ask("GET", "/", "", map[string]string{"Cookie": in.cookie})
	if code != 200 || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("with the cookie: %d %v", code, h)
	}
	if got := v.read("a.txt"); got != "hunter2\n" {
		t.Errorf("the file is %q", got)
	}
}

// TestWebOnlyReads asks for changes where the pages may only read.
func TestWebOnlyReads(t *testing.T) {
	v := newVictim(t)
	v.did("write a file", call("write_file", map[string]any{"path": "a.txt", "content": "one\n"}), ends("ok"))
	u := v.web()
	in := visit(t, u)
	headers := map[string]string{"Cookie": in.cookie, "Origin": "http://" + u.Host, "Content-Type": "application/x-www-form-urlencoded"}
	for _, path := range []string{"/undo", "/now/x/steer", "/now/x/interrupt", "/now/x/answer", "/", "/changes/1",
		"/now/events/x/1", "/assets/app.js", "/nowhere"} {
		if code, text, _ := in.ask("POST", path, "entry=1&text=x", headers); code != 403 || !strings.Contains(text, "--control") {
			t.Errorf("POST %s answers %d", path, code)
		}
	}
	if got := v.read("a.txt"); got != "one\n" {
		t.Errorf("the file is %q", got)
	}
}

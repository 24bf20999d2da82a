//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/browser"
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
	tasks := []map[string]any{{"id": "t", "phase": "asking", "questions": []map[string]any{{"id": "q", "text": "hunter2"}}}}
	u := v.web("--control", "--fleet", aFleet(t, tasks, func(text string) string { t.Errorf("a task was told %s", text); return "" }))
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
		"upper case":                changed("Host", strings.ToUpper(u.Host)),
		"localhost with a dot":      changed("Host", "localhost.:"+u.Port()),
		"the loopback of IPv6":      changed("Host", "[::1]:"+u.Port()),
		"IPv4 in IPv6":              changed("Host", "[::ffff:127.0.0.1]:"+u.Port()),
		"all addresses":             changed("Host", "0.0.0.0:"+u.Port()),
		"a short address":           changed("Host", "127.1:"+u.Port()),
		"a number":                  changed("Host", "2130706433:"+u.Port()),
		"a name that goes on":       changed("Host", u.Hostname()+".evil.example:"+u.Port()),
		"another origin":            changed("Origin", "http://evil.example"),
		"an origin in upper case":   changed("Origin", "HTTP://"+strings.ToUpper(u.Host)),
		"an origin with a path":     changed("Origin", "http://"+u.Host+"/"),
		"an origin with a user":     changed("Origin", "http://"+u.Host+"@evil.example"),
		"another port's origin":     changed("Origin", "http://"+u.Hostname()+":1"),
		"https":                     changed("Origin", "https://"+u.Host),
		"null":                      changed("Origin", "null"),
		"another site":              changed("Sec-Fetch-Site", "cross-site"),
		"same site":                 changed("Sec-Fetch-Site", "same-site"),
	}
	sid := v.sessionIDs()[0]
	for what, headers := range bad {
		for _, path := range []string{"/", "/sessions/" + sid, "/changes", "/undo", "/blame?path=a.txt", "/now", "/usage",
			"/assets/app.js", "/assets/live.js", "/nowhere", "/now/" + sid + "/events", "/now/events", "/now/events/x/1?session=" + sid, "/fleet",
			"/sessions/" + sid + "/page.html"} {
			if code, text, _ := in.ask("GET", path, "", headers); code < 400 || strings.Contains(text, "hunter2") || strings.Contains(text, sid) {
				t.Errorf("%s: GET %s answers %d: %.80s", what, path, code, text)
			}
		}
		for _, path := range []string{"/undo", "/now/" + sid + "/steer", "/now/" + sid + "/interrupt", "/now/" + sid + "/answer", "/fleet"} {
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
	for what, more := range map[string][2]string{"a method in a header": {"X-HTTP-Method-Override", "POST"},
		"another method": {"X-Method-Override", "POST"}, "a socket": {"Upgrade", "websocket"}} {
		headers := changed(more[0], more[1])
		headers["Connection"] = "Upgrade"
		for _, path := range []string{"/undo?_method=POST&entry=1", "/now/" + sid + "/steer?_method=POST&text=x", "/now/" + sid + "/answer"} {
			if code, text, _ := in.ask("GET", path, "", headers); code == 101 || strings.Contains(text, "was undone") {
				t.Errorf("%s: GET %s answers %d: %.80s", what, path, code, text)
			}
		}
	}
	for _, path := range []string{"/", "/sessions/" + sid, "/changes", "/changes/1", "/undo", "/blame?path=a.txt", "/now", "/usage", "/search?q=x",
		"/nowhere", "/sessions/" + sid + "/page.html", "/enter?token=" + token, "/enter"} {
		_, _, h := in.ask("GET", path, "", own)
		if h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "same-origin" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
			h.Get("Access-Control-Allow-Origin") != "" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s: %v", path, h)
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
	u := v.web("--fleet", aFleet(t, []any{}, func(text string) string { t.Errorf("a task was told %s", text); return "" }))
	in := visit(t, u)
	headers := map[string]string{"Cookie": in.cookie, "Origin": "http://" + u.Host, "Content-Type": "application/x-www-form-urlencoded"}
	for _, path := range []string{"/undo", "/now/x/steer", "/now/x/interrupt", "/now/x/answer", "/fleet", "/", "/changes/1",
		"/now/events/x/1", "/assets/app.js", "/nowhere"} {
		if code, text, _ := in.ask("POST", path, "entry=1&text=x", headers); code != 403 || !strings.Contains(text, "--control") {
			t.Errorf("POST %s answers %d", path, code)
		}
	}
	if got := v.read("a.txt"); got != "one\n" {
		t.Errorf("the file is %q", got)
	}
}

// TestWebKnowsNoWayOut asks for files outside of what is shown, on every route that has a name or a path
// in it, in all ways in which a path can be written.
func TestWebKnowsNoWayOut(t *testing.T) {
	v := newVictim(t)
	v.did("write a file", call("write_file", map[string]any{"path": "a.txt", "content": "one\n"}), ends("ok"))
	secret := v.write(filepath.Join(v.base, "secret.txt"), "hunter2\n")
	inside := v.write(filepath.Join(v.own, "inside.txt"), "hunter2\n")
	if err := os.Symlink(secret, filepath.Join(v.repo, "link.txt")); err != nil {
		t.Fatal(err)
	}
	u := v.web("--control")
	in := visit(t, u)
	headers := map[string]string{"Cookie": in.cookie, "Origin": "http://" + u.Host}
	id, root := v.sessionIDs()[0], "root="+url.QueryEscape(v.repo)
	asked := 0
	for _, to := range []string{secret, inside, "../secret.txt", "link.txt", "/etc/passwd"} {
		up := strings.Repeat("../", 12) + strings.TrimPrefix(to, "/")
		for _, name := range []string{to, up, "src/" + up, v.repo + "/../secret.txt", strings.ReplaceAll(up, "/", "\\"), to + "\x00.txt", "./" + to, "file://" + to} {
			q, p := url.QueryEscape(name), url.PathEscape(name)
			dots := strings.ReplaceAll(p, "..", "%2e%2e")
			for _, path := range []string{"/assets/" + p, "/assets/" + dots, "/assets/" + name, "/sessions/" + p, "/sessions/" + p + "/page.html",
				"/sessions/" + dots + "/time", "/sessions/" + id + "/items/" + p, "/sessions/" + id + "/items/" + p + "?turn=" + q,
				"/sessions/" + id + "/time?at=1&path=" + q, "/sessions/" + id + "/time?dir=" + q, "/sessions/" + id + "/diff?turn=" + q,
				"/blame?" + root + "&path=" + q, "/blame?root=" + q + "&path=" + q, "/changes?root=" + q, "/changes?" + root + "&path=" + q, "/changes/1?root=" + q,
				"/changes/" + p, "/undo?root=" + q, "/undo?" + root + "&path=" + q, "/now/" + p, "/now/" + p + "/events", "/damage?root=" + q} {
				asked++
				code, text, _ := in.ask("GET", strings.ReplaceAll(strings.ReplaceAll(path, "\x00", "%00"), " ", "%20"), "", headers)
				if strings.Contains(text, "hunter2") || strings.Contains(text, "root:x:0") || code >= 500 && !strings.Contains(text, "outside") && code != 500 {
					t.Errorf("%s answers %d: %.200s", path, code, text)
				}
			}
		}
	}
	if asked < 800 {
		t.Errorf("only %d requests", asked)
	}
}

// TestWebIsReadByNoOtherPage lets a page of another origin, in a browser that is let in, load pages and
// events in all ways that pages have; it learns nothing. A link of the model that leads there tells it
// nothing, either.
func TestWebIsReadByNoOtherPage(t *testing.T) {
	v := newVictim(t)
	came := make(chan string, 8)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/linked" {
			came <- r.Header.Get("Referer") + r.Header.Get("Cookie")
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><title>other</title><p>other")
	}))
	defer other.Close()
	v.did("say the password hunter2", ends("look [here]("+other.URL+"/linked)"))
	u := v.web("--control")
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	id := v.sessionIDs()[0]
	p.Go(at(u, "/sessions/"+id))
	p.Wait(ready + `document.querySelector(".agent a")`)
	browser.Eval[bool](p, `(document.querySelector(".agent a").removeAttribute("target"), document.querySelector(".agent a").click(), true)`)
	p.Wait(`document.title == "other"`)
	select {
	case told := <-came:
		if told != "" {
			t.Errorf("who is linked to is told %q", told)
		}
	case <-time.After(runLimit):
		t.Error("the link leads nowhere")
	}
	for _, path := range []string{"/", "/sessions/" + id, "/now/events", "/assets/app.js", "/sessions/" + id + "/page.html"} {
		learned := browser.Eval[string](p, fmt.Sprintf(`(async () => {
			const url = %q, learned = [];
			const soon = (p) => Promise.race([p, new Promise(r => setTimeout(r, 1500, "late"))]);
			for (const o of [{}, {credentials: "include"}, {mode: "no-cors", credentials: "include"}])
				await soon(fetch(url, o).then(async r => { const t = await r.text(); if (t) learned.push("fetch " + t.slice(0, 40)); }).catch(() => {}));
			await soon(fetch(url, {method: "POST", mode: "no-cors", credentials: "include", body: "x"}).then(r => learned.push("post " + r.type)).catch(() => {}));
			for (const tag of ["img", "script", "iframe", "object"]) {
				const e = document.createElement(tag);
				e.src = e.data = url;
				const got = soon(new Promise(r => { e.onload = () => r("loaded"); e.onerror = () => r("failed"); }));
				document.body.append(e);
				let inside = "";
				if (await got == "loaded" && (tag == "img" || tag == "script")) learned.push(tag);
				try { inside = e.contentDocument?.body?.textContent || ""; } catch {}
				if (inside.includes("hunter2")) learned.push(tag + " " + inside.slice(0, 40));
				e.remove();
			}
			const s = new EventSource(url, {withCredentials: true});
			await soon(new Promise(r => { s.onopen = () => { learned.push("events"); r(); }; s.onerror = r; }));
			s.close();
			const w = await soon(new Promise(r => { try { const w = new WebSocket(url.replace("http", "ws")); w.onopen = () => r("open"); w.onerror = () => r(""); } catch { r(""); } }));
			if (w == "open") learned.push("socket");
			return learned.join("; ");
		})()`, at(u, path)))
		if learned != "" && learned != "post opaque" { // it learns that there is an answer
			t.Errorf("%s: another page learns %q", path, learned)
		}
	}
}

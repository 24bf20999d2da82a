package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// world is a proxy before a server that stands for every host.
type world struct {
	proxy  *Proxy
	listen net.Listener
	mu     sync.Mutex
	dialed []string
	log    []string
}

func newWorld(t *testing.T, o Options, names map[string][]string) *world {
	t.Helper()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "reached %s", r.Host)
	}))
	t.Cleanup(backend.Close)
	w := &world{}
	o.Log = func(line string) { w.mu.Lock(); defer w.mu.Unlock(); w.log = append(w.log, line) }
	o.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		answers := names[host]
		if len(answers) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		first := answers[0]
		if len(answers) > 1 { // the next question gets the next answer
			names[host] = answers[1:]
		}
		return []netip.Addr{netip.MustParseAddr(first)}, nil
	}
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = append(w.dialed, address)
		w.mu.Unlock()
		return (&net.Dialer{}).DialContext(ctx, network, backend.Listener.Addr().String())
	}
	var err error
	if w.proxy, err = New(o); err != nil {
		t.Fatal(err)
	}
	if w.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.proxy.Serve(w.listen); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { w.proxy.Close(); wg.Wait() })
	return w
}

// send writes a raw request and returns the status and the body.
func (w *world) send(t *testing.T, request string) (int, string) {
	t.Helper()
	c, err := net.Dial("tcp", w.listen.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, request)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	if strings.HasPrefix(request, "CONNECT") && resp.StatusCode == 200 {
		return 200, ""
	}
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func get(url string) string { return "GET " + url + " HTTP/1.1\r\nHost: ok.test\r\n\r\n" }
func connect(to string) string {
	return "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n"
}

func TestSEC_N6_OnlyWhatIsListed(t *testing.T) {
	names := map[string][]string{
		"ok.test": {"93.184.216.34"}, "sub.wild.test": {"93.184.216.35"}, "wild.test": {"93.184.216.36"}, "other.test": {"93.184.216.37"}, "port.test": {"93.184.216.38"},
		"inner.test": {"10.0.0.7"}, "meta.test": {"169.254.169.254"}, "mapped.test": {"::ffff:127.0.0.1"}, "nat64.test": {"64:ff9b::7f00:1"}, "compatible.test": {"::7f00:1"}, "wire.test": {"168.63.129.16"}, "metadata6.test": {"fd00:ec2::254"},
		"both.test": {"93.184.216.40"}, "sub.both.test": {"93.184.216.41"}, "notboth.test": {"93.184.216.42"}, "denied.wild.test": {"93.184.216.39"}, "localhost": {"127.0.0.1"},
	}
	domains := map[string]string{"ok.test": "allow", "*.wild.test": "allow", "denied.wild.test": "deny",
		"port.test:8080": "allow", "inner.test": "allow", "meta.test": "allow", "mapped.test": "allow",
		"nat64.test": "allow", "compatible.test": "allow", "wire.test": "allow", "metadata6.test": "allow", "**.both.test": "allow", "10.1.0.0/16": "allow"}
	for _, c := range []struct {
		request string
		dialed  string // empty: blocked
	}{
		{get("http://ok.test/"), "93.184.216.34:80"},
		{get("http://ok.test:80/"), "93.184.216.34:80"},
		{connect("ok.test:443"), "93.184.216.34:443"},
		{connect("sub.wild.test:443"), "93.184.216.35:443"},
		{connect("port.test:8080"), "93.184.216.38:8080"},
		{connect("10.1.2.3:443"), "10.1.2.3:443"},
		{connect("port.test:443"), ""},
		{connect("ok.test:22"), ""},
		{get("http://ok.test:8080/"), ""},
		{connect("wild.test:443"), ""},
		{connect("denied.wild.test:443"), ""},
		{connect("other.test:443"), ""},
		{connect("93.184.216.34:443"), ""},
		{connect("127.0.0.1:443"), ""},
		{connect("localhost:443"), ""},
		{connect("[::1]:443"), ""},
		{connect("10.2.0.1:443"), ""},
		{get("http://169.254.169.254/latest"), ""},
		{connect("inner.test:443"), ""},
		{connect("meta.test:443"), ""},
		{connect("mapped.test:443"), ""},
		{connect("nat64.test:443"), ""},
		{connect("compatible.test:443"), ""},
		{connect("wire.test:443"), ""},
		{connect("metadata6.test:443"), ""},
		{connect("[::ffff:169.254.169.254]:443"), ""},
		{connect("both.test:443"), "93.184.216.40:443"},
		{connect("sub.both.test.:443"), "93.184.216.41:443"},
		{connect("notboth.test:443"), ""},
		{get("http://other.test/"), ""}, // whatever the Host header says
		{get("/"), ""},
		{get("https://ok.test/"), ""},
		{get("ftp://ok.test/"), ""},
		{get("http://user:pw@ok.test/"), ""},
	} {
		w := newWorld(t, Options{Domains: domains}, names)
		status, body := w.send(t, c.request)
		got := strings.Join(w.dialed, " ")
		if got != c.dialed || (status == 200) != (c.dialed != "") {
			t.Errorf("%q: status %d, dialed %q, want %q: %s", c.request, status, got, c.dialed, body)
		}
		if c.dialed == "" && len(w.log) != 1 {
			t.Errorf("%q: %d lines in the log: %q", c.request, len(w.log), w.log)
		}
	}
}

// N7: what is judged is what is connected to, however it is spelled.
func TestSEC_N7_HostsAreJudgedAsParsed(t *testing.T) {
	names := map[string][]string{"ok.test": {"93.184.216.34"}}
	for host, want := range map[string]bool{
		"ok.test": true, "OK.TeSt": true, "ok.test.": true,
		"evil\x00.ok.test": false, "ok.test\x00.evil": false, "ok.test..": false, "ok%2etest": false, "ok.test%00": false,
		"\u043ek.test": false, "o\u212a.test": false, "ok.test.evil": false,
		"evil#ok.test": false, "evil@ok.test": false, "evil?ok.test": false, "evil\\ok.test": false,
		"[fe80::1%25eth0]": false, "[::ffff:7f00:1]": false, "2130706433": false, "0x7f000001": false,
		"0177.0.0.1": false, "127.1": false, "127.0.0.1": false, "[::]": false, "0": false, " ok.test": false,
		"-ok.test": false, "ok.test/": false, "": false, ".ok.test": false, "*.test": false, "*": false,
	} {
		w := newWorld(t, Options{Domains: map[string]string{"ok.test": "allow"}}, names)
		status, body := w.send(t, connect(host+":443"))
		if (status == 200) != want || want != (len(w.dialed) == 1 && w.dialed[0] == "93.184.216.34:443") {
			t.Errorf("%q: status %d, dialed %q: %s", host, status, w.dialed, body)
		}
	}
}

func TestSEC_N6_AHostIsResolvedOnce(t *testing.T) {
	w := newWorld(t, Options{Domains: map[string]string{"ok.test": "allow"}},
		map[string][]string{"ok.test": {"93.184.216.34", "127.0.0.1"}})
	w.send(t, connect("ok.test:443"))
	if strings.Join(w.dialed, " ") != "93.184.216.34:443" {
		t.Errorf("the first request reached %q", w.dialed)
	}
	if status, _ := w.send(t, connect("ok.test:443")); status == 200 || len(w.dialed) != 1 {
		t.Errorf("after the name was bound again: %d %q", status, w.dialed)
	}
}

func TestSEC_N6_RedirectsAreJudgedAgain(t *testing.T) {
	w := newWorld(t, Options{Domains: map[string]string{"ok.test": "allow"}},
		map[string][]string{"ok.test": {"93.184.216.34"}})
	client := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL,
		error) {
		return url.Parse("http://" + w.listen.Addr().String())
	}}}
	resp, err := client.Get("http://ok.test/redirect")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden || len(w.dialed) != 1 || len(w.log) != 1 {
		t.Errorf("status %d, dialed %q, log %q", resp.StatusCode, w.dialed, w.log)
	}
}

func TestAskIsCalledOnce(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	ask := func(host string, port int) bool {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, fmt.Sprintf("%s:%d", host, port))
		return host == "new.test"
	}
	names := map[string][]string{"new.test": {"93.184.216.34"}, "no.test": {"93.184.216.35"}, "private.test": {"10.0.0.1"}}
	w := newWorld(t, Options{Ask: ask, Domains: map[string]string{"denied.test": "deny"}}, names)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if status, _ := w.send(t, connect("new.test:8443")); status != 200 {
				t.Errorf("new.test: %d", status)
			}
			if status, _ := w.send(t, connect("no.test:443")); status != 403 {
				t.Errorf("no.test: %d", status)
			}
		})
	}
	wg.Wait()
	if status, _ := w.send(t, connect("denied.test:443")); status != 403 {
		t.Error("denied.test was asked for")
	}
	if len(asked) != 2 {
		t.Errorf("asked %q", asked)
	}
}

func TestBadPatterns(t *testing.T) {
	for pattern, word := range map[string]string{"ok.test": "maybe", "o k": "allow", "*.10.0.0.1": "allow",
		"ok.test:0": "allow", "ok.test:http": "allow", "a*b.test": "allow", "": "allow"} {
		if _, err := New(Options{Domains: map[string]string{pattern: word}}); err == nil {
			t.Errorf("%q = %q is accepted", pattern, word)
		}
	}
}

// The mode limited lets requests through that ask for something, and what nobody can look
// into; the list stays what it is.
func TestSEC_N6_LimitedOnlyAsks(t *testing.T) {
	names := map[string][]string{"ok.test": {"93.184.216.34"}, "other.test": {"93.184.216.37"}}
	request := func(method string) string {
		return method + " http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 1\r\n\r\nx"
	}
	for _, c := range []struct {
		domains map[string]string
		request string
		limited bool
		open    bool
	}{
		{nil, get("http://ok.test/"), true, false},
		{nil, connect("ok.test:443"), true, false},
		{map[string]string{"ok.test": "allow"}, request("GET"), true, true},
		{map[string]string{"ok.test": "allow"}, request("OPTIONS"), true, true},
		{map[string]string{"ok.test": "allow"}, connect("ok.test:443"), true, true},
		{map[string]string{"ok.test": "allow"}, connect("other.test:443"), true, false},
		{map[string]string{"ok.test": "allow"}, request("POST"), true, false},
		{map[string]string{"ok.test": "allow"}, request("PUT"), true, false},
		{map[string]string{"ok.test": "allow"}, request("DELETE"), true, false},
		{map[string]string{"ok.test": "allow"}, request("get"), true, false},
		{map[string]string{"ok.test": "allow"}, request("POST"), false, true},
	} {
		w := newWorld(t, Options{Domains: c.domains, Limited: c.limited}, names)
		status, body := w.send(t, c.request)
		if (status == 200) != c.open || (len(w.dialed) > 0) != c.open {
			t.Errorf("%q, limited %v: %d %s, dialed %q", c.request, c.limited, status, body, w.dialed)
		}
	}
}

// echo is what a server was asked.
type echo struct {
	mu     sync.Mutex
	host   string
	header http.Header
	body   string
}

// TestSEC_N6_WhatIsPassedOn: a request is passed on with the host that was judged, whatever its header says, and
// without what concerns one connection only; so is the answer. Limited passes no body on.
func TestSEC_N6_WhatIsPassedOn(t *testing.T) {
	for _, limited := range []bool{false, true} {
		var seen echo
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen.mu.Lock()
			defer seen.mu.Unlock()
			body, _ := io.ReadAll(r.Body)
			seen.host, seen.header, seen.body = r.Host, r.Header.Clone(), string(body)
			w.Header().Set("Keep-Alive", "timeout=9")
			w.Header().Set("Proxy-Authenticate", "Basic")
			w.Header().Set("X-Kept", "yes")
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "answer")
		}))
		defer backend.Close()
		w := newWorld(t, Options{Domains: map[string]string{"ok.test": "allow"}, Limited: limited},
			map[string][]string{"ok.test": {"93.184.216.34"}})
		w.proxy.o.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, backend.Listener.Addr().String())
		}
		c, err := net.Dial("tcp", w.listen.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "GET http://ok.test/ HTTP/1.1\r\nHost: other.test\r\nX-Kept: yes\r\nProxy-Authorization: Basic c2VjcmV0\r\n"+
			"Proxy-Connection: keep-alive\r\nKeep-Alive: 9\r\nTe: trailers\r\nUpgrade: x\r\nContent-Length: 4\r\n\r\nbody")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		seen.mu.Lock()
		defer seen.mu.Unlock()
		want := map[bool]string{false: "body", true: ""}[limited]
		if seen.host != "ok.test" || seen.body != want || seen.header.Get("X-Kept") != "yes" {
			t.Errorf("limited %v: asked of %q, body %q, header %v", limited, seen.host, seen.body, seen.header)
		}
		if string(body) != "answer" || resp.StatusCode != http.StatusTeapot || resp.Header.Get("X-Kept") != "yes" {
			t.Errorf("limited %v: answered %d %q %v", limited, resp.StatusCode, body, resp.Header)
		}
		for _, name := range hop {
			if v := seen.header.Get(name); v != "" && name != "Connection" { // the proxy closes its own
				t.Errorf("limited %v: %s: %s was passed on", limited, name, v)
			}
			if v := resp.Header.Get(name); v != "" && name != "Connection" {
				t.Errorf("limited %v: %s: %s was passed back", limited, name, v)
			}
		}
	}
}

// TestATunnelIsOpenBothWaysUntilEachEnds: bytes go both ways at once, also those that were sent with the
// request; when one side has said all, the other may go on; and Close ends it.
func TestATunnelIsOpenBothWaysUntilEachEnds(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	w := newWorld(t, Options{Domains: map[string]string{"ok.test": "allow"}}, map[string][]string{"ok.test": {"93.184.216.34"}})
	w.proxy.o.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Addr().String())
	}
	open := func(early string) (client, there net.Conn, from *bufio.Reader) {
		t.Helper()
		client, err := net.Dial("tcp", w.listen.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		io.WriteString(client, connect("ok.test:443")+early)
		if there, err = server.Accept(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { there.Close() })
		from = bufio.NewReader(client)
		if line, err := from.ReadString('\n'); err != nil || line != "HTTP/1.1 200 Connection established\r\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if line, err := from.ReadString('\n'); err != nil || line != "\r\n" {
			t.Fatalf("%q, %v", line, err)
		}
		return client, there, from
	}
	exact := func(r io.Reader, want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
	client, there, from := open("early")
	exact(there, "early")
	io.WriteString(there, "answer")
	exact(from, "answer")
	io.WriteString(client, "more")
	exact(there, "more")
	client.(*net.TCPConn).CloseWrite()
	if n, err := there.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("the end of what the client says: %d, %v", n, err)
	}
	io.WriteString(there, "the rest")
	exact(from, "the rest")
	there.Close()
	if n, err := from.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("the end of what the server says: %d, %v", n, err)
	}
	_, there, from = open("")
	for tracked := 0; tracked != 2; { // the two of the open one, when the other one is over
		w.proxy.mu.Lock()
		tracked = len(w.proxy.tunnels)
		w.proxy.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	w.proxy.Close()
	if n, err := there.Read(make([]byte, 1)); err == nil {
		t.Errorf("the server can still read: %d", n)
	}
	if n, err := from.Read(make([]byte, 1)); err == nil {
		t.Errorf("the client can still read: %d", n)
	}
	if w.proxy.track(there) {
		t.Error("a tunnel begins after the end")
	}
}

// TestAnAnswerIsPassedOnAsItComes: the client has the beginning before the server says the rest.
func TestAnAnswerIsPassedOnAsItComes(t *testing.T) {
	rest := make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		<-rest
		io.WriteString(w, " rest")
	}))
	defer backend.Close()
	w := newWorld(t, Options{Domains: map[string]string{"ok.test": "allow"}}, map[string][]string{"ok.test": {"93.184.216.34"}})
	w.proxy.o.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, backend.Listener.Addr().String())
	}
	c, err := net.Dial("tcp", w.listen.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	limit := time.AfterFunc(time.Minute, func() { c.Close() }) // it would wait for ever
	defer limit.Stop()
	io.WriteString(c, get("http://ok.test/"))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		close(rest)
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 5)
	_, err = io.ReadFull(resp.Body, first)
	close(rest)
	if err != nil || string(first) != "first" {
		t.Errorf("%q, %v", first, err)
	}
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != " rest" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestAHostThatCannotBeReachedIsTold: the command sees that its sandbox let it through and the host did not
// answer.
func TestAHostThatCannotBeReachedIsTold(t *testing.T) {
	w := newWorld(t, Options{Domains: map[string]string{"ok.test": "allow"}}, map[string][]string{"ok.test": {"93.184.216.34"}})
	w.proxy.o.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route") }
	for _, request := range []string{get("http://ok.test/"), connect("ok.test:443")} {
		if status, body := w.send(t, request); status != http.StatusBadGateway || !strings.Contains(body, "no route") {
			t.Errorf("%q: %d %s", request, status, body)
		}
	}
	if len(w.log) != 0 {
		t.Errorf("said to be blocked: %q", w.log)
	}
}

// TestWhoGoesIsNotWaitedFor: a question whose request is gone is not answered to it, and the answer counts for the
// next one.
func TestWhoGoesIsNotWaitedFor(t *testing.T) {
	answer, asked := make(chan bool), make(chan struct{}, 8)
	p, err := New(Options{Ask: func(string, int) bool { asked <- struct{}{}; return <-answer }})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { // who asks waits for the person
		if !p.ask(t.Context(), "new.test", 443) {
			t.Error("the answer was yes")
		}
	})
	<-asked
	gone, leave := context.WithCancel(t.Context())
	leave()
	if p.ask(gone, "new.test", 443) {
		t.Error("yes, before anybody answered")
	}
	answer <- true
	wg.Wait()
	if !p.ask(t.Context(), "new.test", 443) || len(asked) != 0 {
		t.Errorf("the answer is forgotten, or asked for again: %d", len(asked))
	}
}

// TestTheEndIsPassedOn also to what cannot be closed by halves.
func TestTheEndIsPassedOn(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	var wg sync.WaitGroup
	wg.Go(func() { pass(here, strings.NewReader("all")) })
	if text, err := io.ReadAll(there); err != nil || string(text) != "all" {
		t.Errorf("%q, %v", text, err)
	}
	wg.Wait()
}

// TestPortsAreNumbersAsTheyAreWritten: from 1 to 65535, without signs and zeros before them.
func TestPortsAreNumbersAsTheyAreWritten(t *testing.T) {
	for port, want := range map[string]int{"1": 1, "443": 443, "65535": 65535, "0": 0, "65536": 0, "-1": 0, "+1": 0, "080": 0, "http": 0, "": 0} {
		r := &http.Request{Method: http.MethodConnect, RequestURI: "ok.test:" + port, URL: &url.URL{}}
		host, got, err := targetOf(r)
		if got != want && err == nil || (err == nil) != (want != 0) || err == nil && host != "ok.test" {
			t.Errorf("%q: %s, %d, %v", port, host, got, err)
		}
	}
}

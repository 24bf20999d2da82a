package proxy

import (
	"bufio"
	"context"
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

package sandbox

import (
	"fmt"

	"kerf/internal/work/boundary"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// proxied is a site whose commands reach one server of the machine through the
// filter, and nothing else.
func proxied(t *testing.T) (*site, *httptest.Server, func() []string) {
	s := newSite(t)
	s.policy.Backend = boundary.OwnLauncher
	if _, err := (machine{}).find(t.Context(), boundary.OwnLauncher, "", nil); err != nil {
		t.Skip(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprintf(w, "reached %s", r.Host)
	}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	var mu sync.Mutex
	var log []string
	s.policy.Network = true
	s.policy.Domains = map[string]string{"127.0.0.1:" + port: "allow"}
	s.policy.Log = func(line string) { mu.Lock(); defer mu.Unlock(); log = append(log, line) }
	return s, server, func() []string { mu.Lock(); defer mu.Unlock(); return log }
}

func TestSEC_N6_TheFilterIsTheOnlyWayOut(t *testing.T) {
	s, server, log := proxied(t)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	through := "curl -sS --noproxy '' http://127.0.0.1:" + port + "/"
	if text, code := s.inside(through); code != 0 || text != "reached 127.0.0.1:"+port {
		t.Errorf("through the filter: %d %s", code, text)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	_, otherPort, _ := net.SplitHostPort(other.Listener.Addr().String())
	for name, script := range map[string]string{
		"directly": "exec 3<>/dev/tcp/127.0.0.1/" + port, "another port": "curl -sSf --noproxy '' http://127.0.0.1:" +
			otherPort + "/",
		"metadata": "curl -sSf http://169.254.169.254/", "connect": "curl -sSf --noproxy '' -p http://127.0.0.1:" +
			otherPort + "/",
		"a packet": "exec 3<>/dev/udp/8.8.8.8/53 && echo x >&3",
	} {
		if text, code := s.inside(script); code == 0 {
			t.Errorf("%s: got out: %s", name, text)
		}
	}
	if got := log(); len(got) != 3 {
		t.Errorf("%d lines: %q", len(got), got)
	}
	if text, code := s.outside("exec 3<>/dev/tcp/127.0.0.1/" + port); code != 0 {
		t.Errorf("control: %s", text)
	}
}

func TestSEC_N5_TheFilterAsks(t *testing.T) {
	s, server, _ := proxied(t)
	s.policy.Domains = map[string]string{"listed.test": "allow"}
	var asked []string
	s.policy.Ask = func(host string, port int) bool { asked = append(asked, host); return false }
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	text, _ := s.inside("for i in 1 2; do curl -s -o /dev/null -w '%{http_code} ' --noproxy '' http://127.0.0.1:" +
		port + "/; done")
	if text != "403 403 " || strings.Join(asked, " ") != "127.0.0.1" {
		t.Errorf("got %q, asked %q", text, asked)
	}
}

// A filter for bubblewrap would need a second process inside; it is refused.
func TestTheFilterNeedsTheOwnLauncher(t *testing.T) {
	s, _, _ := proxied(t)
	s.policy.Backend = boundary.Bubblewrap
	pl, err := boundary.Resolve(s.policy, boundary.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Wrap(t.Context(), pl, []string{"true"}); err == nil {
		t.Error("it runs without a filter")
	}
}

// Package door decides which requests may see the pages of `kerf web`.
//
// The server listens on the loopback only, under a host name of its own below localhost
// that nobody can guess. Browsers keep cookies by host and not by port: under 127.0.0.1 or
// localhost they would hand the cookie to every other server of this machine.
package door

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Enter is the path at which a token becomes a cookie.
const Enter = "/enter"

// cookie is the name of the cookie.
const cookie = "kerf_web"

// maxBody bounds what a request may send, in bytes.
const maxBody = 1 << 20

// Door lets requests in that carry the cookie, under the right host. It may be used by
// several goroutines.
type Door struct {
	host   string // with the port
	token  string // of the first URL
	secret string // the value of the cookie
}

// New returns the door of a server that listens at addr.
func New(addr net.Addr) (*Door, error) {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil, err
	}
	d := &Door{token: random(), secret: random()}
	d.host = net.JoinHostPort("kerf-"+random()[:16]+".localhost", port)
	return d, nil
}

// random is 256 bits in hexadecimal digits.
func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program first
	return hex.EncodeToString(b[:])
}

// Host is the name under which the server answers, with its port.
func (d *Door) Host() string { return d.host }

// URL is the address that lets a browser in.
func (d *Door) URL() string { return "http://" + d.host + Enter + "?token=" + d.token }

// policy is the Content-Security-Policy of every answer: only what this server sends is
// run, drawn or asked for, and no other page can frame it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Guard lets requests through to next that may see it.
func (d *Door) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Host != d.host:
			refuse(w, http.StatusMisdirectedRequest,
				"This host name is not served here: open the address that kerf web printed.")
		case !d.own(r):
			refuse(w, http.StatusForbidden, "Requests of other pages are not served.")
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
			refuse(w, http.StatusMethodNotAllowed, "Only GET and POST are served.")
		case r.URL.Path == Enter:
			d.enter(w, r)
		case !d.known(r):
			refuse(w, http.StatusUnauthorized, "Open the address that kerf web printed: it lets this browser in.")
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, code int, words string) {
	http.Error(w, words, code)
}

// own reports whether a request comes from a page of this server, or, where it only reads,
// from the user. What changes something must name its origin.
func (d *Door) own(r *http.Request) bool {
	origin, site := r.Header.Values("Origin"), r.Header.Get("Sec-Fetch-Site")
	mine := len(origin) == 1 && origin[0] == "http://"+d.host
	if r.Method == http.MethodPost {
		return mine && (site == "" || site == "same-origin")
	}
	if len(origin) > 0 && !mine {
		return false
	}
	// A page of another site may lead the user here; it may load nothing.
	return site == "" || site == "same-origin" || site == "none" || r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// known reports whether a request carries the cookie.
func (d *Door) known(r *http.Request) bool {
	given := r.CookiesNamed(cookie)
	return len(given) == 1 && same(given[0].Value, d.secret)
}

// same compares in constant time.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// enter exchanges the token for the cookie. The answer is a page that leads on, and not a
// redirect: a browser that came here from elsewhere sends strict cookies only with what
// its own page asks for.
func (d *Door) enter(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !same(r.URL.Query().Get("token"), d.token) {
		refuse(w, http.StatusUnauthorized,
			"This token is wrong, or of an earlier kerf web. Open the address that it printed last.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookie, Value: d.secret, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, strings.TrimSpace(`
<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Kerf</title><link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0;url=/"></head><body><p><a href="/">Go on to Kerf</a></p></body></html>`))
}

package cloud

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Hash is the hash of a body, as signatures hold it.
func Hash(body io.Reader) string {
	h := sha256.New()
	_, _ = io.Copy(h, body) // bodies lie in memory
	return hex.EncodeToString(h.Sum(nil))
}

// Sign signs a request by the fourth version of AWS's signatures: its method, path and query,
// its host, its type and all headers of AWS. Hash is that of the body.
func (k AWSKeys) Sign(req *http.Request, hash, service, region string, now time.Time) {
	now = now.UTC()
	moment, day := now.Format("20060102T150405Z"), now.Format("20060102")
	req.Header.Set("X-Amz-Date", moment)
	if k.Session != "" {
		req.Header.Set("X-Amz-Security-Token", k.Session)
	}
	headers := map[string]string{"host": cmp.Or(req.Host, req.URL.Host)}
	for name, values := range req.Header {
		if name = strings.ToLower(name); name == "content-type" || strings.HasPrefix(name, "x-amz-") {
			headers[name] = joined(values)
		}
	}
	var names []string
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString(req.Method + "\n" + escapeAgain(cmp.Or(req.URL.EscapedPath(), "/")) + "\n" + query(req) + "\n")
	for _, name := range names {
		b.WriteString(name + ":" + headers[name] + "\n")
	}
	signed := strings.Join(names, ";")
	b.WriteString("\n" + signed + "\n" + hash)
	scope := day + "/" + region + "/" + service + "/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + moment + "\n" + scope + "\n" + Hash(strings.NewReader(b.String()))
	key := []byte("AWS4" + k.Secret)
	for _, part := range []string{day, region, service, "aws4_request", text} {
		key = mac(key, part)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+k.ID+"/"+scope+", SignedHeaders="+signed+
		", Signature="+hex.EncodeToString(key))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// joined are the values of a header without the spaces around and amid them.
func joined(values []string) string {
	var all []string
	for _, v := range values {
		all = append(all, strings.Join(strings.Fields(v), " "))
	}
	return strings.Join(all, ",")
}

// escapeAgain escapes a path that is escaped already, as the signature wants it.
func escapeAgain(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c == '/' || plain(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(percent(c))
		}
	}
	return b.String()
}

// query is the query with its parameters in order.
func query(req *http.Request) string {
	var all []string
	for name, values := range req.URL.Query() {
		for _, v := range values {
			all = append(all, escape(name)+"="+escape(v))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "&")
}

func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if plain(s[i]) {
			b.WriteByte(s[i])
		} else {
			b.WriteString(percent(s[i]))
		}
	}
	return b.String()
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func percent(c byte) string { return "%" + strings.ToUpper(hex.EncodeToString([]byte{c})) }

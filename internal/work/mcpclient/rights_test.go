package mcpclient

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/oauth2"
)

// TestFurtherRightsAreNamed: a call that lacks rights where nobody can be asked says which,
// and how they are got; any other refusal is the answer to the call.
func TestFurtherRightsAreNamed(t *testing.T) {
	s := &stored{c: &connection{Server: Server{Name: "wiki"}, m: &Manager{}},
		grant: &Grant{Scopes: []string{"read"}, Token: &oauth2.Token{}}}
	refused := func(challenge string) error {
		r := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
		if challenge != "" {
			r.Header.Set("WWW-Authenticate", challenge)
		}
		return s.Authorize(t.Context(), nil, r)
	}
	err := refused(`Bearer error="insufficient_scope", scope="read write"`)
	if err == nil || !strings.Contains(err.Error(), "kerf mcp login --scopes read,write wiki") {
		t.Errorf("told is %v", err)
	}
	for _, challenge := range []string{"", `Bearer error="invalid_token"`} {
		if err := refused(challenge); err != nil {
			t.Errorf("%q: %v", challenge, err)
		}
	}
}

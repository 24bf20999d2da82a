package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"
)

// googleScope is what tokens are asked for.
const googleScope = "https://www.googleapis.com/auth/cloud-platform"

const googleTokenURL = "https://oauth2.googleapis.com/token"

// Google gets tokens of the application default credentials: of the file that
// GOOGLE_APPLICATION_CREDENTIALS names, or else of the one that gcloud writes, or else of the
// machine's metadata server. An empty scope means all of the cloud.
func (w World) Google(scope string) *Tokens {
	scope = cmp.Or(scope, googleScope)
	return &Tokens{w: w, get: func(ctx context.Context) (Token, error) {
		f, from, err := w.googleFile()
		switch {
		case err != nil:
			return Token{}, err
		case f == nil:
			t, err := w.googleMachine(ctx, scope)
			if err != nil {
				return t, fmt.Errorf("no credentials of Google: GOOGLE_APPLICATION_CREDENTIALS is not set, there is no %s, and "+
					"no metadata server answers (%w); run: gcloud auth application-default login", w.gcloudFile(), absent(err))
			}
			return t, nil
		}
		t, err := w.googleToken(ctx, f, scope)
		if err != nil {
			return t, fmt.Errorf("%s: %w", from, err)
		}
		if f.Quota != "" {
			t.Header = map[string]string{"X-Goog-User-Project": f.Quota}
		}
		return t, nil
	}}
}

// GoogleProject is the project that the application default credentials belong to, or empty.
func (w World) GoogleProject() string {
	f, _, err := w.googleFile()
	if err != nil || f == nil {
		return ""
	}
	return cmp.Or(f.Project, f.Quota)
}

// googleFile is a file of credentials, in any of its forms.
type googleFile struct {
	Type    string `json:"type"`
	Project string `json:"project_id"`
	Quota   string `json:"quota_project_id"`
	// Of a service account.
	Email    string `json:"client_email"`
	KeyID    string `json:"private_key_id"`
	Key      string `json:"private_key"`
	TokenURI string `json:"token_uri"`
	// Of a user.
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	Refresh      string `json:"refresh_token"`
	// Of an account that stands in for another one.
	Impersonation string      `json:"service_account_impersonation_url"`
	Delegates     []string    `json:"delegates"`
	Source        *googleFile `json:"source_credentials"`
	// Of an identity that somebody else vouches for.
	Audience    string         `json:"audience"`
	SubjectType string         `json:"subject_token_type"`
	TokenURL    string         `json:"token_url"`
	Subject     *subjectSource `json:"credential_source"`
}

// subjectSource is where the token of a foreign identity lies.
type subjectSource struct {
	File    string            `json:"file"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Format  struct {
		Type  string `json:"type"`
		Field string `json:"subject_token_field_name"`
	} `json:"format"`
}

// gcloudFile is where gcloud writes the credentials.
func (w World) gcloudFile() string {
	dir := w.Getenv("CLOUDSDK_CONFIG")
	if dir == "" {
		dir = filepath.Join(cmp.Or(w.Config, filepath.Join(w.Home, ".config")), "gcloud")
	}
	return filepath.Join(dir, "application_default_credentials.json")
}

// googleFile reads the file of credentials; nil means that there is none.
func (w World) googleFile() (f *googleFile, path string, err error) {
	path = w.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	named := path != ""
	if !named {
		path = w.gcloudFile()
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, path, nil
	}
	if err != nil {
		return nil, path, err
	}
	if err := json.Unmarshal(b, &f); err != nil || f == nil {
		return nil, path, fmt.Errorf("%s is no file of Google credentials", path)
	}
	return f, path, nil
}

func (w World) googleToken(ctx context.Context, f *googleFile, scope string) (Token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, w.client(far))
	w.Secret(f.Key)
	w.Secret(f.Refresh)
	w.Secret(f.ClientSecret)
	switch f.Type {
	case "service_account":
		c := jwt.Config{Email: f.Email, PrivateKey: []byte(f.Key), PrivateKeyID: f.KeyID, Scopes: []string{scope},
			TokenURL: cmp.Or(f.TokenURI, googleTokenURL)}
		return oauthToken(c.TokenSource(ctx).Token())
	case "authorized_user":
		c := oauth2.Config{ClientID: f.ClientID, ClientSecret: f.ClientSecret,
			Endpoint: oauth2.Endpoint{TokenURL: cmp.Or(f.TokenURI, googleTokenURL), AuthStyle: oauth2.AuthStyleInParams}}
		return oauthToken(c.TokenSource(ctx, &oauth2.Token{RefreshToken: f.Refresh, Expiry: time.Unix(1, 0)}).Token())
	case "impersonated_service_account":
		if f.Source == nil || f.Source.Type == f.Type {
			return Token{}, errors.New("there are no source_credentials")
		}
		source, err := w.googleToken(ctx, f.Source, googleScope)
		if err != nil {
			return source, err
		}
		return w.impersonate(ctx, f, source.Value, scope)
	case "external_account":
		return w.federate(ctx, f, scope)
	}
	return Token{}, fmt.Errorf("credentials of type %q are not known; let auth.command print a token: "+
		"gcloud auth print-access-token", f.Type)
}

func oauthToken(t *oauth2.Token, err error) (Token, error) {
	var r *oauth2.RetrieveError
	if errors.As(err, &r) {
		status := 0
		if r.Response != nil {
			status = r.Response.StatusCode
		}
		err = &answered{status: status, words: firstLine(cmp.Or(r.ErrorDescription, r.ErrorCode, refusal(r.Body)))}
		if Busy(status) {
			err = &Passing{err}
		}
		return Token{}, err
	}
	var u *url.Error
	switch {
	case errors.As(err, &u):
		return Token{}, &Passing{fmt.Errorf("cannot reach the sign-in server: %w", u.Err)}
	case err != nil && strings.HasPrefix(err.Error(), "oauth2: cannot fetch token: "): // of package jwt
		return Token{}, &Passing{err}
	case err != nil:
		return Token{}, err
	}
	return Token{Value: t.AccessToken, Expires: t.Expiry}, nil
}

// impersonate gets a token of the account that another one may stand in for.
func (w World) impersonate(ctx context.Context, f *googleFile, source, scope string) (Token, error) {
	body, err := json.Marshal(map[string]any{"scope": []string{scope}, "lifetime": "3600s", "delegates": f.Delegates})
	if err != nil {
		return Token{}, err
	}
	req, err := post(ctx, f.Impersonation, "application/json", string(body))
	if err != nil {
		return Token{}, err
	}
	req.Header.Set("Authorization", "Bearer "+source)
	var got struct {
		Access  string    `json:"accessToken"`
		Expires time.Time `json:"expireTime"`
	}
	_, err = ask(w.client(far), req, &got)
	return Token{Value: got.Access, Expires: got.Expires}, err
}

// federate gives the token of a foreign identity for one of Google.
func (w World) federate(ctx context.Context, f *googleFile, scope string) (Token, error) {
	if f.Subject == nil || f.Subject.File == "" && f.Subject.URL == "" {
		return Token{}, errors.New("the credential_source is none that Kerf knows (file, url); let auth.command print a " +
			"token: gcloud auth print-access-token")
	}
	subject, err := w.subject(ctx, f.Subject)
	if err != nil {
		return Token{}, err
	}
	w.Secret(subject)
	asked := scope
	if f.Impersonation != "" {
		asked = googleScope
	}
	values := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "audience": {f.Audience},
		"scope": {asked}, "requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
		"subject_token_type": {f.SubjectType}, "subject_token": {subject}}
	req, err := post(ctx, cmp.Or(f.TokenURL, "https://sts.googleapis.com/v1/token"), form, values.Encode())
	if err != nil {
		return Token{}, err
	}
	var got granted
	if _, err := ask(w.client(far), req, &got); err != nil || f.Impersonation == "" {
		return got.token(w.now()), err
	}
	return w.impersonate(ctx, f, got.Access, scope)
}

// subject reads the token of a foreign identity.
func (w World) subject(ctx context.Context, s *subjectSource) (string, error) {
	var b []byte
	var err error
	if s.File != "" {
		b, err = os.ReadFile(s.File)
	} else {
		var req *http.Request
		if req, err = get(ctx, s.URL, s.Headers); err == nil {
			b, err = ask(w.client(far), req, nil)
		}
	}
	if err != nil || s.Format.Type != "json" {
		return strings.TrimSpace(string(b)), err
	}
	var fields map[string]any
	if json.Unmarshal(b, &fields) == nil {
		if token, ok := fields[s.Format.Field].(string); ok {
			return token, nil
		}
	}
	return "", fmt.Errorf("the token of the identity has no member %q", s.Format.Field)
}

// googleMachine asks the metadata server of the machine.
func (w World) googleMachine(ctx context.Context, scope string) (Token, error) {
	host := cmp.Or(w.Getenv("GCE_METADATA_HOST"), "169.254.169.254")
	const path = "/computeMetadata/v1/instance/service-accounts/default/token"
	address := "http://" + host + path + "?scopes=" + url.QueryEscape(scope)
	req, err := get(ctx, address, map[string]string{"Metadata-Flavor": "Google"})
	if err != nil {
		return Token{}, err
	}
	var got granted
	_, err = ask(w.client(near), req, &got)
	return got.token(w.now()), err
}

package cloud_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/auth/cloud"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// amazon is the servers that lend keys, as strict as they are.
func amazon(t *testing.T) *httptest.Server {
	const lent = `{"AccessKeyId":"%s","SecretAccessKey":"s","Token":"t","Expiration":"2026-03-04T06:06:07Z"}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		imds := r.Header.Get("X-Aws-Ec2-Metadata-Token") == "imds-token"
		switch path := r.URL.Path; {
		case path == "/":
			_ = r.ParseForm()
			id := ""
			switch signed := r.Header.Get("Authorization"); r.PostForm.Get("Action") {
			case "AssumeRole":
				if strings.HasPrefix(signed, "AWS4-HMAC-SHA256 Credential=BASE/20260304/eu-west-1/sts/aws4_request, ") {
					id = "ROLE-" + r.PostForm.Get("ExternalId")
				}
			case "AssumeRoleWithWebIdentity":
				if r.PostForm.Get("WebIdentityToken") == "web-token" && signed == "" {
					id = "WEB"
				}
			}
			if id == "" {
				w.WriteHeader(403)
				_, _ = io.WriteString(w, `{"Error":{"Code":"AccessDenied"},"message":"not allowed"}`)
				return
			}
			fmt.Fprintf(w, "<R><Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>s/+=</SecretAccessKey>"+
				"<SessionToken>t</SessionToken><Expiration>2026-03-04T06:06:07Z</Expiration></Credentials></R>", id)
		case path == "/federation/credentials" && r.Header.Get("X-Amz-Sso_bearer_token") == "sso-token":
			fmt.Fprintf(w, `{"roleCredentials":{"accessKeyId":"SSO-%s","secretAccessKey":"s","sessionToken":"t","expiration":%d}}`,
				r.URL.Query().Get("account_id"), now.Add(time.Hour).UnixMilli())
		case path == "/container" && r.Header.Get("Authorization") == "container-token":
			fmt.Fprintf(w, lent, "CONTAINER")
		case path == "/latest/api/token" && r.Method == http.MethodPut:
			_, _ = io.WriteString(w, "imds-token")
		case path == "/latest/meta-data/iam/security-credentials/" && imds:
			_, _ = io.WriteString(w, "my-role\n")
		case path == "/latest/meta-data/iam/security-credentials/my-role" && imds:
			fmt.Fprintf(w, lent, "MACHINE")
		default:
			w.WriteHeader(401)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAWS(t *testing.T) {
	s := amazon(t)
	home := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(".aws/config", `# a comment
[default]
region = eu-west-1
[profile role]
region = eu-west-1
role_arn = arn:aws:iam::1:role/r
source_profile = base
external_id = ext
[profile self]
region = eu-west-1
role_arn = arn:aws:iam::1:role/r
source_profile = self
[profile loop]
role_arn = arn:aws:iam::1:role/r
source_profile = loop
[ profile  sso ]
sso_session = corp
sso_account_id = 111
sso_role_name = Dev
[profile old]
sso_start_url = https://old.example.test
sso_account_id = 111
sso_role_name = Dev
[sso-session corp]
sso_region = eu-west-1
[profile program]
credential_process = "/opt/my program" --json  x
s3 =
  region = nowhere
[profile empty]
`)
	write(".aws/credentials", "[base]\naws_access_key_id = BASE\naws_secret_access_key = s # mine\n"+
		"[self]\naws_access_key_id=BASE\naws_secret_access_key=s\n")
	for name, expires := range map[string]string{"corp": "2026-03-04T06:00:00Z", "https://old.example.test": "2026-03-04T05:00:00Z"} {
		sum := sha1.Sum([]byte(name))
		write(".aws/sso/cache/"+hex.EncodeToString(sum[:])+".json", `{"accessToken":"sso-token","expiresAt":"`+expires+`"}`)
	}
	web := write("web", "web-token\n")
	type env = map[string]string
	for _, tt := range []struct {
		env         env
		want, fault string
	}{
		{env{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s", "AWS_PROFILE": "role"}, "ENV", ""},
		{env{"AWS_WEB_IDENTITY_TOKEN_FILE": web, "AWS_ROLE_ARN": "r"}, "WEB", ""},
		{env{"AWS_PROFILE": "base"}, "BASE", ""},
		{env{"AWS_PROFILE": "role"}, "ROLE-ext", ""},
		{env{"AWS_PROFILE": "self"}, "ROLE-", ""},
		{env{"AWS_PROFILE": "loop"}, "", "its role is got by its own role"},
		{env{"AWS_PROFILE": "sso"}, "SSO-111", ""},
		{env{"AWS_PROFILE": "old"}, "", "the sign-in has expired; run: aws sso login --profile old"},
		{env{"AWS_PROFILE": "program"}, "PROGRAM", ""},
		{env{"AWS_PROFILE": "empty"}, "", "profile empty of AWS: names no keys"},
		{env{"AWS_CONTAINER_CREDENTIALS_FULL_URI": s.URL + "/container",
			"AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-token"}, "CONTAINER", ""},
		{env{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.test/container"}, "", "names no server of this machine"},
		{env{}, "MACHINE", ""},
		{env{"AWS_EC2_METADATA_DISABLED": "true"}, "", "neither in the environment nor below ~/.aws"},
	} {
		for _, name := range []string{"STS", "SSO"} {
			tt.env["AWS_ENDPOINT_URL_"+name] = s.URL
		}
		tt.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = s.URL
		var secrets []string
		w := cloud.World{Getenv: func(n string) string { return tt.env[n] }, Home: home, Client: s.Client(),
			Now: func() time.Time { return now }, Secret: func(s string) { secrets = append(secrets, s) },
			Run: func(_ context.Context, argv []string) (string, error) {
				if strings.Join(argv, "|") != "/opt/my program|--json|x" {
					return "", fmt.Errorf("runs %q", argv)
				}
				return `{"Version":1,"AccessKeyId":"PROGRAM","SecretAccessKey":"s"}`, nil
			}}
		k, err := w.AWS().Keys(t.Context())
		if k.ID != tt.want || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%v: keys %q, %v; want %q, %q", tt.env, k.ID, err, tt.want, tt.fault)
		}
		if err == nil && len(secrets) == 0 {
			t.Errorf("%v: the secret is not noted", tt.env)
		}
	}
}

// Tokens are kept while they are fresh, and asked for anew when they are old or refused.
func TestTokensAreKept(t *testing.T) {
	n, clock := 0, now
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		fmt.Fprintf(w, `{"access_token":"t%d","expires_in":"3600"}`, n)
	}))
	defer s.Close()
	env := map[string]string{"IDENTITY_ENDPOINT": s.URL, "IDENTITY_HEADER": "h"}
	tokens := cloud.World{Getenv: func(n string) string { return env[n] }, Client: s.Client(), Secret: func(string) {},
		Now: func() time.Time { return clock }}.Entra("")
	for _, tt := range []struct {
		later  time.Duration
		reject string
		want   string
	}{{0, "", "t1"}, {57 * time.Minute, "", "t1"}, {time.Minute, "", "t2"}, {0, "t1", "t2"}, {0, "t2", "t3"}} {
		clock = clock.Add(tt.later)
		if tt.reject != "" {
			tokens.Rejected(tt.reject)
		}
		if got, err := tokens.Get(t.Context()); got != tt.want || err != nil {
			t.Errorf("after %v: %q, %v; want %q", tt, got, err, tt.want)
		}
	}
}

// So are keys; those that do not end are given up only when they are refused, for good.
func TestKeysAreKept(t *testing.T) {
	n, clock := 0, now
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		fmt.Fprintf(w, `{"AccessKeyId":"K%d","SecretAccessKey":"s","Expiration":%q}`, n, clock.Add(time.Hour).Format(time.RFC3339))
	}))
	defer s.Close()
	env := map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": s.URL}
	w := cloud.World{Getenv: func(n string) string { return env[n] }, Home: t.TempDir(), Client: s.Client(),
		Secret: func(string) {}, Now: func() time.Time { return clock }}
	keys := w.AWS()
	for _, tt := range []struct {
		later  time.Duration
		reject string
		want   string
	}{{0, "", "K1"}, {57 * time.Minute, "", "K1"}, {time.Minute, "", "K2"}, {0, "K1", "K2"}, {0, "K2", "K3"}} {
		clock = clock.Add(tt.later)
		if tt.reject != "" && !keys.Rejected(tt.reject) {
			t.Errorf("%v: there are no other keys", tt)
		}
		if got, err := keys.Keys(t.Context()); got.ID != tt.want || err != nil {
			t.Errorf("after %v: %q, %v; want %q", tt, got.ID, err, tt.want)
		}
	}
	env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"] = "LASTING", "s"
	keys = w.AWS()
	if k, err := keys.Keys(t.Context()); k.ID != "LASTING" || err != nil || keys.Rejected("LASTING") {
		t.Errorf("%q, %v, or there are others", k.ID, err)
	}
}

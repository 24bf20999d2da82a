package oracle

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/auth/credentials"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	kerf "kerf/internal/auth/cloud"
	frames "kerf/internal/model/eventstream"
)

// The library of Amazon signs every request as Kerf does.
func TestSignatures(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, address := range []string{
		"https://bedrock-runtime.eu-central-1.amazonaws.com/model/eu.anthropic.claude-v1%3A0/invoke-with-response-stream",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx/invoke",
		"https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions",
		"https://example.test:8443/a%20b/c?z=1&a=%2F&a=b+c&empty=",
		"https://sts.eu-west-1.amazonaws.com/", "https://sts.eu-west-1.amazonaws.com",
	} {
		for _, session := range []string{"", "session/+="} {
			for _, body := range []string{"", `{"a":"ä"}`} {
				ours := httptest.NewRequest(http.MethodPost, address, strings.NewReader(body))
				ours.Header.Set("Content-Type", "application/json")
				ours.Header.Set("X-Amz-Meta", "a  b   c ")
				theirs := ours.Clone(t.Context())
				theirs.ContentLength = 0 // which is then not signed
				hash := kerf.Hash(strings.NewReader(body))
				kerf.AWSKeys{ID: "AKID", Secret: "secret", Session: session}.Sign(ours, hash, "bedrock", "eu-central-1", now)
				err := v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret",
					SessionToken: session}, theirs, hash, "bedrock", "eu-central-1", now)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(theirs.Header, ours.Header); d != "" {
					t.Errorf("%s (-theirs +ours):\n%s", address, d)
				}
			}
		}
	}
}

// Frames that the library of Amazon writes are read; a flipped bit is found.
func TestFrames(t *testing.T) {
	var b bytes.Buffer
	payload, err := json.Marshal(map[string]any{"bytes": []byte(`{"type":"message_stop",` + "\n" + `"a":1}`), "p": "abcd"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []eventstream.Message{
		{Headers: eventstream.Headers{{Name: ":message-type", Value: eventstream.StringValue("event")},
			{Name: ":event-type", Value: eventstream.StringValue("chunk")}, {Name: "n", Value: eventstream.Int64Value(7)},
			{Name: "t", Value: eventstream.TimestampValue(time.Now())}, {Name: "b", Value: eventstream.BytesValue("x")},
			{Name: "y", Value: eventstream.BoolValue(true)}, {Name: "u", Value: eventstream.UUIDValue{}}}, Payload: payload},
		{Headers: eventstream.Headers{{Name: ":message-type", Value: eventstream.StringValue("exception")},
			{Name: ":exception-type", Value: eventstream.StringValue("throttlingException")}},
			Payload: []byte(`{"message":"Too many"}`)},
	} {
		if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
			t.Fatal(err)
		}
	}
	whole := b.Bytes()
	got, err := io.ReadAll(frames.NewReader(bytes.NewReader(whole)))
	const want = "data: {\"type\":\"message_stop\",\"a\":1}\n\n" +
		"data: {\"error\":{\"message\":\"Too many\",\"type\":\"throttlingException\"},\"type\":\"error\"}\n\n"
	if err != nil || string(got) != want {
		t.Errorf("%v: %s", err, got)
	}
	for i := range whole {
		broken := bytes.Clone(whole)
		broken[i] ^= 4
		if _, err := io.ReadAll(frames.NewReader(bytes.NewReader(broken))); err == nil {
			t.Errorf("a flipped bit in byte %d is not found", i)
		}
	}
}

// asked is what a token server was asked for.
type asked struct {
	path string
	form url.Values
}

func tokenServer(t *testing.T) (*httptest.Server, *[]asked) {
	var all []asked
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "openid-configuration") {
			base := "https://" + r.Host + "/tenant-1"
			_ = json.NewEncoder(w).Encode(map[string]string{"token_endpoint": base + "/oauth2/v2.0/token", "issuer": base + "/v2.0",
				"authorization_endpoint": base + "/oauth2/v2.0/authorize"})
			return
		}
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		all = append(all, asked{r.URL.Path, r.PostForm})
		_, _ = io.WriteString(w, `{"access_token":"token-1","token_type":"Bearer","expires_in":3599}`)
	}))
	t.Cleanup(s.Close)
	return s, &all
}

func world(s *httptest.Server, env map[string]string) kerf.World {
	return kerf.World{Getenv: func(n string) string { return env[n] }, Home: os.DevNull, Secret: func(string) {}, Client: s.Client()}
}

// The library of Microsoft asks Entra for what Kerf asks for.
func TestEntra(t *testing.T) {
	s, all := tokenServer(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "federated")
	if err := os.WriteFile(file, []byte("assertion-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	options := policy.ClientOptions{Transport: s.Client(), Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: s.URL}}
	for _, file := range []string{"", file} {
		*all = nil
		env := map[string]string{"AZURE_TENANT_ID": "tenant-1", "AZURE_CLIENT_ID": "app-1", "AZURE_AUTHORITY_HOST": s.URL,
			"AZURE_FEDERATED_TOKEN_FILE": file}
		request := policy.TokenRequestOptions{Scopes: []string{kerf.EntraScope}}
		var err error
		if file == "" {
			env["AZURE_CLIENT_SECRET"] = "secret-1"
			c, made := azidentity.NewClientSecretCredential("tenant-1", "app-1", "secret-1",
				&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
			if made != nil {
				t.Fatal(made)
			}
			_, err = c.GetToken(t.Context(), request)
		} else {
			c, made := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{TenantID: "tenant-1",
				ClientID: "app-1", TokenFilePath: file, ClientOptions: options, DisableInstanceDiscovery: true})
			if made != nil {
				t.Fatal(made)
			}
			_, err = c.GetToken(t.Context(), request)
		}
		if err != nil {
			t.Fatal(err)
		}
		token, err := world(s, env).Entra("").Get(t.Context())
		if err != nil || token != "token-1" || len(*all) != 2 {
			t.Fatalf("%q, %v, %d requests", token, err, len(*all))
		}
		theirs, ours := (*all)[0], (*all)[1]
		if theirs.path != ours.path {
			t.Errorf("Kerf asks at %s, the library at %s", ours.path, theirs.path)
		}
		for name, value := range ours.form {
			// The library asks for more scopes than it needs.
			if name == "scope" {
				if !strings.Contains(theirs.form.Get(name), value[0]) {
					t.Errorf("scope %q, the library %q", value, theirs.form[name])
				}
				continue
			}
			if d := cmp.Diff(theirs.form[name], value); d != "" {
				t.Errorf("%s (-theirs +ours): %s", name, d)
			}
		}
	}
}

// The library of Google asks for what Kerf asks for, with each kind of credentials.
func TestGoogle(t *testing.T) {
	s, all := tokenServer(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "adc.json")
	subject := filepath.Join(t.TempDir(), "subject")
	if err := os.WriteFile(subject, []byte(`{"id_token":"subject-1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, adc := range map[string]map[string]any{
		"service_account": {"client_email": "a@example.test", "private_key_id": "k1", "token_uri": s.URL + "/token",
			"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))},
		"authorized_user": {"client_id": "c", "client_secret": "d", "refresh_token": "r", "token_uri": s.URL + "/token"},
		"external_account": {"audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
			"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": s.URL + "/token",
			"credential_source": map[string]any{"file": subject,
				"format": map[string]string{"type": "json", "subject_token_field_name": "id_token"}}},
	} {
		t.Run(kind, func(t *testing.T) {
			*all = nil
			adc["type"] = kind
			b, err := json.Marshal(adc)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := credentials.DetectDefault(&credentials.DetectOptions{CredentialsJSON: b, Client: s.Client(),
				Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}, TokenURL: s.URL + "/token"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Token(t.Context()); err != nil {
				t.Fatal(err)
			}
			token, err := world(s, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": file}).Google("").Get(t.Context())
			if err != nil || token != "token-1" || len(*all) != 2 {
				t.Fatalf("%q, %v, %d requests", token, err, len(*all))
			}
			theirs, ours := (*all)[0], (*all)[1]
			if kind == "service_account" { // signatures hold the time
				for _, a := range []asked{theirs, ours} {
					parts := strings.Split(a.form.Get("assertion"), ".")
					if len(parts) != 3 {
						t.Fatalf("an assertion of %d parts", len(parts))
					}
					a.form.Set("assertion", claimsOf(t, parts[0])+claimsOf(t, parts[1]))
				}
			}
			theirs.form.Del("options")
			if d := cmp.Diff(theirs.form, ours.form); d != "" {
				t.Errorf("(-theirs +ours):\n%s", d)
			}
		})
	}
}

// claimsOf is a part of an assertion without its times.
func claimsOf(t *testing.T, part string) string {
	b, err := base64.RawURLEncoding.DecodeString(part)
	var claims map[string]any
	if err == nil {
		err = json.Unmarshal(b, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	if iat, ok := claims["iat"].(float64); ok {
		claims["lasts"] = claims["exp"].(float64) - iat
	}
	delete(claims, "iat")
	delete(claims, "exp")
	b, err = json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// EntraScope is what Azure's model services take.
const EntraScope = "https://cognitiveservices.azure.com/.default"

// Entra gets tokens of Microsoft Entra, in the order of Microsoft's own libraries: with the
// secret of an application (AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET), with the
// identity of a workload (AZURE_FEDERATED_TOKEN_FILE), or as the machine (managed identity).
// An empty scope means EntraScope.
func (w World) Entra(scope string) *Tokens {
	scope = cmp.Or(scope, EntraScope)
	return &Tokens{w: w, get: func(ctx context.Context) (Token, error) {
		tenant, client := w.Getenv("AZURE_TENANT_ID"), w.Getenv("AZURE_CLIENT_ID")
		secret, file := w.Getenv("AZURE_CLIENT_SECRET"), w.Getenv("AZURE_FEDERATED_TOKEN_FILE")
		values := url.Values{"client_id": {client}, "scope": {scope}, "grant_type": {"client_credentials"}}
		switch {
		case tenant != "" && client != "" && secret != "":
			w.Secret(secret)
			values.Set("client_secret", secret)
		case tenant != "" && client != "" && file != "":
			assertion, err := os.ReadFile(file) // it changes, so it is read each time
			if err != nil {
				return Token{}, fmt.Errorf("AZURE_FEDERATED_TOKEN_FILE: %w", err)
			}
			w.Secret(strings.TrimSpace(string(assertion)))
			values.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
			values.Set("client_assertion", strings.TrimSpace(string(assertion)))
		case w.Getenv("AZURE_CLIENT_CERTIFICATE_PATH") != "":
			return Token{}, errors.New("AZURE_CLIENT_CERTIFICATE_PATH is not supported; let auth.command print a token: " +
				"az account get-access-token")
		default:
			return w.entraMachine(ctx, scope, client)
		}
		host := strings.TrimRight(cmp.Or(w.Getenv("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com"), "/")
		if !strings.Contains(host, "://") {
			host = "https://" + host
		}
		req, err := post(ctx, host+"/"+url.PathEscape(tenant)+"/oauth2/v2.0/token", form, values.Encode())
		if err != nil {
			return Token{}, err
		}
		var got granted
		if _, err := ask(w.client(far), req, &got); err != nil {
			return Token{}, fmt.Errorf("sign-in with Microsoft Entra: %w", err)
		}
		return got.token(w.now()), nil
	}}
}

// entraMachine asks for a token of the machine's own identity. Client chooses one of several.
func (w World) entraMachine(ctx context.Context, scope, client string) (Token, error) {
	query := url.Values{"resource": {strings.TrimSuffix(scope, "/.default")}}
	if client != "" {
		query.Set("client_id", client)
	}
	endpoint, header := w.Getenv("IDENTITY_ENDPOINT"), map[string]string{"Metadata": "true"}
	query.Set("api-version", "2018-02-01")
	if endpoint != "" { // a service that runs programs of its users
		query.Set("api-version", "2019-08-01")
		header["X-Identity-Header"] = w.Getenv("IDENTITY_HEADER")
		w.Secret(w.Getenv("IDENTITY_HEADER"))
	} else {
		endpoint = strings.TrimRight(cmp.Or(w.Getenv("AZURE_POD_IDENTITY_AUTHORITY_HOST"), "http://169.254.169.254"), "/") +
			"/metadata/identity/oauth2/token"
	}
	req, err := get(ctx, endpoint+"?"+query.Encode(), header)
	if err != nil {
		return Token{}, err
	}
	var got granted
	if _, err := ask(w.client(near), req, &got); err != nil {
		return Token{}, fmt.Errorf("no credentials of Microsoft Entra: set AZURE_TENANT_ID, AZURE_CLIENT_ID and "+
			"AZURE_CLIENT_SECRET; no managed identity answers (%w); with the Azure CLI, let auth.command print a token: "+
			"az account get-access-token", absent(err))
	}
	return got.token(w.now()), nil
}

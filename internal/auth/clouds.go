package auth

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"

	"kerf/internal/auth/cloud"
)

// Cloud are the credentials that the programs of a cloud keep.
type Cloud struct {
	Name string // aws, entra or google, or empty for none
	Key  Key
	// Lookup tells what the files of the cloud say for a variable that is not set.
	Lookup func(name string) string
}

// Clouds makes the credentials of clouds. Nothing is read before they are needed.
type Clouds struct {
	Getenv func(name string) string
	Secret func(string)
	// Program is a program that the configuration of a cloud names.
	Program func(argv []string) *Command
	// Transport reaches the servers that are not the machine's own; nil for the usual way.
	Transport http.RoundTripper
}

func (c Clouds) world() cloud.World {
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.DevNull // nothing is found there
	}
	w := cloud.World{Getenv: c.Getenv, Home: cmp.Or(c.Getenv("HOME"), home), Secret: c.Secret, Transport: c.Transport,
		Run: func(ctx context.Context, argv []string) (string, error) { return c.Program(argv).Output(ctx) }}
	if runtime.GOOS == "windows" {
		w.Home, w.Config = home, c.Getenv("APPDATA")
	}
	return w
}

// Of returns the credentials of the cloud of that name. An empty scope means what suits.
func (c Clouds) Of(name, scope string) Cloud {
	made := Cloud{Name: name, Lookup: func(string) string { return "" }}
	if name == "" {
		return made
	}
	w := c.world()
	switch name {
	case "entra":
		made.Key = ofTokens(w.Entra(scope))
	case "google":
		made.Key = ofTokens(w.Google(scope))
		made.Lookup = func(name string) string {
			if name != "GOOGLE_CLOUD_PROJECT" {
				return ""
			}
			return w.GoogleProject()
		}
	case "aws":
		made.Key = ofAWS(w.AWS(), w)
		made.Lookup = func(name string) string {
			if name != "AWS_REGION" {
				return ""
			}
			return w.AWSRegion()
		}
	}
	return made
}

func ofTokens(t *cloud.Tokens) Key {
	return Key{Get: t.Get, Rejected: t.Rejected, Header: t.Header, Bearer: true}
}

func ofAWS(a *cloud.AWS, w cloud.World) Key {
	return Key{Rejected: a.Rejected, Clock: a.Clock,
		Get: func(ctx context.Context) (string, error) {
			k, err := a.Keys(ctx)
			return k.ID, err
		},
		Sign: func(req *http.Request, body io.Reader) error {
			return a.Sign(req, cloud.Hash(body), "bedrock", cmp.Or(regionOf(req.URL), w.AWSRegion(), "us-east-1"))
		}}
}

// regionOf is the region that the name of a host of AWS tells, or empty.
func regionOf(u *url.URL) string {
	parts := strings.Split(u.Hostname(), ".")
	if len(parts) > 3 && parts[2] == "amazonaws" {
		return parts[1]
	}
	return ""
}

// InAddress is what stands for a name in the address of a provider: the variable of that
// name, or what the files of the provider's cloud say instead.
func (k *Keys) InAddress(provider, name string) string {
	if v := k.Getenv(name); v != "" || k.Providers[provider].Cloud.Lookup == nil {
		return v
	}
	return k.Providers[provider].Cloud.Lookup(name)
}

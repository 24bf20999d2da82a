package host

import (
	"kerf/internal/config"
	"kerf/internal/text/redact"
	"kerf/internal/work/repo"
)

// redact takes secrets of the environment and keys in use out of what is recorded.
func (c configured) redact(b []byte) []byte { return c.redactor().Bytes(b) }

func (c configured) redactor() *redact.Redactor { return c.secrets.Redactor(c.env) }

// SecretName reports whether what has this name is taken for a secret.
func SecretName(name string) bool { return redact.SecretName(name) }

// noteSecrets remembers the secrets that the configuration and the repository around
// cwd hold or name, so that no record, warning or answer repeats them.
func (c configured) noteSecrets(cwd string) {
	for _, s := range repo.RemoteSecrets(cwd) {
		c.secrets.Add(s)
	}
	for _, s := range c.MCPServers {
		c.noteServer(s)
	}
	for _, p := range c.Providers {
		c.secrets.AddURL(p.BaseURL)
		if p.EnvKey != "" {
			c.secrets.Add(c.getenv(p.EnvKey))
		}
		c.noteHeaders(p.HTTPHeaders, p.EnvHTTPHeaders)
		for name, value := range p.QueryParams {
			c.secrets.AddNamed(name, value)
		}
	}
}

// noteServer remembers the secrets of one MCP server.
func (c configured) noteServer(s config.MCPServer) {
	for name, value := range s.Env {
		if redact.SecretName(name) || redact.SecretValue(value) {
			c.secrets.Add(value)
		}
	}
	c.noteHeaders(s.HTTPHeaders, s.EnvHTTPHeaders)
	for _, variable := range []string{s.BearerTokenEnvVar, s.OAuthClientSecret} {
		c.secrets.Add(c.getenv(variable))
	}
	c.secrets.AddURL(s.URL)
}

// noteHeaders remembers the headers whose names say that they are secret; named
// are those whose values are in variables.
func (c configured) noteHeaders(plain, named map[string]string) {
	for name, value := range plain {
		c.secrets.AddHeader(name, value)
	}
	for name, variable := range named {
		c.secrets.AddHeader(name, c.getenv(variable))
	}
}

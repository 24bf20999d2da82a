package host

import (
	"kerf/internal/config"
	"kerf/internal/text/redact"
	"kerf/internal/work/repo"
)

// redact takes secrets out of what is recorded: those of the environment, and
// the keys in use.
func (h *Host) redact(b []byte) []byte { return h.secrets.Redactor(h.Env).Bytes(b) }

// Redact takes secrets out of text that a front end keeps beyond a session.
func (h *Host) Redact(text string) string { return string(h.redact([]byte(text))) }

// SecretName reports whether what has this name is taken for a secret.
func SecretName(name string) bool { return redact.SecretName(name) }

// noteSecrets remembers the secrets that the configuration and the repository around
// cwd hold or name, so that no record, warning or answer repeats them.
func (h *Host) noteSecrets(cwd string) {
	for _, s := range repo.RemoteSecrets(cwd) {
		h.secrets.Add(s)
	}
	for _, s := range h.Config.MCPServers {
		h.noteServer(s)
	}
	for _, p := range h.Config.Providers {
		h.secrets.AddURL(p.BaseURL)
		if p.EnvKey != "" {
			h.secrets.Add(h.Getenv(p.EnvKey))
		}
		h.noteHeaders(p.HTTPHeaders, p.EnvHTTPHeaders)
		for name, value := range p.QueryParams {
			h.secrets.AddNamed(name, value)
		}
	}
}

// noteServer remembers the secrets of one MCP server.
func (h *Host) noteServer(s config.MCPServer) {
	for name, value := range s.Env {
		if redact.SecretName(name) || redact.SecretValue(value) {
			h.secrets.Add(value)
		}
	}
	h.noteHeaders(s.HTTPHeaders, s.EnvHTTPHeaders)
	if s.BearerTokenEnvVar != "" {
		h.secrets.Add(h.Getenv(s.BearerTokenEnvVar))
	}
	h.secrets.AddURL(s.URL)
}

// noteHeaders remembers the headers whose names say that they are secret; named
// are those whose values are in variables.
func (h *Host) noteHeaders(plain, named map[string]string) {
	for name, value := range plain {
		h.secrets.AddHeader(name, value)
	}
	for name, variable := range named {
		h.secrets.AddHeader(name, h.Getenv(variable))
	}
}

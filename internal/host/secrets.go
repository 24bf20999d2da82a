package host

import (
	"net/url"
	"strings"

	"kerf/internal/config"
	"kerf/internal/work/proc"
)

// noteSecrets remembers the secrets that the configuration holds or names, so that
// no record, warning or answer repeats them.
func (h *Host) noteSecrets() {
	for _, s := range h.Config.MCPServers {
		h.noteServer(s)
	}
	for _, p := range h.Config.Providers {
		h.secrets.addURL(p.BaseURL)
		if p.EnvKey != "" {
			h.secrets.add(h.Getenv(p.EnvKey))
		}
	}
}

// noteServer remembers the secrets of one MCP server.
func (h *Host) noteServer(s config.MCPServer) {
	for name, value := range s.Env {
		if proc.SecretName(name) || proc.SecretValue(value) {
			h.secrets.add(value)
		}
	}
	for name, value := range s.HTTPHeaders {
		h.secrets.addNamed(name, value)
	}
	for name, variable := range s.EnvHTTPHeaders {
		h.secrets.addNamed(name, h.Getenv(variable))
	}
	if s.BearerTokenEnvVar != "" {
		h.secrets.add(h.Getenv(s.BearerTokenEnvVar))
	}
	h.secrets.addURL(s.URL)
}

// addURL takes the password of a URL, or the user where there is none, and values
// of its query whose names say that they are secret.
func (s *secretSet) addURL(text string) {
	u, err := url.Parse(text)
	if err != nil {
		return
	}
	if password, ok := u.User.Password(); ok {
		s.add(password)
	} else if name := u.User.Username(); len(name) > 12 {
		s.add(name)
	}
	for name, values := range u.Query() {
		if proc.SecretName(name) {
			s.add(strings.Join(values, ","))
		}
	}
}

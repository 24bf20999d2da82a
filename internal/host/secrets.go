package host

import (
	"net/url"
	"strings"

	"kerf/internal/config"
	"kerf/internal/work/proc"
	"kerf/internal/work/repo"
)

// noteSecrets remembers the secrets that the configuration and the repository around
// cwd hold or name, so that no record, warning or answer repeats them.
func (h *Host) noteSecrets(cwd string) {
	for _, s := range repo.RemoteSecrets(cwd) {
		h.secrets.add(s)
	}
	for _, s := range h.Config.MCPServers {
		h.noteServer(s)
	}
	for _, p := range h.Config.Providers {
		h.secrets.addURL(p.BaseURL)
		if p.EnvKey != "" {
			h.secrets.add(h.Getenv(p.EnvKey))
		}
		h.noteHeaders(p.HTTPHeaders, p.EnvHTTPHeaders)
		for name, value := range p.QueryParams {
			h.secrets.addNamed(name, value)
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
	h.noteHeaders(s.HTTPHeaders, s.EnvHTTPHeaders)
	if s.BearerTokenEnvVar != "" {
		h.secrets.add(h.Getenv(s.BearerTokenEnvVar))
	}
	h.secrets.addURL(s.URL)
}

// noteHeaders remembers those of headers whose names say that they are secret. A
// cookie is one for each of its values.
func (h *Host) noteHeaders(plain, named map[string]string) {
	note := func(name, value string) {
		h.secrets.addNamed(name, value)
		if strings.EqualFold(name, "Cookie") {
			for part := range strings.SplitSeq(value, ";") {
				_, v, _ := strings.Cut(part, "=")
				h.secrets.add(strings.TrimSpace(v))
			}
		}
	}
	for name, value := range plain {
		note(name, value)
	}
	for name, variable := range named {
		note(name, h.Getenv(variable))
	}
}

// SecretName reports whether what has this name is taken for a secret.
func SecretName(name string) bool { return proc.SecretName(name) }

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

package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kerf/internal/config"
	"kerf/internal/pathname"
	"kerf/internal/text/visible"
)

// peerJSON is a server that a file of the project names, as it stands there: its
// placeholders are not replaced, so that no value of a variable is shown.
func peerJSON(c *config.Config, s config.PeerServer) serverJSON {
	g := s.Given
	out := serverJSON{Name: s.Name, Enabled: s.Why == "", Transport: "stdio", Command: g.Command, Args: g.Args, Cwd: g.Cwd,
		URL: shownURL(g.URL), Env: slices.Sorted(maps.Keys(g.Env)), Auth: "none", From: shownIn(c, s.File), NotUsed: s.Why,
		Reads: s.Reads, Ignored: s.Left}
	if g.URL != "" {
		out.Transport = "http"
	}
	if g.BearerVar != "" {
		out.Auth = "bearer token from " + g.BearerVar
	}
	return out
}

// unusedPeers are the servers that files of the project name and that are not used.
func unusedPeers(c *config.Config) (list []serverJSON) {
	for _, s := range c.Peers.Servers {
		if s.Why != "" {
			list = append(list, peerJSON(c, s))
		}
	}
	return list
}

// unusedPeer says why a server that a file of the project names is not used.
func unusedPeer(c *config.Config, name string) string {
	for _, s := range unusedPeers(c) {
		if s.Name == name {
			return s.NotUsed
		}
	}
	return ""
}

// origin is what a line tells of the file that names a server.
func (s serverJSON) origin() string {
	if s.From == "" {
		return ""
	}
	text := "  from " + s.From
	if len(s.Reads) > 0 {
		text += ", gets " + strings.Join(s.Reads, " ")
	}
	if len(s.Ignored) > 0 {
		text += ", without " + strings.Join(s.Ignored, " ")
	}
	if s.NotUsed != "" {
		text += fmt.Sprintf(" (not used: %s)", s.NotUsed)
	}
	return visible.Plain(text)
}

// shownIn is a path of the project as people read it.
func shownIn(c *config.Config, path string) string { return pathname.Short(c.Root, path) }

package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// nameLimit is how long the providers let the name of a tool be.
const nameLimit = 64

func prefixOf(server string) string { return "mcp__" + safe(server) + "__" }

// qualify joins the names of a server and of a tool into one for models.
func qualify(server, tool string) string { return prefixOf(server) + safe(tool) }

// safe replaces every character that providers do not take.
func safe(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// unique shortens a name that is too long and keeps names apart that became the
// same: both get a digest of what they stand for.
func unique(name, server, tool string, taken map[string]bool) string {
	if len(name) > nameLimit || taken[name] {
		sum := sha256.Sum256([]byte(server + "\x00" + tool))
		digest := "_" + hex.EncodeToString(sum[:4])
		name = name[:min(len(name), nameLimit-len(digest))] + digest
	}
	for taken[name] { // two digests alike, or a tool that is listed twice
		name = name[:len(name)-1] + string(rune('a'+(name[len(name)-1]+1)%26))
	}
	taken[name] = true
	return name
}

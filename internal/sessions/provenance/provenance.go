// Package provenance says who wrote which lines of a commit, in formats that other tools
// read: Agent Trace 0.1.0 records (https://agent-trace.dev) and in-toto statements about
// them.
//
// It claims little. A line is an agent's only if one of Kerf's own tools wrote it for the
// model of a session, unedited. What a command wrote may be anybody's words: a checkout, a
// copy, a program's own output. It is of unknown origin, as is what nobody saw being made.
// Of all other lines nothing is said.
package provenance

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/google/uuid"

	"kerf/internal/work/changes/author"
	"kerf/internal/work/ledger"
)

// Version is that of Agent Trace.
const Version = "0.1.0"

// Record is an Agent Trace record. Lines are those of the revision.
type Record struct {
	Version   string    `json:"version"`
	ID        string    `json:"id"` // a UUID
	Timestamp time.Time `json:"timestamp"`
	VCS       *VCS      `json:"vcs,omitempty"`
	Tool      Tool      `json:"tool"`
	Files     []File    `json:"files"`
}

// VCS names the commit.
type VCS struct {
	Type     string `json:"type"`
	Revision string `json:"revision"`
}

// Tool is what made the record.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// File is one file with the ranges of which something is known. Path is relative to the root
// of the repository.
type File struct {
	Path          string         `json:"path"`
	Conversations []Conversation `json:"conversations"`
}

// Conversation is what one session contributed to a file. URL is a URN of the session, which
// is the UUID that `kerf sessions show` takes.
type Conversation struct {
	URL         string      `json:"url,omitempty"`
	Contributor Contributor `json:"contributor"`
	Ranges      []Range     `json:"ranges"`
}

// Contributor is "ai", "mixed" (an agent's text that the user edited) or "unknown"; never
// "human", which Kerf cannot know.
type Contributor struct {
	Type    string `json:"type"`
	ModelID string `json:"model_id,omitempty"`
}

// Range is 1-based and inclusive. ContentHash is "sha256:" and that of its bytes.
type Range struct {
	StartLine   int    `json:"start_line"`
	EndLine     int    `json:"end_line"`
	ContentHash string `json:"content_hash"`
}

// The types of contributors.
const (
	ai      = "ai"
	mixed   = "mixed"
	unknown = "unknown"
)

// New returns a record without files.
func New(revision, kerf string, now time.Time) (*Record, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return nil, err
	}
	return &Record{Version: Version, ID: id.String(), Timestamp: now.UTC().Truncate(time.Second),
		VCS: &VCS{"git", revision}, Tool: Tool{"kerf", kerf}, Files: []File{}}, nil
}

// Add adds what is known of the lines of a file; nothing if that is nothing. Model is the
// model of a turn, as `provider/name`, or empty.
func (r *Record) Add(path string, lines []author.Line, model func(session, turn string) string) {
	f := File{Path: path}
	of := map[contributor]int{} // in f.Conversations
	for len(lines) > 0 {
		by, n := authorOf(lines[0], model), 1
		for n < len(lines) && authorOf(lines[n], model) == by {
			n++
		}
		if by.kind != "" {
			i, known := of[by]
			if !known {
				i = len(f.Conversations)
				of[by] = i
				f.Conversations = append(f.Conversations, by.conversation())
			}
			f.Conversations[i].Ranges = append(f.Conversations[i].Ranges, rangeOf(lines[:n]))
		}
		lines = lines[n:]
	}
	if len(f.Conversations) > 0 {
		r.Files = append(r.Files, f)
	}
}

// contributor is who contributed a line, of what kind, for which session; without a kind
// nothing is claimed.
type contributor struct{ kind, session, model string }

func (c contributor) conversation() Conversation {
	out := Conversation{Contributor: Contributor{Type: c.kind, ModelID: c.model}}
	if _, err := uuid.Parse(c.session); err == nil {
		out.URL = "urn:uuid:" + c.session
	}
	return out
}

func authorOf(l author.Line, model func(session, turn string) string) contributor {
	switch {
	case l.Origin == "unknown":
		return contributor{kind: unknown}
	case l.Origin == "unproven":
		return contributor{kind: unknown, session: l.Session}
	case l.Origin != "kerf":
		return contributor{}
	case l.Cause != ledger.CauseTool || l.Session == "" || l.Tool == "":
		return contributor{kind: unknown, session: l.Session}
	case l.Edited:
		return contributor{mixed, l.Session, model(l.Session, l.Turn)}
	}
	return contributor{ai, l.Session, model(l.Session, l.Turn)}
}

func rangeOf(lines []author.Line) Range {
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.Text)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return Range{lines[0].Line, lines[len(lines)-1].Line, "sha256:" + hex.EncodeToString(sum[:])}
}

// Statement is an in-toto statement, version 1, about the commit of a record and its files.
// It is not signed.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     *Record   `json:"predicate"`
}

// Subject is what a statement is about: the commit, or a file with the SHA-256 of its content.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Statement makes a statement of a record. Sums are the SHA-256 of the files that it names, in
// lower-case hex.
func (r *Record) Statement(sums map[string]string) Statement {
	s := Statement{Type: "https://in-toto.io/Statement/v1", Predicate: r,
		PredicateType: "https://agent-trace.dev/schemas/v1/trace-record.json",
		Subject:       []Subject{{"commit", map[string]string{"gitCommit": r.VCS.Revision}}}}
	for _, f := range r.Files {
		s.Subject = append(s.Subject, Subject{f.Path, map[string]string{"sha256": sums[f.Path]}})
	}
	return s
}

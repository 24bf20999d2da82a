package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/atomicfile"
	"kerf/internal/text/redact"
)

// Metadata is what is known of a session without reading its records.
type Metadata struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Cwd      string    `json:"cwd"`
	Git      Git       `json:"git,omitzero"`
	Model    string    `json:"model"`
	Provider string    `json:"provider"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Turns    int       `json:"turns"`
	Tokens   int       `json:"tokens"`
	Parent   string    `json:"parent,omitempty"` // the session it was forked or spawned from
	Source   string    `json:"source,omitempty"`
	Archived bool      `json:"archived,omitempty"`
	// Try is the last try that the session worked in: what it changed there is in no
	// ledger but that of the try.
	Try string `json:"try,omitempty"`
}

// Git is the state of the repository when the session began.
type Git struct {
	Root   string `json:"root,omitempty"`
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Dirty says whether the work tree had changes of its own; nil if git did not say.
	Dirty  *bool  `json:"dirty,omitempty"`
	Remote string `json:"remote,omitempty"` // saved without user and password
}

// maxMetadata bounds a metadata file.
const maxMetadata = 1 << 20

// SaveMetadata replaces the metadata of a session: readers see the old or the
// new, at any time, and the file is only the user's. Secrets of known shapes are
// taken out of it; Writer.SaveMetadata knows those of the environment, too.
func SaveMetadata(dir string, m Metadata) error {
	return saveMetadata(dir, m, redact.New(nil).Bytes)
}

// SaveMetadata is the function of that name, with the redaction of w.
func (w *Writer) SaveMetadata(m Metadata) error {
	return saveMetadata(w.dir, m, w.o.Redact)
}

// NoteMetadata is SaveMetadata for those who call Sync or Close later, which make what it wrote
// reach the disk together with the records. Until then a loss of power leaves what was there
// before, or, if that is nothing, a file that LoadMetadata may refuse.
func (w *Writer) NoteMetadata(m Metadata) error {
	b, err := encoded(m, w.o.Redact)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	path := filepath.Join(w.dir, metadataName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := atomicfile.WriteCache(path, b); err != nil {
			return fmt.Errorf("save metadata: %w", err)
		}
		w.loose, w.names = append(w.loose, metadataName), true
		return nil
	}
	if err := atomicfile.WriteSoon(path, b, 0o600); err != nil {
		return fmt.Errorf("save metadata: %w", err)
	}
	w.names = true
	w.loose = slices.DeleteFunc(w.loose, func(name string) bool { return name == metadataName })
	return nil
}

func saveMetadata(dir string, m Metadata, redact func([]byte) []byte) error {
	b, err := encoded(m, redact)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, metadataName), b, 0o600); err != nil {
		return fmt.Errorf("save metadata: %w", err)
	}
	return nil
}

// encoded is the metadata file's content.
func encoded(m Metadata, redact func([]byte) []byte) ([]byte, error) {
	m.Git.Remote = withoutUser(m.Git.Remote)
	b, err := json.Marshal(m)
	if err == nil {
		b, err = redactJSON(b, redact)
	}
	if err != nil {
		return nil, fmt.Errorf("save metadata: %w", err)
	}
	return append(b, '\n'), nil
}

// LoadMetadata reads the metadata of a session. Unknown fields are passed over.
func LoadMetadata(dir string) (Metadata, error) {
	path := filepath.Join(dir, metadataName)
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return Metadata{}, fmt.Errorf("load metadata: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxMetadata+1))
	if err != nil {
		return Metadata{}, fmt.Errorf("load metadata: %w", err)
	}
	if len(b) > maxMetadata {
		return Metadata{}, fmt.Errorf("load metadata: %s is larger than %d bytes", path, maxMetadata)
	}
	var m Metadata
	if err := json.Unmarshal(b, &m); err != nil {
		return Metadata{}, fmt.Errorf("load metadata %s: %w", path, err)
	}
	return m, nil
}

// withoutUser takes the password out of the address of a remote, and the user
// too, who may be a token, unless the scheme is ssh. What precedes an at sign in
// the form host:path (git@host:path) is no secret.
func withoutUser(remote string) string {
	scheme, rest, ok := strings.Cut(remote, "://")
	if !ok {
		return remote
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return remote
	}
	user, _, _ := strings.Cut(rest[:at], ":")
	if rest = rest[at+1:]; strings.HasSuffix(strings.ToLower(scheme), "ssh") {
		rest = user + "@" + rest
	}
	return scheme + "://" + rest
}

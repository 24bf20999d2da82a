package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"kerf/internal/atomicfile"
)

// The names of what is kept beside the records.
const (
	blobsName = "blobs"
	planName  = "plan.md"
)

// maxBlob bounds what LoadBlob reads.
const maxBlob = 64 << 20

// SaveBlob keeps data in the session's directory, once, and returns its name:
// its SHA-256 in hex. A later Sync or Close makes the name of the directory reach the disk.
func (w *Writer) SaveBlob(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	dir := filepath.Join(w.dir, blobsName)
	if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
		return name, nil
	}
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		w.mu.Lock()
		w.names = true
		w.mu.Unlock()
	case !errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("save blob: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(dir, name), data, 0o600); err != nil {
		return "", fmt.Errorf("save blob: %w", err)
	}
	return name, nil
}

// LoadBlob returns what SaveBlob kept in the session directory dir. Content that
// is not what its name says is an error.
func LoadBlob(dir, name string) ([]byte, error) {
	if raw, err := hex.DecodeString(name); err != nil || len(raw) != sha256.Size {
		return nil, fmt.Errorf("load blob: %q is not the name of a blob", name)
	}
	f, err := openRegular(filepath.Join(dir, blobsName, name), os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("load blob: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBlob))
	if err != nil {
		return nil, fmt.Errorf("load blob: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("load blob: %s is damaged", name)
	}
	return data, nil
}

// SavePlan replaces plan.md in the session's directory.
func (w *Writer) SavePlan(text string) error {
	if err := atomicfile.Write(filepath.Join(w.dir, planName), w.o.Redact([]byte(text+"\n")), 0o600); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	return nil
}

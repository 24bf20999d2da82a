// Package bundle holds the result of a task as it is published: exactly what changed, from
// which revision, and who changed it.
package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"kerf/fleet/task"
	"kerf/internal/protocol/wire"
)

// Version is that of the format.
const Version = 1

// Bundle is one result.
type Bundle struct {
	Version    int       `json:"version"`
	Task       string    `json:"task"`
	Repository string    `json:"repository"`
	Base       string    `json:"base"` // the commit that the task began with
	Tree       string    `json:"tree"` // git's id of the files at the end
	Made       time.Time `json:"made"`
	Worker     string    `json:"worker"`
	Session    string    `json:"session"`
	Prompt     string    `json:"prompt"`
	// Outcome is how the task ended, and Problem why it ended early.
	Outcome task.Phase `json:"outcome,omitempty"`
	Problem string     `json:"problem,omitempty"`
	Message string     `json:"message,omitempty"` // the model's last
	// Changes are all paths that differ between Base and Tree.
	Changes []Change `json:"changes"`
	// Patch are the parts of a git patch that has all of it, with binary files and modes.
	Patch []string `json:"patch,omitempty"`
	// Record has the parts of the files of the session, by their path in a Kerf home: what
	// was said and done, and the ledger, each a chain of hashes.
	Record map[string][]string `json:"record,omitempty"`
	Checks []task.CheckResult  `json:"checks,omitempty"`
	// Left says what is not in the bundle, one line each.
	Left []string `json:"left,omitempty"`
	// Hash is over all the other members; see Seal.
	Hash string `json:"hash"`
}

// Change is one path, relative to the repository. A side without a file has no mode.
type Change struct {
	Path   Name `json:"path"`
	Before Side `json:"before"`
	After  Side `json:"after"`
	// Cause is who made it: tool, command, both, or unknown when the ledger does not say.
	Cause     string   `json:"cause"`
	Certainty string   `json:"certainty"` // proven, outside or unproven
	Calls     []string `json:"calls,omitempty"`
}

// Name is a path as git has it. In JSON it is a string, or {"b64": "..."} where it is not UTF-8, as kerf writes both.
type Name string

// MarshalJSON is that of package wire.
func (n Name) MarshalJSON() ([]byte, error) { return wire.Marshal(string(n)) }

// UnmarshalJSON is that of package wire.
func (n *Name) UnmarshalJSON(data []byte) error { return wire.Unmarshal(data, (*string)(n)) }

// Side is a file as git names it.
type Side struct {
	Mode string `json:"mode,omitempty"` // 100644, 100755, 120000 or 160000
	Blob string `json:"blob,omitempty"`
}

// sum is the hash of the bundle without its Hash.
func (b Bundle) sum() (string, error) {
	b.Hash = ""
	data, err := json.Marshal(b)
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:]), nil
}

// Seal sets the hash.
func (b *Bundle) Seal() (err error) {
	b.Version = Version
	b.Hash, err = b.sum()
	return err
}

// Check says whether the bundle is whole.
func (b Bundle) Check() error {
	if b.Version != Version {
		return fmt.Errorf("the bundle of task %s has version %d; this program knows %d", b.Task, b.Version, Version)
	}
	sum, err := b.sum()
	if err == nil && sum != b.Hash {
		err = errors.New("the bundle of task " + b.Task + " was changed: its hash does not fit")
	}
	return err
}

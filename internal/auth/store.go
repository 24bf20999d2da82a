// Package auth keeps the credentials of model providers.
//
// They lie in the system's keyring, or in auth.json, which only the user can
// read. The file is replaced whole: at every moment it is the old or the new one.
package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/zalando/go-keyring"

	"kerf/internal/atomicfile"
)

// Credential is what a provider is reached with: a key, or the tokens of a
// sign-in.
type Credential struct {
	Key string `json:"api_key,omitempty"`

	Access  string    `json:"access_token,omitempty"`
	Refresh string    `json:"refresh_token,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	// Account is the one that was signed in to, where requests name it.
	Account string `json:"account,omitempty"`
}

// Secret is the part that is sent.
func (c Credential) Secret() string {
	if c.Key != "" {
		return c.Key
	}
	return c.Access
}

// Stale reports whether the tokens must be renewed at a moment.
func (c Credential) Stale(now time.Time) bool {
	return c.Key == "" && !c.Expires.IsZero() && !now.Before(c.Expires.Add(-time.Minute))
}

// Place says where a credential lies.
type Place string

// The places.
const (
	InKeyring Place = "keyring"
	InFile    Place = "file"
)

// Mode says where credentials are put.
type Mode string

// The modes: the keyring if there is one, or only one of the places.
const (
	Auto        Mode = "auto"
	FileOnly    Mode = "file"
	KeyringOnly Mode = "keyring"
)

// Store holds credentials by the name of their provider. It may be used by
// several processes.
type Store struct {
	// Home is the directory of auth.json.
	Home string
	Mode Mode
	// Env tells environment variables; nil is os.Getenv.
	Env func(string) string
}

// service names Kerf in the keyring.
const service = "kerf"

// ErrNone is returned for a provider without a credential.
var ErrNone = errors.New("no credential is stored")

// Path is the file of credentials.
func (s *Store) Path() string { return filepath.Join(s.Home, "auth.json") }

// Get returns the credential of a provider and where it lies.
func (s *Store) Get(provider string) (Credential, Place, error) {
	if s.Mode != KeyringOnly {
		all, err := s.read()
		if err != nil {
			return Credential{}, "", err
		}
		if c, ok := all[provider]; ok {
			return c, InFile, nil
		}
	}
	if s.hasKeyring() {
		text, err := keyring.Get(service, provider)
		if err == nil {
			var c Credential
			if err := json.Unmarshal([]byte(text), &c); err != nil {
				return c, "", fmt.Errorf("keyring entry of %s: not written by kerf", provider)
			}
			return c, InKeyring, nil
		}
		if s.Mode == KeyringOnly && !errors.Is(err, keyring.ErrNotFound) {
			return Credential{}, "", fmt.Errorf("keyring: %w", err)
		}
	}
	return Credential{}, "", ErrNone
}

// Put stores a credential and says where.
func (s *Store) Put(provider string, c Credential) (Place, error) {
	if s.hasKeyring() {
		text, err := json.Marshal(c)
		if err != nil {
			return "", err
		}
		if err = keyring.Set(service, provider, string(text)); err == nil {
			return InKeyring, s.change(func(all map[string]Credential) { delete(all, provider) })
		}
		if s.Mode == KeyringOnly {
			return "", fmt.Errorf("keyring: %w", err)
		}
	}
	if s.Mode == KeyringOnly {
		return "", errors.New("keyring: none is running here; set cli_auth_credentials_store = \"file\"")
	}
	return InFile, s.change(func(all map[string]Credential) { all[provider] = c })
}

// Delete removes the credential of a provider wherever it lies.
func (s *Store) Delete(provider string) error {
	_, _, err := s.Get(provider)
	if err != nil {
		return err
	}
	if s.hasKeyring() {
		if err := keyring.Delete(service, provider); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return fmt.Errorf("keyring: %w", err)
		}
	}
	return s.change(func(all map[string]Credential) { delete(all, provider) })
}

// hasKeyring reports whether a keyring may be asked. Without a message bus the
// library would start one.
func (s *Store) hasKeyring() bool {
	if s.Mode == FileOnly {
		return false
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return true
	}
	env := s.Env
	if env == nil {
		env = os.Getenv
	}
	if env("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := env("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil
}

// file is auth.json.
type file struct {
	Version   int                   `json:"version"`
	Providers map[string]Credential `json:"providers"`
}

const (
	fileVersion = 1
	maxFile     = 1 << 20
)

// read returns what the file holds; a file that is not there holds nothing.
func (s *Store) read() (map[string]Credential, error) {
	st, err := os.Lstat(s.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Credential{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxFile {
		return nil, fmt.Errorf("credentials: %s is not a file that kerf wrote; move it away and run kerf login", s.Path())
	}
	b, err := os.ReadFile(s.Path())
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil || f.Version != fileVersion {
		return nil, fmt.Errorf("credentials: %s cannot be read; move it away and run kerf login", s.Path())
	}
	if f.Providers == nil {
		f.Providers = map[string]Credential{}
	}
	return f.Providers, nil
}

// Names are the providers with a credential in the file.
func (s *Store) Names() ([]string, error) {
	all, err := s.read()
	return slices.Sorted(maps.Keys(all)), err
}

// change edits the file under a lock that processes share.
func (s *Store) change(edit func(map[string]Credential)) error {
	if err := os.MkdirAll(s.Home, 0o700); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	lock := flock.New(s.Path()+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock credentials: %w", err)
	}
	defer func() { _ = lock.Unlock() }() // the file is closed with it
	all, err := s.read()
	if err != nil {
		return err
	}
	before := maps.Clone(all)
	edit(all)
	if maps.Equal(before, all) {
		return nil
	}
	b, err := json.MarshalIndent(file{fileVersion, all}, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.Path(), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	return nil
}

package auth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// tokens are those of a sign-in, renewed when they are old or refused. Several processes have
// the same ones: a server that gives a refresh token once only would sign out all but the
// first to use it, so they renew one after the other, and take what another one stored.
type tokens struct {
	keys     *Keys
	provider string
	device   Device
	mu       sync.Mutex
	now      Credential // guarded by mu
}

func (t *tokens) key(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.Stale(time.Now()) {
		if err := t.renew(ctx); err != nil {
			return "", err
		}
	}
	t.keys.Secret(t.now.Secret())
	t.keys.Secret(t.now.Refresh)
	return t.now.Secret(), nil
}

// renew replaces the tokens by those that are stored, if they are others and fresh, or else by
// those that the server gives for them.
func (t *tokens) renew(ctx context.Context) error {
	unlock, err := t.keys.Store.lockRenewal(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	stored, _, err := t.keys.Store.Get(t.provider)
	switch {
	case errors.Is(err, ErrNone):
		return fmt.Errorf("somebody signed out; run kerf login %s again", t.provider)
	case err != nil:
		return err
	}
	if stored.Secret() != t.now.Secret() {
		t.now = stored
	}
	if !t.now.Stale(time.Now()) {
		return nil
	}
	t.keys.Secret(t.now.Refresh)
	fresh, err := t.device.Renew(ctx, t.now)
	if err != nil {
		return err
	}
	t.now = fresh
	_, err = t.keys.Store.Put(t.provider, fresh)
	return err
}

// othersRenew is how long another process is waited for. It gives up the server before that; one
// that was stopped amid it holds nobody up for longer.
const othersRenew = 40 * time.Second

// lockRenewal waits until no other process renews tokens.
func (s *Store) lockRenewal(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(s.Home, 0o700); err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	lock := flock.New(s.Path()+".renew", flock.SetPermissions(0o600))
	waits, cancel := context.WithTimeout(ctx, othersRenew)
	defer cancel()
	if _, err := lock.TryLockContext(waits, 50*time.Millisecond); err != nil && waits.Err() == nil || ctx.Err() != nil {
		return nil, fmt.Errorf("lock credentials: %w", err)
	}
	return func() { _ = lock.Unlock() }, nil // the file is closed with it
}

// header names the account of the sign-in.
func (t *tokens) header() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.device.AccountHeader == "" || t.now.Account == "" {
		return nil
	}
	return map[string]string{t.device.AccountHeader: t.now.Account}
}

func (t *tokens) rejected(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.Secret() != key {
		return true // renewed meanwhile
	}
	if stored, _, err := t.keys.Store.Get(t.provider); err == nil && stored.Secret() != key {
		t.now = stored // somebody signed in again, or renewed
		return true
	}
	if t.now.Key != "" || t.now.Refresh == "" {
		return false
	}
	t.now.Expires = time.Unix(1, 0)
	return true
}

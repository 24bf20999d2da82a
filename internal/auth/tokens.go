package auth

import (
	"context"
	"sync"
	"time"
)

// tokens are those of a sign-in, renewed when they are old or refused.
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
		fresh, err := t.device.Renew(ctx, t.now)
		if err != nil {
			return "", err
		}
		t.now = fresh
		if _, err := t.keys.Store.Put(t.provider, fresh); err != nil {
			return "", err
		}
	}
	t.keys.Secret(t.now.Access)
	t.keys.Secret(t.now.Refresh)
	return t.now.Access, nil
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
	if t.now.Access != key {
		return true // renewed meanwhile
	}
	if t.now.Refresh == "" {
		return false
	}
	t.now.Expires = time.Unix(1, 0)
	return true
}

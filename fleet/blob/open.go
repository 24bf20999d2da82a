package blob

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Open opens the store at an address: a directory, or s3://BUCKET/PREFIX with an optional
// ?endpoint=URL.
func Open(ctx context.Context, address string, key []byte) (*Store, error) {
	if !strings.HasPrefix(address, "s3://") {
		if address == "" {
			return nil, errors.New("no store: give --store DIRECTORY or s3://BUCKET/PREFIX")
		}
		dir, err := filepath.Abs(address)
		if err == nil {
			err = os.MkdirAll(dir, 0o700)
		}
		if err != nil {
			return nil, fmt.Errorf("the store: %w", err)
		}
		return New(Dir{Path: dir}, key)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("the store %q: give s3://BUCKET/PREFIX?endpoint=URL", address)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	b, err := NewS3(ctx, u.Host, prefix, u.Query().Get("endpoint"))
	if err != nil {
		return nil, err
	}
	return New(b, key)
}

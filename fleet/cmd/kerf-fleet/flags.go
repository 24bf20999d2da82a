package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"

	"kerf/fleet/blob"
	"kerf/fleet/desk"
	"kerf/fleet/link"
)

// flags are those of all commands.
type flags struct {
	link   link.Options
	store  string
	secret string // a file
	dir    string // of kerf-fleet dev
	json   bool
}

func (f *flags) add(p *pflag.FlagSet) {
	env := func(name, other string) string {
		if v := os.Getenv("KERF_FLEET_" + name); v != "" {
			return v
		}
		return other
	}
	p.StringVar(&f.link.Address, "address", env("ADDRESS", ""), "the engine's `host:port`")
	p.StringVar(&f.link.Namespace, "namespace", env("NAMESPACE", "default"), "the engine's `namespace`")
	p.StringVar(&f.store, "store", env("STORE", ""), "a `directory`, or s3://BUCKET/PREFIX?endpoint=URL")
	p.StringVar(&f.secret, "secret-file", env("SECRET_FILE", ""), "`file` with 32 bytes in hex that encrypt payloads and the store")
	p.BoolVar(&f.link.TLS, "tls", env("TLS", "") != "", "reach the engine over TLS")
	p.StringVar(&f.link.CA, "tls-ca", env("TLS_CA", ""), "`file` of certificates that the engine's must come from")
	p.StringVar(&f.link.Cert, "tls-cert", env("TLS_CERT", ""), "`file` of the client's certificate")
	p.StringVar(&f.link.Key, "tls-key", env("TLS_KEY", ""), "`file` of its key")
	p.StringVar(&f.link.Server, "tls-server-name", env("TLS_SERVER_NAME", ""), "the `name` in the engine's certificate")
	p.StringVar(&f.dir, "dir", env("DIR", stateDir()), "`directory` of kerf-fleet dev")
	p.BoolVar(&f.json, "json", false, "print JSON")
	f.link.APIKey = os.Getenv("KERF_FLEET_API_KEY") // never a flag: others see those
}

// stateDir is where kerf-fleet dev keeps its data unless told otherwise.
func stateDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kerf-fleet")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "kerf-fleet")
}

// here is what a running kerf-fleet dev tells other commands of this machine.
type here struct {
	Address, Store string
	PID            int
}

func (f *flags) herePath() string { return filepath.Join(f.dir, "dev.json") }

// find fills in what a kerf-fleet dev of this machine has.
func (f *flags) find() error {
	if f.link.Address != "" && f.store != "" {
		return nil
	}
	data, err := os.ReadFile(f.herePath())
	if errors.Is(err, fs.ErrNotExist) {
		return usage("no engine: start one with kerf-fleet dev, or give --address and --store")
	}
	var h here
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err != nil {
		return usage("%s: %v", f.herePath(), err)
	}
	if f.link.Address == "" {
		f.link.Address = h.Address
	}
	if f.store == "" {
		f.store = h.Store
	}
	return nil
}

// desk connects to engine and store. The caller closes the connection.
func (f *flags) desk(ctx context.Context) (desk.Desk, func(), error) {
	if err := f.find(); err != nil {
		return desk.Desk{}, nil, err
	}
	store, err := f.open(ctx)
	if err != nil {
		return desk.Desk{}, nil, err
	}
	c, err := f.link.Dial()
	if err != nil {
		return desk.Desk{}, nil, err
	}
	return desk.Desk{Engine: c, Store: store, Namespace: f.link.Namespace}, c.Close, nil
}

// open opens the store.
func (f *flags) open(ctx context.Context) (*blob.Store, error) {
	var err error
	if f.link.Secret, err = link.ReadSecret(f.secret); err != nil {
		return nil, usage("%v", err)
	}
	store, err := blob.Open(ctx, f.store, f.link.Secret)
	if err != nil {
		return nil, usage("%v", err)
	}
	return store, nil
}

// with runs what a command does with the desk.
func (f *flags) with(ctx context.Context, do func(desk.Desk) error) error {
	d, done, err := f.desk(ctx)
	if err != nil {
		return err
	}
	defer done()
	return do(d)
}

var _ client.Client // the connection of a desk

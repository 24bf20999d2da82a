// Package endpoint is where the server of a Kerf home is found: a unix socket and a file
// that tells its token, both below KERF_HOME/run, which nobody but the user can enter.
package endpoint

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"kerf/internal/atomicfile"
)

// Endpoint is how a server is reached.
type Endpoint struct {
	Socket  string `json:"socket"`
	Token   string `json:"token"`
	PID     int    `json:"pid"`
	Version string `json:"version"` // of Kerf
}

// ErrNone says that no server runs.
var ErrNone = errors.New("no kerf serve is running")

// maxSocket is how long the path of a unix socket may be: sun_path holds 104 bytes on
// macOS and 108 on Linux, with a zero at the end.
const maxSocket = 103

// Listener is a server's socket, which nobody else of the home has.
type Listener struct {
	net.Listener
	Endpoint Endpoint

	lock *flock.Flock
	file string
}

// Listen makes the socket. It lies at path, or below home where path is empty. The error
// names the server that runs already.
func Listen(home, path, version string) (*Listener, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	dir := filepath.Join(home, "run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, err
	}
	if path == "" {
		path = filepath.Join(dir, "serve.sock")
	}
	if len(path) > maxSocket {
		return nil, fmt.Errorf("the path of the socket has %d bytes, more than the %d that a system takes: %s; "+
			"give a shorter one with --socket", len(path), maxSocket, path)
	}
	lock := lockOf(home)
	if ok, err := lock.TryLock(); err != nil || !ok {
		if e, found := Find(home); found == nil {
			return nil, fmt.Errorf("kerf serve runs already, as process %d", e.PID)
		}
		return nil, errors.Join(errors.New("kerf serve runs already"), err)
	}
	l := &Listener{lock: lock, file: fileOf(home), Endpoint: Endpoint{Socket: path, Token: rand.Text(), PID: os.Getpid(),
		Version: version}}
	if err := l.listen(); err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	return l, nil
}

// lockOf is what the server of a home holds as long as it runs.
func lockOf(home string) *flock.Flock {
	return flock.New(filepath.Join(home, "run", "serve.lock"), flock.SetPermissions(0o600))
}

// Ended reports whether the server of a home is over, so that another one can begin: its file is
// removed before its lock is given up.
func Ended(home string) bool {
	if _, err := Find(home); !errors.Is(err, ErrNone) {
		return false
	}
	lock := lockOf(home)
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return errors.Is(err, fs.ErrNotExist) // the home is gone
	}
	return lock.Unlock() == nil
}

func fileOf(home string) string { return filepath.Join(home, "run", "serve.json") }

func (l *Listener) listen() error {
	path := l.Endpoint.Socket
	if st, err := os.Lstat(path); err == nil {
		if st.Mode().Type() != fs.ModeSocket {
			return fmt.Errorf("%s is there and is no socket", path)
		}
		if c, err := net.Dial("unix", path); err == nil {
			_ = c.Close()
			return fmt.Errorf("%s is the socket of another program", path)
		}
		if err := os.Remove(path); err != nil { // of a server that was killed
			return err
		}
	}
	ln, err := private(func() (net.Listener, error) { return (&net.ListenConfig{}).Listen(context.Background(), "unix", path) })
	if err != nil {
		return err
	}
	l.Listener = known{ln}
	b, err := json.Marshal(l.Endpoint)
	if err == nil {
		err = atomicfile.Write(l.file, append(b, '\n'), 0o600)
	}
	if err != nil {
		_ = ln.Close()
	}
	return err
}

// Release removes what Listen made. The listener is closed before.
func (l *Listener) Release() error {
	err := errors.Join(os.Remove(l.file), notMissing(os.Remove(l.Endpoint.Socket)))
	return errors.Join(err, l.lock.Unlock())
}

func notMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// known accepts only the user's own programs.
type known struct{ net.Listener }

func (k known) Accept() (net.Conn, error) {
	for {
		c, err := k.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if own(c.(*net.UnixConn)) {
			return c, nil
		}
		_ = c.Close()
	}
}

// Find reads how the server of a home is reached. The error is ErrNone when none runs.
func Find(home string) (Endpoint, error) {
	var e Endpoint
	b, err := os.ReadFile(fileOf(home))
	if errors.Is(err, fs.ErrNotExist) {
		return e, ErrNone
	}
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("%w: %s is damaged: %w", ErrNone, fileOf(home), err)
	}
	return e, nil
}

// Dial connects to the server of a home. The error wraps ErrNone when none runs.
func Dial(ctx context.Context, home string) (net.Conn, Endpoint, error) {
	e, err := Find(home)
	if err != nil {
		return nil, e, err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", e.Socket)
	if err != nil { // it was killed
		return nil, e, fmt.Errorf("%w: %w", ErrNone, err)
	}
	if !own(c.(*net.UnixConn)) {
		_ = c.Close()
		return nil, e, fmt.Errorf("%s is served by another user", e.Socket)
	}
	return c, e, nil
}

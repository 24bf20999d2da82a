package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/front/web/fleet"
)

// tasks asks a kerf-fleet of this user for its tasks, over a socket that only the user can
// reach.
type tasks struct{ client http.Client }

// fleetSocket is where kerf-fleet listens unless it is told otherwise.
func fleetSocket() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "kerf-fleet", "tasks.sock")
}

// findFleet returns the fleet at a socket, or nil where none is named and none is there.
func findFleet(socket string) (fleet.Fleet, error) {
	named := socket != ""
	if !named {
		socket = fleetSocket()
	}
	if info, err := os.Stat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		if named {
			return nil, program.Misuse("--fleet %s is no socket; kerf-fleet dev and kerf-fleet pages make one", socket)
		}
		return nil, nil
	}
	f := &tasks{}
	f.client.Timeout = 10 * time.Second
	f.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	return f, nil
}

// fleetLimit bounds an answer of kerf-fleet, in bytes.
const fleetLimit = 16 << 20

// Tasks is [fleet.Fleet].
func (f *tasks) Tasks(ctx context.Context) (list []fleet.Task, err error) {
	data, err := f.ask(ctx, http.MethodGet, "tasks", nil)
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(data, &list)
}

// Answer is [fleet.Fleet].
func (f *tasks) Answer(ctx context.Context, a fleet.Answer) error {
	data, err := json.Marshal(a)
	if err == nil {
		_, err = f.ask(ctx, http.MethodPost, "answer", data)
	}
	return err
}

// ask sends one request and returns what is answered.
func (f *tasks) ask(ctx context.Context, method, what string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://kerf-fleet/"+what, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	a, err := f.client.Do(r)
	if err != nil {
		return nil, errors.New("its socket does not answer; is it running?")
	}
	defer a.Body.Close()
	data, err := io.ReadAll(io.LimitReader(a.Body, fleetLimit))
	switch {
	case err != nil:
		return nil, err
	case a.StatusCode == http.StatusNotFound, a.StatusCode == http.StatusMethodNotAllowed:
		return nil, fmt.Errorf("this kerf-fleet is older than kerf web and knows no %s", what)
	case a.StatusCode >= http.StatusBadRequest:
		return nil, errors.New(strings.TrimSpace(fmt.Sprintf("%.2000s", data)))
	}
	return data, nil
}

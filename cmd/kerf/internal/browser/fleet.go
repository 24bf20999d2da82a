package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/front/web"
)

// fleet asks a kerf-fleet of this user for its tasks, over a socket that only the user can
// reach.
type fleet struct{ client http.Client }

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
func findFleet(socket string) (web.Fleet, error) {
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
	f := &fleet{}
	f.client.Timeout = 10 * time.Second
	f.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	return f, nil
}

// fleetLimit bounds an answer of kerf-fleet, in bytes.
const fleetLimit = 16 << 20

// Tasks is [web.Fleet].
func (f *fleet) Tasks(ctx context.Context) ([]web.FleetTask, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://kerf-fleet/tasks", nil)
	if err != nil {
		return nil, err
	}
	a, err := f.client.Do(r)
	if err != nil {
		return nil, errors.New("its socket does not answer; is it running?")
	}
	defer a.Body.Close()
	data, err := io.ReadAll(io.LimitReader(a.Body, fleetLimit))
	if err != nil {
		return nil, err
	}
	if a.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%.500s", data)
	}
	var list []web.FleetTask
	return list, json.Unmarshal(data, &list)
}

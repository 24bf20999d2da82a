package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kerf/fleet/task"
)

// settings writes the configuration of the task's home: the worker's, and what the fleet
// needs. Keys are linked, never copied to the store.
func (w *Worker) settings(t task.Task, f files, cache string) error {
	var b bytes.Buffer
	if w.Home != "" {
		own, err := os.ReadFile(filepath.Join(w.Home, "config.toml"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		b.Write(own)
		for _, name := range []string{"auth.json", "models.json"} {
			if data, err := os.ReadFile(filepath.Join(w.Home, name)); err == nil {
				if err = os.WriteFile(filepath.Join(f.home, name), data, 0o600); err != nil {
					return err
				}
			}
		}
	}
	// A session waits here before each call, so that what is kept belongs together.
	fmt.Fprintf(&b, "\n[[hooks.PreToolUse]]\ncommand = %s\ntimeout = 600\n", quote(gateCommand(f.dir)))
	b.WriteString(w.rules(f, cache))
	return os.WriteFile(filepath.Join(f.home, "config.toml"), b.Bytes(), 0o600)
}

// rulesName is that of the permissions of tasks.
const rulesName = "kerf-fleet"

// rules hide what belongs to other tasks.
func (w *Worker) rules(f files, cache string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n[permissions.%s.filesystem]\n%s = \"none\"\n%s = \"read\"\n%s = \"write\"\n",
		rulesName, quote(w.Root), quote(cache), quote(f.tree))
	for _, dir := range append([]string{w.Home}, w.Hidden...) {
		if dir == "" {
			continue
		}
		fmt.Fprintf(&b, "%s = \"none\"\n", quote(dir))
	}
	return b.String()
}

// quote writes a text as TOML, whose basic strings take JSON's escapes.
func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// overrides are the settings that win over the worker's.
func (w *Worker) overrides(f files, scenario bool) (args []string) {
	set := []string{"default_permissions=" + quote(rulesName)}
	if scenario {
		set = append(set, `model_provider="kerf_fleet_script"`, `model_providers.kerf_fleet_script.name="script"`,
			`model_providers.kerf_fleet_script.wire_api="script"`,
			"model_providers.kerf_fleet_script.base_url="+quote(filepath.Join(f.dir, scenarioFile)))
	}
	for _, s := range set {
		args = append(args, "-c", s)
	}
	return args
}

const scenarioFile = "scenario.json"

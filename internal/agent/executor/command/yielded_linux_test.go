package command

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kerf/internal/agent/executor/outputlog"
	"kerf/internal/agent/executor/usershell"
	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
	"kerf/internal/work/boundary"
)

// remover takes a directory away that was to be mounted.
type remover struct{ dir string }

func (remover) Socket() *os.File    { return nil }
func (remover) OneRoot()            {}
func (r remover) Ignore(_ []string) { _ = os.RemoveAll(r.dir) }

// TestACommandThatNeverBeganIsNoneThatRan: its call may return before the launcher fails. Who asks
// later is told so.
func TestACommandThatNeverBeganIsNoneThatRan(t *testing.T) {
	for i, yield := range []time.Duration{time.Minute, time.Minute, 1} {
		base, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		dir, gone := filepath.Join(base, "w"), filepath.Join(base, "gone")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(gone, 0o700)); err != nil {
			t.Fatal(err)
		}
		r := New(Options{Outputs: &outputlog.Store{}, OutputTokens: 1000,
			Shell: usershell.New(usershell.Options{Env: func(bool) []string { return os.Environ() }}),
			Sandbox: func(m protocol.SandboxMode) boundary.Policy {
				return boundary.Policy{Mode: string(m), Roots: []string{dir, gone}, Cwd: dir}
			}})
		t.Cleanup(r.Close)
		o := RunOptions{Settings: protocol.Settings{Sandbox: protocol.SandboxWorkspace}, Watch: remover{gone}}
		control := i == 0
		if control {
			o.Watch = remover{filepath.Join(gone, "nothing")}
		}
		res := r.Run(t.Context(), tool.Command{Line: "touch made", Dir: dir, Yield: yield, Argv: []string{"touch", "made"}}, o)
		if res.Running {
			if res, err = r.WriteStdin(t.Context(), tool.WriteStdin{Process: res.Process(), Yield: time.Minute}); err != nil {
				t.Fatal(err)
			}
		}
		if control {
			if res.NoSandbox {
				t.Skip("no sandbox works here: " + res.Text())
			}
			if !res.Success() {
				t.Errorf("with the directory it ends so: %+v", res)
			}
			continue
		}
		if !res.NoSandbox || res.Success() || res.Started {
			t.Errorf("yield %s: %+v", yield, res)
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
			t.Error("it ran")
		}
	}
}

package sandbox

import (
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/launch"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func BenchmarkBareBwrap(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command("bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--ro-bind",
			"/", "/", "--dev", "/dev", "--proc", "/proc", "true")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
}

func BenchmarkBareExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOwnLauncher(b *testing.B)    { wrapped(b, boundary.OwnLauncher) }
func BenchmarkWithBubblewrap(b *testing.B) { wrapped(b, boundary.Bubblewrap) }

// BenchmarkOwnLauncherBare is the launcher with a plan as small as that of the
// bare bubblewrap.
func BenchmarkOwnLauncherBare(b *testing.B) {
	pl := boundary.Plan{Mode: boundary.ReadOnly, Cwd: "/"}
	for b.Loop() {
		file, err := programFile(compile(pl, []string{"true"}))
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe", launch.Flag)
		cmd.ExtraFiles = []*os.File{file}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		file.Close()
	}
}

func wrapped(b *testing.B, backend string) {
	work := b.TempDir()
	if out, err := exec.Command("git", "init", "-q", work).CombinedOutput(); err != nil {
		b.Fatalf("%s", out)
	}
	policy := boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{work}, Cwd: work, TmpDir: b.TempDir(),
		LockDir: filepath.Join(b.TempDir(), "locks"), Backend: backend}
	for b.Loop() {
		pl, err := boundary.Resolve(policy, boundary.Disk{})
		if err != nil {
			b.Fatal(err)
		}
		box, err := Wrap(b.Context(), pl, []string{"true"})
		if err != nil {
			b.Fatal(err)
		}
		p, err := proc.Start(b.Context(), proc.Spec{Argv: box.Argv, Dir: work, Env: os.Environ(), ExtraFiles: box.Files,
			Confined: true, Started: box.Started})
		if err != nil {
			b.Fatal(err)
		}
		p.Wait(-1)
		if code, _, _ := p.ExitCode(); code != 0 {
			text, _ := p.Output()
			b.Fatalf("%s", text)
		}
		box.Close()
	}
}

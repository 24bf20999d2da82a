package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/launch"
)

// judges tell by other means than Kerf's whether a backend can work on this machine.
var judges = map[string]func() error{
	boundary.OwnLauncher: func() error {
		return exec.Command("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "--ipc", "--uts",
			"--cgroup", "sh", "-c", "mount -t tmpfs tmpfs /tmp && mount -t proc proc /proc").Run()
	},
	boundary.Bubblewrap: func() error {
		bwrap, err := proc.Program("bwrap", nil)
		if err != nil {
			return err
		}
		return exec.Command(bwrap, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true").Run()
	},
	boundary.Landlock: func() error {
		version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
		if errno != 0 || version < 6 {
			return fmt.Errorf("landlock has version %d: %w", int(version), errno)
		}
		return nil
	},
}

// TestNoBackendIsMissed: one that can work here is found to work. Otherwise every other test of it
// would be left out, and nobody would see that it is broken.
func TestNoBackendIsMissed(t *testing.T) {
	found := map[string]error{}
	for _, b := range Backends(t.Context()) {
		found[b.Name] = b.Err
	}
	for name, judge := range judges {
		err, told := found[name]
		if !told {
			t.Errorf("%s is not told of", name)
		}
		if cannot := judge(); cannot != nil {
			t.Logf("%s cannot work here: %v", name, cannot)
		} else if err != nil {
			t.Errorf("%s would work here and does not: %v", name, err)
		}
	}
}

// TestABackendIsTheOneThatWasAskedFor: each has a launcher of its own.
func TestABackendIsTheOneThatWasAskedFor(t *testing.T) {
	bwrap, _ := proc.Program("bwrap", nil)
	want := map[string]string{boundary.OwnLauncher: "/proc/self/exe", boundary.Landlock: "/proc/self/exe",
		boundary.Bubblewrap: bwrap}
	for _, b := range Backends(t.Context()) {
		if b.Err != nil {
			continue // TestNoBackendIsMissed tells whether that is true
		}
		s := newSite(t)
		s.policy.Mode, s.policy.Backend, s.policy.TmpDir = boundary.ReadOnly, b.Name, ""
		box, err := Prepare(t.Context(), s.policy, false, []string{"true"})
		if err != nil {
			t.Errorf("%s: %v", b.Name, err)
			continue
		}
		if box.Argv[0] != want[b.Name] || !box.Enforced() {
			t.Errorf("%s is started with %q, enforced %v", b.Name, box.Argv, box.Enforced())
		}
		if lands := b.Name == boundary.Landlock; box.Confined == lands || box.OneRoot != (b.Name == boundary.OwnLauncher) {
			t.Errorf("%s: led by a launcher %v, one root %v", b.Name, box.Confined, box.OneRoot)
		}
		box.Close()
	}
}

// TestLandlockNeedsNoDescriptorForEachRule: there may be more rules than a process may have files
// open.
func TestLandlockNeedsNoDescriptorForEachRule(t *testing.T) {
	s := newLandlockSite(t)
	for i := range 100 { // each is opened by itself, since one beside them is closed
		s.write(fmt.Sprintf("%s/d%d/f", s.home, i), "open")
	}
	s.write(s.home+"/secret/f", "SECRET")
	s.policy.DenyRead = []string{s.home + "/secret"}
	box, err := Prepare(t.Context(), s.policy, false, []string{"sh", "-c", "cat $HOME/d7/f $HOME/d99/f $HOME/secret/f"})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	box.Argv = []string{"bash", "-c", `ulimit -n 40; exec "$0" "$@"`, self, launch.Flag}
	if text, _ := s.start(box); !strings.HasPrefix(text, "openopen") || strings.Contains(text, "SECRET") {
		t.Errorf("got %s", text)
	}
}

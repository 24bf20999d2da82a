package sandbox

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/launch"
)

// layered needs a kernel with Landlock.
func layered(t *testing.T) {
	if landlockVersion() == 0 {
		t.Skip("this kernel has no Landlock")
	}
}

// apart puts the site of a test where no private /tmp is.
func apart(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "kerf-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
}

// without runs a script under the Landlock rules of the policy and nothing else, as if
// every mount, namespace and filter had been forgotten. streams are its own, as far as they go.
func (s *site) without(script string, streams ...*os.File) (string, int) {
	s.t.Helper()
	pl, err := boundary.Resolve(s.policy, boundary.Disk{})
	if err != nil {
		s.t.Fatal(err)
	}
	file, err := programFile(restricted(pl, []string{"bash", "-c", script}))
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command("/proc/self/exe", launch.Flag)
	cmd.ExtraFiles, cmd.Dir = []*os.File{file}, s.work
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	for i, f := range streams {
		switch i {
		case 0:
			cmd.Stdin = f
		case 1:
			cmd.Stdout = f
		case 2:
			cmd.Stderr = f
		}
	}
	_ = cmd.Run()
	return out.String(), cmd.ProcessState.ExitCode()
}

func TestSEC_F1_LandlockHoldsWithoutMounts(t *testing.T) {
	layered(t)
	apart(t)
	s := newSite(t)
	s.write(s.home+"/.ssh/id", "the key\n")
	s.write(s.home+"/notes", "seen\n")
	s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.home + "/.ssh", Access: boundary.None})
	if text, code := s.outside("cat " + s.home + "/.ssh/id && echo x > " + s.out + "/control"); code != 0 {
		t.Fatalf("control: %s", text)
	}
	if text, code := s.without("set -e; echo x > made; mkdir d; mv made d/moved; ln d/moved d/second; cat d/second; rm -r d; " +
		"cat " + s.home + "/notes; ls " + s.home + " >/dev/null; echo x >/dev/null; echo to >/dev/stderr; true </dev/stdin"); code != 0 {
		t.Errorf("what is allowed does not work: %d %s", code, text)
	}
	for name, script := range map[string]string{
		"write":       "echo x > " + s.out + "/made",
		"overwrite":   "echo x > " + s.out + "/victim",
		"append":      "echo x >> " + s.out + "/victim",
		"truncate":    "truncate -s 0 " + s.out + "/victim",
		"remove":      "rm -f " + s.out + "/victim",
		"rename":      "mv " + s.out + "/victim " + s.out + "/other",
		"take":        "mv " + s.out + "/victim taken",
		"directory":   "mkdir " + s.out + "/d",
		"link":        "ln -s x " + s.out + "/l",
		"second name": "ln " + s.out + "/victim second",
		"kernel":      "echo 1 > /proc/sys/kernel/dmesg_restrict",
		"hidden":      "cat " + s.home + "/.ssh/id",
		"through":     "cat /proc/self/root" + s.home + "/.ssh/id",
		"by link":     "ln -s " + s.home + "/.ssh/id key && cat key",
		"device":      "mknod dev b 7 0",
	} {
		if text, code := s.without(script); code == 0 {
			t.Errorf("%s: it worked: %s", name, text)
		}
	}
	if got, err := os.ReadFile(s.out + "/victim"); err != nil || string(got) != "precious\n" {
		t.Errorf("the victim is %q, %v", got, err)
	}
	// A directory among the streams opens nothing.
	home, err := os.Open(s.home)
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	if text, code := s.without("cat "+s.home+"/.ssh/id; echo x > "+s.home+"/made", home); code == 0 || strings.Contains(text, "key") {
		t.Errorf("a directory as input: %d %s", code, text)
	}
}

func TestSEC_K1_LandlockScopesSignalsAndAbstractSockets(t *testing.T) {
	layered(t)
	if landlockVersion() < 6 {
		t.Skipf("version %d has no scopes", landlockVersion())
	}
	s := newSite(t)
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleeper.Wait()
	defer sleeper.Process.Kill()
	kill := fmt.Sprintf("kill -0 %d", sleeper.Process.Pid)
	if text, code := s.outside(kill); code != 0 {
		t.Fatalf("control: %s", text)
	}
	if text, code := s.without(kill); code == 0 {
		t.Errorf("a signal: %s", text)
	}
	if text, code := s.without("sleep 60 & kill $!"); code != 0 {
		t.Errorf("a signal to its own child: %s", text)
	}
	name := fmt.Sprintf("@kerf-test-%d", os.Getpid())
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connect := "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0" + name[1:] + "\")'"
	if text, code := s.outside(connect); code != 0 {
		t.Fatalf("control: %s", text)
	}
	if text, code := s.without(connect); code == 0 || !strings.Contains(text, "Operation not permitted") {
		t.Errorf("an abstract socket: %d %s", code, text)
	}
}

// Both ways to make namespaces have the rules below them.
func TestSEC_F1_LandlockIsUnderTheNamespaces(t *testing.T) {
	layered(t)
	each(t, func(t *testing.T) {
		s := newSite(t)
		// Mounts leave a new name in /proc/self alone; Landlock does not.
		text, _ := s.inside("echo a > /proc/self/comm; echo $?")
		if !strings.Contains(text, "Permission denied") {
			t.Errorf("got %s", text)
		}
		if text, code := s.outside("echo a > /proc/self/comm"); code != 0 {
			t.Errorf("control: %s", text)
		}
	})
}

// Each version gets all rights that it knows and none that it does not: with an unknown one the kernel
// takes no rules at all, and one that is left out holds nobody.
func TestHandledRightsOfEachVersion(t *testing.T) {
	reading := uint64(unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE)
	for version, want := range map[int]struct{ size, rights int }{
		1: {8, 13}, 2: {8, 14}, 3: {8, 15}, 4: {8, 15}, 5: {8, 16}, 6: {24, 16}, 7: {24, 16}, 99: {24, 16},
	} {
		attributes, rights := handled(version, true)
		if len(attributes) != want.size {
			t.Errorf("version %d: %d bytes", version, len(attributes))
		}
		// All but the listing of directories, which tells names and not what they hold.
		if all := uint64(1)<<want.rights - 1; rights != all&^unix.LANDLOCK_ACCESS_FS_READ_DIR {
			t.Errorf("version %d: rights %#x", version, rights)
		}
		if _, writing := handled(version, false); writing != rights&^reading {
			t.Errorf("version %d, without reading: rights %#x", version, writing)
		}
	}
}

// TestStreamsCanBeOpenedAgain: a command may open its own streams by their names where these are files of
// places that it does not reach, to read its input and to write its output, and gains no other right to them.
func TestStreamsCanBeOpenedAgain(t *testing.T) {
	layered(t)
	apart(t)
	s := newSite(t)
	s.write(s.home+"/.ssh/id", "the key\n")
	s.write(s.home+"/.ssh/beside", "another\n")
	s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.home + "/.ssh", Access: boundary.None})
	for _, c := range []struct {
		script   string
		code     bool
		out, err string // what they hold in the end
	}{
		{"cat /dev/stdin > /dev/stdout", true, "the key\n", ""},
		{"echo told >> /dev/stderr", true, "", "told\n"},
		{"echo x > /dev/stdin", false, "", "denied"},
		{"cat " + s.home + "/.ssh/beside", false, "", "denied"},
		{"echo x >> " + s.out + "/victim", false, "", "denied"},
	} {
		var streams []*os.File
		for _, name := range []string{s.home + "/.ssh/id", s.out + "/out", s.out + "/err"} {
			f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			streams = append(streams, f)
		}
		for _, f := range streams[1:] {
			if err := f.Truncate(0); err != nil {
				t.Fatal(err)
			}
		}
		_, code := s.without(c.script, streams...)
		out, _ := os.ReadFile(s.out + "/out")
		said, _ := os.ReadFile(s.out + "/err")
		if (code == 0) != c.code || string(out) != c.out || !strings.Contains(string(said), c.err) {
			t.Errorf("%s: %d, output %q, errors %q", c.script, code, out, said)
		}
	}
}

// TestSEC_K4_NoFilesOfKerfInside, also where the kernel has no Landlock.
func TestSEC_K4_NoFilesOfKerfInside(t *testing.T) {
	was := landlockVersion
	t.Cleanup(func() { landlockVersion = was })
	for _, version := range []int{was(), 0} {
		landlockVersion = func() int { return version }
		each(t, func(t *testing.T) {
			s := newSite(t)
			if text, code := s.run("ls", "/proc/self/fd"); text != "0\n1\n2\n3\n" || code != 0 { // the last is ls's own
				t.Errorf("Landlock %d: %d %q", version, code, text)
			}
		})
	}
}

package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/seccomp"

	"golang.org/x/sys/unix"
)

// TestSEC_F1_F2_F3_F4_F5_N3_N4_K5_K7_LandlockAlone runs the attacks again where Landlock
// is all there is, as where no namespaces may be made. Each has the control that it has
// with the other backends.
func TestSEC_F1_F2_F3_F4_F5_N3_N4_K5_K7_LandlockAlone(t *testing.T) {
	writes := maps.Clone(writesOutside)
	maps.Copy(writes, writesThroughProc)
	for name, script := range writes {
		s := newLandlockSite(t)
		t.Setenv("OUT", s.out)
		dir := s.out
		if name == "home" {
			dir = s.home
		}
		s.attack(name, dir, script)
	}
	s := newLandlockSite(t)
	t.Setenv("OUT", s.out)
	s.write(s.work+"/f", "x")
	for _, script := range []string{"mount --bind . $OUT", "umount -l /proc", "unshare -m true", "unshare -Ur true", "chroot . /bin/true",
		"nsenter -t 1 -m true", "mknod /tmp/kerf-test-disk b 259 0", "cat /dev/mem", "cat /dev/kmsg",
		"echo x > /dev/shm/kerf-test-landlock", "head -c1 /dev/sda || head -c1 /dev/vda || head -c1 /dev/nvme0n1",
		"cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern", "mkdir /sys/fs/cgroup/kerf-test",
		"chmod 600 $OUT/victim", "chmod 4755 $OUT/victim", "chown 1 $OUT/victim", "touch $OUT/victim", `python3 -c "import os; os.setxattr('$OUT/victim', 'user.x', b'y')"`,
		`python3 -c "import fcntl, struct; fcntl.ioctl(open('$OUT/victim'), 0x40086602, struct.pack('l', 0x40))"`} {
		if text, code := s.inside(script); code == 0 {
			t.Errorf("%s: succeeded: %s", script, text)
		}
	}
	text, _ := s.inside("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		if want := map[string]string{"NoNewPrivs": "1", "Seccomp": "2"}[name]; want != "" && value != want ||
			want == "" && name != "CapBnd" && value != "0000000000000000" {
			t.Errorf("%s is %s", name, value)
		}
	}
	if seccomp.NativeArch != unix.AUDIT_ARCH_X86_64 {
		return // the numbers of the calls are those of amd64
	}
	if text, code := s.run("python3", "-c", families+`
refused("io_uring_setup", 425, 8, ctypes.create_string_buffer(200))
refused("ptrace", 101, 16, 1, 0, 0)
refused("keyctl", 250, 0, -3, 0)
refused("bpf", 321, 0, 0, 0)
refused("clone user", 56, 0x10000011, 0, 0, 0, 0)
refused("setns", 308, 0, 0)
`); text != "" || code != 0 {
		t.Errorf("got %d %s", code, text)
	}
}

// The limits are the kernel's own, so they hold with Landlock, too.
func TestSEC_O4_LandlockLimitsAreHit(t *testing.T) {
	s := newLandlockSite(t)
	s.policy.Limits = boundary.Limits{Processes: 40, FileBytes: 1 << 20, DataBytes: 256 << 20}
	for script, want := range map[string]bool{"x = bytearray(1 << 30)": false, "x = bytearray(100 << 20)": true} {
		if text, code := s.run("python3", "-c", script); (code == 0) != want {
			t.Errorf("%s: %d %s", script, code, text)
		}
	}
	if text, _ := s.inside("ulimit -f; ulimit -c; ulimit -u"); text != "1024\n0\n40\n" {
		t.Errorf("limits of files, cores and processes: %q", text)
	}
}

// row is one of the table in doc/sandbox.md.
type row struct{ what, landlock, tests string }

// TestTheTableOfBackendsIsTrue wants for each row of the table in doc/sandbox.md a test of
// that id, and one that runs with Landlock where the row says yes there.
func TestTheTableOfBackendsIsTrue(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "doc", "sandbox.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "## What holds with which backend\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var rows []row
	for line := range strings.Lines(table) {
		if c := strings.Split(line, "|"); len(c) == 9 && !strings.HasPrefix(line, "| ---") && !strings.HasPrefix(line, "| what") {
			rows = append(rows, row{strings.TrimSpace(c[1]), strings.TrimSpace(c[4]), strings.TrimSpace(c[7])})
		}
	}
	if len(rows) < 15 {
		t.Fatalf("%d rows were found", len(rows))
	}
	tests := securityTests(t)
	for _, r := range rows {
		if fault := r.unshown(tests); fault != "" {
			t.Errorf("%s: %s", r.what, fault)
		}
	}
	for _, seeded := range []row{{"x", "yes", ""}, {"x", "no", "F99"}, {"x", "yes", "F6"}} {
		if seeded.unshown(tests) == "" {
			t.Errorf("a row that is not shown passes: %v", seeded)
		}
	}
}

// unshown says what is not shown by tests, or nothing.
func (r row) unshown(tests []string) string {
	if r.tests == "" {
		return "no test is named"
	}
	alone := !strings.HasPrefix(r.landlock, "yes")
	for id := range strings.SplitSeq(r.tests, ", ") {
		shown := false
		for _, name := range tests {
			part := regexp.MustCompile(`(^|_)` + id + `(_|$)`).MatchString(name)
			shown = shown || part
			alone = alone || part && strings.Contains(name, "Landlock")
		}
		if !shown {
			return "there is no test " + id
		}
	}
	if !alone {
		return "no test runs it with Landlock"
	}
	return ""
}

// securityTests are the names of those of the sandbox, without what all begin with.
func securityTests(t *testing.T) (names []string) {
	files, err := filepath.Glob("*_test.go")
	more, _ := filepath.Glob("proxy/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func TestSEC_(\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/seccomp"
)

// callNames are those of the calls that launchers make.
var callNames = map[uint64]string{launch.Store: "store", unix.SYS_OPENAT: "openat", unix.SYS_WRITE: "write", unix.SYS_CLOSE: "close",
	unix.SYS_MOUNT: "mount", unix.SYS_OPENAT2: "openat2", unix.SYS_OPEN_TREE: "open_tree", unix.SYS_MOUNT_SETATTR: "mount_setattr",
	unix.SYS_MOVE_MOUNT: "move_mount", unix.SYS_FCHDIR: "fchdir", unix.SYS_PIVOT_ROOT: "pivot_root", unix.SYS_UMOUNT2: "umount2",
	unix.SYS_CHDIR: "chdir", unix.SYS_SYMLINKAT: "symlinkat", unix.SYS_MKDIRAT: "mkdirat", unix.SYS_FCHMODAT: "fchmodat",
	unix.SYS_MKNODAT: "mknodat", unix.SYS_SOCKET: "socket", unix.SYS_IOCTL: "ioctl", unix.SYS_BIND: "bind", unix.SYS_LISTEN: "listen",
	unix.SYS_SENDMSG: "sendmsg", unix.SYS_PRLIMIT64: "prlimit64", unix.SYS_KEYCTL: "keyctl", unix.SYS_PRCTL: "prctl",
	unix.SYS_CAPSET: "capset", unix.SYS_SECCOMP: "seccomp", unix.SYS_LANDLOCK_CREATE_RULESET: "landlock_create_ruleset",
	unix.SYS_LANDLOCK_ADD_RULE: "landlock_add_rule", unix.SYS_LANDLOCK_RESTRICT_SELF: "landlock_restrict_self", unix.SYS_MMAP: "mmap",
	unix.SYS_DUP3: "dup3"}

// listing reads an encoded program back.
type listing struct {
	b        []byte
	pointers map[uint64]bool // where one stands
	starts   []uint64        // of all that is pointed to
	names    map[uint16]string
}

func (l *listing) word(at uint64) uint64 { return binary.NativeEndian.Uint64(l.b[at:]) }

// lines are its calls, one a line, with what their pointers lead to.
func lines(p *launch.Program) []string {
	l := &listing{b: p.Encode(), pointers: map[uint64]bool{}, names: map[uint16]string{}}
	const stepSize = 80
	steps, count := l.word(8*5), l.word(8*6)
	for i := range l.word(8 * 8) {
		at := l.word(l.word(8*7) + 8*i)
		l.pointers[at] = true
		l.starts = append(l.starts, l.word(at))
	}
	for i := range count {
		l.starts = append(l.starts, l.word(steps+i*stepSize+72))
	}
	l.starts = append(l.starts, l.word(8*9), l.word(8*11), uint64(len(l.b)))
	slices.Sort(l.starts)
	all := []string{fmt.Sprintf("clone %#x, terminal %d, inherit %d, %d arguments, %d variables", l.word(8*2), l.word(8*3), l.word(8*13),
		l.word(8*10), l.word(8*12))}
	for i := range count {
		all = append(all, l.step(steps+i*stepSize))
	}
	return all
}

// step is note: name(arguments) and what becomes of the result.
func (l *listing) step(at uint64) string {
	name, ok := callNames[l.word(at)]
	if !ok {
		name = fmt.Sprintf("call %d", l.word(at))
	}
	var args []string
	last := 0
	for i := range uint64(6) {
		var arg string
		switch in := binary.NativeEndian.Uint16(l.b[at+56+2*i:]); {
		case in != 0:
			arg = l.names[in]
		case l.pointers[at+8+8*i]:
			arg = l.block(l.word(at + 8 + 8*i))
		default:
			arg = strconv.FormatInt(int64(l.word(at+8+8*i)), 10)
		}
		if args = append(args, arg); arg != "0" {
			last = len(args)
		}
	}
	line := l.text(l.word(at+72)) + ": " + name + "(" + strings.Join(args[:last], ", ") + ")"
	if out := binary.NativeEndian.Uint16(l.b[at+68:]); out != 0 {
		of := args[0]
		if i := slices.IndexFunc(args, func(arg string) bool { return arg[0] == '"' || arg[0] == '<' }); i >= 0 {
			of = args[i]
		}
		l.names[out] = "<" + name + " of " + of + ">"
		line += " is kept"
	}
	if skip, optional := l.b[at+70], l.b[at+71]; optional != 0 || skip != 0 {
		line += fmt.Sprintf("; if it fails (%d), without the next %d", optional, skip)
	}
	return line
}

func (l *listing) text(at uint64) string { return unix.ByteSliceToString(l.b[at:]) }

// block is what lies at a place: words, or words of a language.
func (l *listing) block(at uint64) string {
	i, within := slices.BinarySearch(l.starts, at)
	end := at
	for _, start := range l.starts[i:] {
		if end = start; start > at {
			break
		}
	}
	if !within {
		return "?"
	}
	b := l.b[at:end]
	if len(b) > 400 {
		return "a filter"
	}
	if s := strings.TrimRight(string(b), "\x00"); s != "" && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		return strconv.Quote(s)
	}
	var words []string
	for i := uint64(0); i+8 <= uint64(len(b)); i += 8 {
		if l.pointers[at+i] {
			words = append(words, "&"+l.block(l.word(at+i)))
		} else {
			words = append(words, fmt.Sprintf("%#x", l.word(at+i)))
		}
	}
	for len(words) > 1 && words[len(words)-1] == "0x0" {
		words = words[:len(words)-1]
	}
	return "{" + strings.Join(words, " ") + "}"
}

// ofFilter is what leads to a filter.
var ofFilter = regexp.MustCompile(`\{0x[0-9a-f]+ &a filter\}`)

// machineless leaves out what differs between machines: users, what lies beside hidden names, how many
// capabilities there are, how long a filter is.
func machineless(t *testing.T, all []string, dir string) string {
	var kept, links []string
	capability, most := 0, lastCapability()
	if text, err := os.ReadFile("/proc/sys/kernel/cap_last_cap"); err == nil && strings.TrimSpace(string(text)) != strconv.Itoa(most) {
		t.Errorf("the last capability is %s, not %d", text, most)
	}
	uid, gid := fmt.Sprintf("%d %d 1", os.Geteuid(), os.Geteuid()), fmt.Sprintf("%d %d 1", os.Getegid(), os.Getegid())
	user := strings.NewReplacer(dir, "$DIR", fmt.Sprintf("%q, %d", uid, len(uid)), "the user, its length",
		fmt.Sprintf("%q, %d", gid, len(gid)), "the user, its length")
	for _, line := range all {
		of, _, reading := strings.Cut(line, " for reading: ")
		of = strings.TrimPrefix(of, "open ")
		switch {
		case reading && of != "/" && of != "/dev" && !slices.Contains(devices, strings.TrimPrefix(of, "/dev/")) && !strings.HasPrefix(of, dir+"/"):
			continue
		case line == fmt.Sprintf("privileges cannot be dropped: prctl(%d, %d)", unix.PR_CAPBSET_DROP, capability) ||
			capability == 0 && line == fmt.Sprintf("privileges cannot be dropped: prctl(%d)", unix.PR_CAPBSET_DROP):
			if capability++; capability == most+1 {
				kept = append(kept, "privileges cannot be dropped: each capability")
			}
			continue
		case strings.Contains(line, ": symlinkat("): // in no order
			links = append(links, line)
			continue
		}
		slices.Sort(links)
		kept, links = append(kept, links...), nil
		line = ofFilter.ReplaceAllString(user.Replace(line), "{its length &a filter}")
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n") + "\n"
}

// TestTheCallsOfALauncher: they are written down in testdata, in their order and with all that they ask for, since
// each opens or closes something. KERF_UPDATE=1 writes them anew; read the difference.
func TestTheCallsOfALauncher(t *testing.T) {
	if seccomp.NativeArch != unix.AUDIT_ARCH_X86_64 {
		t.Skip("the numbers of the calls are those of amd64")
	}
	version, own, flags, set, secret := landlockVersion, ownNumbers, listenerFlags, settings, secrets
	t.Cleanup(func() {
		landlockVersion, ownNumbers, listenerFlags, settings, secrets = version, own, flags, set, secret
	})
	landlockVersion, ownNumbers = func() int { return 7 }, func() bool { return true }
	listenerFlags = func() uint64 { return unix.SECCOMP_FILTER_FLAG_NEW_LISTENER }
	settings, secrets = []string{"sys", "none"}, []string{"version", "none"}
	apart(t) // what lies beside the directory is named, too, unless it is much
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"work/.git", "work/secret/open", "work/closed", "tmp", "private", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"work/.env", "work/secret/file"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	work := boundary.Plan{Mode: boundary.WorkspaceWrite, Cwd: dir + "/work", TTY: true,
		Limits: boundary.Limits{Processes: 40, FileBytes: 1 << 20, DataBytes: 1 << 30},
		Mounts: []boundary.Mount{{Kind: boundary.MountTmp, Path: dir + "/private", Source: dir + "/tmp"}, {Kind: boundary.MountTmp, Path: dir + "/empty"},
			{Kind: boundary.MountRead, Path: dir + "/private/a/b"}, {Kind: boundary.MountWrite, Path: "/dev/shm/a/b"},
			{Kind: boundary.MountWrite, Path: dir + "/work"}, {Kind: boundary.MountRead, Path: dir + "/work/.git"},
			{Kind: boundary.MountHideFile, Path: dir + "/work/.env"}, {Kind: boundary.MountHideDir, Path: dir + "/work/secret", Pass: true},
			{Kind: boundary.MountRead, Path: dir + "/work/secret/open"}, {Kind: boundary.MountRead, Path: dir + "/work/secret/file"},
			{Kind: boundary.MountHideDir, Path: dir + "/work/closed"}}}
	filtered := boundary.Plan{Mode: boundary.WorkspaceWrite, Cwd: "/", Proxy: &boundary.Filter{}, Witness: os.Stdin,
		Limits: boundary.Limits{Processes: 4096}}
	open := boundary.Plan{Mode: boundary.WorkspaceWrite, Cwd: "/", Network: true, Witness: os.Stdin}
	alone := boundary.Plan{Mode: boundary.ReadOnly, Cwd: "/", TTY: true}
	argv := []string{"true", "x"}
	var b strings.Builder
	for _, c := range []struct {
		what    string
		program *launch.Program
	}{
		{"a workspace", compile(work, argv)}, {"hosts by a proxy, and a witness", compile(filtered, argv)}, {"the network", compile(open, argv)},
		{"Landlock alone", compileLandlock(alone, argv)}, {"within bubblewrap", restricted(work, argv)}, {"watched alone", watched(argv, 2)},
	} {
		fmt.Fprintf(&b, "== %s\n%s\n", c.what, machineless(t, lines(c.program), dir))
	}
	const golden = "testdata/calls.txt"
	if os.Getenv("KERF_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("the calls are others (-want +got):\n%s", diff)
	}
}

//go:build amd64 || arm64

package seccomp

import (
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/calls"
)

// call is one system call as the kernel shows it to a filter.
type call struct {
	number, arch uint32
	args         [6]uint64
}

// run is what the kernel does with a filter, for the instructions that are used.
func run(t *testing.T, code []unix.SockFilter, c call) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.LittleEndian.PutUint32(data, c.number)
	binary.LittleEndian.PutUint32(data[4:], c.arch)
	for i, a := range c.args {
		binary.LittleEndian.PutUint64(data[16+8*i:], a)
	}
	var word uint32
	for pc, steps := 0, 0; pc < len(code); pc, steps = pc+1, steps+1 {
		i := code[pc]
		jump := func(holds bool) {
			if holds {
				pc += int(i.Jt)
			} else {
				pc += int(i.Jf)
			}
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			word = binary.LittleEndian.Uint32(data[i.K:])
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			word &= i.K
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(i.K)
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(word == i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(word >= i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(word&i.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		default:
			t.Fatalf("instruction %#x at %d", i.Code, pc)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

// names are the calls of this machine, by name.
func names(t *testing.T) map[string]uint32 {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Skip(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(),
		strings.TrimSpace(string(dir))+"/unix/zsysnum_linux_"+runtime.GOARCH+".go", nil, 0)
	if err != nil {
		t.Skip(err)
	}
	all := make(map[string]uint32)
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				number, err := strconv.Atoi(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				all[strings.ToLower(strings.TrimPrefix(v.Names[0].Name, "SYS_"))] = uint32(number)
			}
		}
		return true
	})
	if len(all) < 300 {
		t.Fatalf("%d calls", len(all))
	}
	return all
}

// unlike are the calls that Docker allows and that are closed here.
var unlike = map[string]string{
	"adjtimex":          "the clock is the machine's; asking is not worth it",
	"clock_adjtime":     "as adjtimex",
	"epoll_ctl_old":     "no kernel has it",
	"epoll_wait_old":    "no kernel has it",
	"fanotify_mark":     "useless without fanotify_init",
	"get_thread_area":   "for 32-bit programs",
	"set_thread_area":   "for 32-bit programs",
	"modify_ldt":        "for 16-bit programs; it had holes",
	"getxattrat":        "new; libraries use getxattr",
	"listxattrat":       "new; libraries use listxattr",
	"removexattrat":     "new; libraries use removexattr",
	"setxattrat":        "new; libraries use setxattr",
	"io_setup":          "writes of it can pass over O_APPEND unseen: its flags lie in memory; libraries use threads",
	"io_submit":         "as io_setup",
	"io_cancel":         "as io_setup",
	"io_destroy":        "as io_setup",
	"io_getevents":      "as io_setup",
	"io_pgetevents":     "as io_setup",
	"listmount":         "tells of mounts; libraries read /proc/self/mountinfo, which is the sandbox's own",
	"statmount":         "as listmount",
	"memfd_secret":      "memory that nobody can look into; nothing that builds needs it",
	"openat2":           "its flags and mode lie in memory; libraries use openat where it is missing",
	"name_to_handle_at": "half of a way to files past their names; the other half is refused, too",
	"process_mrelease":  "for programs that end others when memory runs out",
	"process_vm_readv":  "memory of other processes",
	"process_vm_writev": "memory of other processes",
	"ptrace":            "other processes",
	"remap_file_pages":  "kernels only imitate it",
}

// beyond are the calls that are allowed here and not by Docker.
var beyond = map[string]string{
	"unshare": "without a flag that makes a namespace it only splits what threads share",
	"uprobe":  "as uretprobe, on newer kernels",
}

// probes are arguments with which a call that is decided by them may pass.
var probes = [][6]uint64{{}, {0: unix.AF_INET, 1: unix.SOCK_STREAM}, {0: unix.AF_UNIX, 1: unix.SOCK_STREAM}, {0: 1}}

func passes(t *testing.T, code []unix.SockFilter, number uint32) bool {
	return slices.ContainsFunc(probes, func(args [6]uint64) bool {
		return run(t, code, call{number, NativeArch, args}) == allow
	})
}

func TestAgainstDocker(t *testing.T) {
	text, err := os.ReadFile("testdata/docker.txt")
	if err != nil {
		t.Fatal(err)
	}
	docker := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			for _, name := range strings.Fields(line) {
				docker[name] = true
			}
		}
	}
	code := Filter(Reach{})
	closed, open, both := 0, 0, 0
	for name, number := range names(t) {
		here := passes(t, code, number)
		switch {
		case here && docker[name]:
			both++
		case docker[name]:
			if closed++; unlike[name] == "" {
				t.Errorf("%s is closed and Docker allows it; no reason is given", name)
			}
		case here:
			if open++; beyond[name] == "" {
				t.Errorf("%s is allowed and Docker closes it; no reason is given", name)
			}
		}
		if here && unlike[name] != "" || docker[name] && beyond[name] != "" {
			t.Errorf("%s: the reason is out of date", name)
		}
	}
	t.Logf("%s: %d allowed by both, %d by Docker alone, %d here alone", runtime.GOARCH, both, closed, open)
	if both < 200 {
		t.Error("hardly anything is allowed")
	}
}

func TestCallsOfNoTableDoNotExist(t *testing.T) {
	known := verdicts(Reach{})
	for _, r := range []Reach{{}, {Network: true}, {Sockets: true}, {Alone: true}} {
		code := Filter(r)
		if len(code) > 4096 {
			t.Fatalf("%d instructions", len(code))
		}
		for number := range uint32(2000) {
			if _, ok := known[number]; ok {
				continue
			}
			if got := run(t, code, call{number: number, arch: NativeArch}); got != enosys {
				t.Errorf("%+v: call %d: %#x", r, number, got)
			}
		}
		all := names(t)
		for _, name := range []string{"clone3", "statmount", "listmount", "file_setattr", "file_getattr", "memfd_secret",
			"modify_ldt", "sysfs", "listns", "rseq_slice_yield", "_sysctl", "uselib", "io_submit", "setxattrat"} {
			number, ok := all[name]
			if !ok {
				continue // not on this machine
			}
			if got := run(t, code, call{number: number, arch: NativeArch}); got != enosys {
				t.Errorf("%+v: %s: %#x", r, name, got)
			}
		}
	}
}

func TestOtherWordSizesEndTheProcess(t *testing.T) {
	code := Filter(Reach{Network: true})
	for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_X86_64,
		unix.AUDIT_ARCH_AARCH64, 0} {
		got := run(t, code, call{number: unix.SYS_GETPID, arch: arch})
		if want := uint32(kill); (arch == NativeArch) == (got == want) {
			t.Errorf("architecture %#x: %#x", arch, got)
		}
	}
	if x32Bit == 0 {
		return
	}
	for _, number := range []uint32{x32Bit, x32Bit + 39, x32Bit + 512, 1<<31 + 39} {
		if got := run(t, code, call{number: number, arch: NativeArch}); got != kill {
			t.Errorf("call %#x: %#x", number, got)
		}
	}
	if got := run(t, code, call{number: ^uint32(0), arch: NativeArch}); got != enosys {
		t.Errorf("call -1: %#x", got)
	}
}

func TestArgumentsDecide(t *testing.T) {
	const high = 1 << 32 // the kernel does not look at it
	for name, c := range map[string]struct {
		reach  Reach
		number uint32
		args   [6]uint64
		want   uint32
	}{
		"fork":                    {number: unix.SYS_CLONE, args: [6]uint64{uint64(unix.SIGCHLD)}, want: allow},
		"thread":                  {number: unix.SYS_CLONE, args: [6]uint64{0x3d0f00}, want: allow},
		"clone, user":             {number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWUSER}, want: eperm},
		"clone, network":          {number: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWNET | 17}, want: eperm},
		"unshare files":           {number: unix.SYS_UNSHARE, args: [6]uint64{unix.CLONE_FILES}, want: allow},
		"unshare time":            {number: unix.SYS_UNSHARE, args: [6]uint64{unix.CLONE_NEWTIME}, want: eperm},
		"unshare mounts":          {number: unix.SYS_UNSHARE, args: [6]uint64{unix.CLONE_NEWNS}, want: eperm},
		"window size":             {number: unix.SYS_IOCTL, args: [6]uint64{0, unix.TIOCGWINSZ}, want: allow},
		"typing":                  {number: unix.SYS_IOCTL, args: [6]uint64{0, unix.TIOCSTI}, want: eperm},
		"typing, high half":       {number: unix.SYS_IOCTL, args: [6]uint64{0, high | unix.TIOCSTI}, want: eperm},
		"typing for the console":  {number: unix.SYS_IOCTL, args: [6]uint64{0, unix.TIOCLINUX}, want: eperm},
		"reflink":                 {number: unix.SYS_IOCTL, args: [6]uint64{0, unix.FICLONE}, want: allow},
		"attributes":              {number: unix.SYS_IOCTL, args: [6]uint64{0, getAttribute}, want: allow},
		"hole by ioctl":           {number: unix.SYS_IOCTL, args: [6]uint64{0, 0x40305829}, want: enotty},
		"hole by ioctl, 64":       {number: unix.SYS_IOCTL, args: [6]uint64{0, 0x4030582b}, want: enotty},
		"zeros by ioctl":          {number: unix.SYS_IOCTL, args: [6]uint64{0, 0x40305839}, want: enotty},
		"exchange by ioctl":       {number: unix.SYS_IOCTL, args: [6]uint64{0, extMove}, want: enotty},
		"subvolume":               {number: unix.SYS_IOCTL, args: [6]uint64{0, 0x5000940e}, want: enotty},
		"snapshot":                {number: unix.SYS_IOCTL, args: [6]uint64{0, 0x50009417}, want: enotty},
		"verity":                  {number: unix.SYS_IOCTL, args: [6]uint64{0, enableVerity}, want: enotty},
		"write at once":           {number: unix.SYS_PWRITEV2, args: [6]uint64{5: 0x2}, want: allow},
		"write over append":       {number: unix.SYS_PWRITEV2, args: [6]uint64{5: 0x22}, want: unsupported},
		"personality":             {number: unix.SYS_PERSONALITY, want: allow},
		"ask for personality":     {number: unix.SYS_PERSONALITY, args: [6]uint64{0xffffffff}, want: allow},
		"32-bit personality":      {number: unix.SYS_PERSONALITY, args: [6]uint64{8}, want: eperm},
		"tcp":                     {number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 6}, want: allow},
		"udp6":                    {number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET6, unix.SOCK_DGRAM}, want: allow},
		"ping":                    {number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_DGRAM, 1}, want: allow},
		"mptcp":                   {number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM, 262}, want: unknown},
		"mptcp, network":          {reach: Reach{Network: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET6, unix.SOCK_STREAM, 262}, want: unknown},
		"sctp":                    {number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM, 132}, want: unknown},
		"smc":                     {reach: Reach{Network: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM, 256}, want: unknown},
		"udplite":                 {number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_DGRAM, 136}, want: unknown},
		"raw":                     {number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_RAW, 1}, want: eperm},
		"old packet kind":         {reach: Reach{Network: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_PACKET}, want: eperm},
		"unix":                    {number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}, want: eperm},
		"unix, network":           {reach: Reach{Network: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}, want: eperm},
		"unix, high half":         {number: unix.SYS_SOCKET, args: [6]uint64{high | unix.AF_UNIX, unix.SOCK_STREAM}, want: eperm},
		"unix, granted":           {reach: Reach{Sockets: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}, want: allow},
		"vsock":                   {reach: Reach{Network: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_VSOCK, unix.SOCK_STREAM}, want: unfamiliar},
		"packet":                  {reach: Reach{Network: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_PACKET, unix.SOCK_DGRAM}, want: unfamiliar},
		"crypto":                  {reach: Reach{Network: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_ALG, unix.SOCK_SEQPACKET}, want: unfamiliar},
		"routes":                  {number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, 0}, want: unfamiliar},
		"routes, network":         {reach: Reach{Network: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, 0}, want: allow},
		"firewall, network":       {reach: Reach{Network: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, want: unknown},
		"audit, network":          {reach: Reach{Network: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, want: unknown},
		"pair":                    {number: unix.SYS_SOCKETPAIR, args: [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_NONBLOCK}, want: allow},
		"pair of datagrams":       {number: unix.SYS_SOCKETPAIR, args: [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, want: eperm},
		"pair of raw ones":        {number: unix.SYS_SOCKETPAIR, args: [6]uint64{unix.AF_UNIX, unix.SOCK_RAW | unix.SOCK_CLOEXEC}, want: eperm},
		"pair of something else":  {number: unix.SYS_SOCKETPAIR, args: [6]uint64{unix.AF_TIPC, unix.SOCK_STREAM}, want: unfamiliar},
		"mode":                    {number: unix.SYS_FCHMODAT, args: [6]uint64{2: 0o2775}, want: allow},
		"set-user-ID":             {number: unix.SYS_FCHMODAT, args: [6]uint64{2: 0o4755}, want: eperm},
		"set-user-ID, fd":         {number: unix.SYS_FCHMOD, args: [6]uint64{1: 0o6755}, want: eperm},
		"set-user-ID, flags":      {number: unix.SYS_FCHMODAT2, args: [6]uint64{2: 0o4000}, want: eperm},
		"a new file":              {number: unix.SYS_OPENAT, args: [6]uint64{2: unix.O_CREAT | unix.O_WRONLY, 3: 0o666}, want: allow},
		"a new set-user-ID one":   {number: unix.SYS_OPENAT, args: [6]uint64{2: unix.O_CREAT, 3: 0o4755}, want: eperm},
		"a new set-group-ID one":  {number: unix.SYS_OPENAT, args: [6]uint64{2: unix.O_CREAT, 3: 0o2755}, want: eperm},
		"one without a name":      {number: unix.SYS_OPENAT, args: [6]uint64{2: unix.O_TMPFILE | unix.O_RDWR, 3: 0o4755}, want: eperm},
		"no new file":             {number: unix.SYS_OPENAT, args: [6]uint64{2: unix.O_DIRECTORY, 3: 0o6777}, want: allow},
		"a node":                  {number: unix.SYS_MKNODAT, args: [6]uint64{2: unix.S_IFREG | 0o4755}, want: eperm},
		"alone: socket":           {reach: Reach{Alone: true}, number: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM}, want: eperm},
		"alone: mode":             {reach: Reach{Alone: true}, number: unix.SYS_FCHMODAT, want: eperm},
		"alone: attribute":        {reach: Reach{Alone: true}, number: unix.SYS_FSETXATTR, want: eperm},
		"alone: flags":            {reach: Reach{Alone: true}, number: unix.SYS_IOCTL, args: [6]uint64{0, setFlags}, want: eperm},
		"flags":                   {number: unix.SYS_IOCTL, args: [6]uint64{0, setFlags}, want: allow},
		"alone: shared memory":    {reach: Reach{Alone: true}, number: unix.SYS_SHMGET, want: eperm},
		"alone: queue":            {reach: Reach{Alone: true}, number: unix.SYS_MQ_OPEN, want: eperm},
		"shared memory":           {number: unix.SYS_SHMGET, want: allow},
		"alone: own limits":       {reach: Reach{Alone: true}, number: unix.SYS_PRLIMIT64, want: allow},
		"alone: limits of others": {reach: Reach{Alone: true}, number: unix.SYS_PRLIMIT64, args: [6]uint64{7}, want: eperm},
		"limits of others":        {number: unix.SYS_PRLIMIT64, args: [6]uint64{7}, want: allow},
		"alone: own priority":     {reach: Reach{Alone: true}, number: unix.SYS_SETPRIORITY, want: allow},
		"alone: user's priority":  {reach: Reach{Alone: true}, number: unix.SYS_SETPRIORITY, args: [6]uint64{2, 0}, want: eperm},
		"alone: own disk rank":    {reach: Reach{Alone: true}, number: unix.SYS_IOPRIO_SET, args: [6]uint64{1, 0}, want: allow},
		"alone: user's disk rank": {reach: Reach{Alone: true}, number: unix.SYS_IOPRIO_SET, args: [6]uint64{3, 0}, want: eperm},
		"alone: others' turns":    {reach: Reach{Alone: true}, number: unix.SYS_SCHED_SETSCHEDULER, args: [6]uint64{7}, want: eperm},
	} {
		if got := run(t, Filter(c.reach), call{c.number, NativeArch, c.args}); got != c.want {
			t.Errorf("%s: got %#x, want %#x", name, got, c.want)
		}
	}
}

// everyReach are the reaches there are.
var everyReach = []Reach{{}, {Network: true}, {Sockets: true}, {Network: true, Sockets: true}, {Alone: true}}

// TestTablesDecide: what is refused is refused for everybody, whatever its arguments, and what reaches others
// or changes files by the way for those that no namespace keeps apart.
func TestTablesDecide(t *testing.T) {
	for _, r := range everyReach {
		alone := uint32(allow)
		if r.Alone {
			alone = eperm
		}
		for what, table := range map[string]struct {
			numbers []uint32
			want    uint32
		}{
			"refused": {refused, eperm}, "refused on this machine": {ownRefused, eperm}, "shared": {shared, alone},
			"attributes": {attributes, alone}, "attributes on this machine": {ownAttributes, alone},
		} {
			for _, number := range table.numbers {
				for _, args := range [][6]uint64{{}, {1, 1, 1, 1, 1, 1}} {
					if got := run(t, Filter(r), call{number, NativeArch, args}); got != table.want {
						t.Errorf("%+v: %s, call %d%v: %#x", r, what, number, args, got)
					}
				}
			}
		}
		for _, request := range []uint64{setFlags, setVersion, setAttribute} {
			if got := run(t, Filter(r), call{unix.SYS_IOCTL, NativeArch, [6]uint64{0, request}}); got != alone {
				t.Errorf("%+v: request %#x: %#x", r, request, got)
			}
		}
	}
}

// TestNoFileRunsAsItsOwner: by no call that makes a file or sets its mode, the old ones among them.
func TestNoFileRunsAsItsOwner(t *testing.T) {
	all := names(t)
	for name, at := range map[string]struct{ mode, flags int }{
		"open": {2, 1}, "openat": {3, 2}, "creat": {1, -1}, "mknod": {1, -1}, "mknodat": {2, -1},
		"chmod": {1, -1}, "fchmod": {1, -1}, "fchmodat": {2, -1}, "fchmodat2": {2, -1},
	} {
		number, ok := all[name]
		if !ok {
			continue // not on this machine
		}
		sets := strings.Contains(name, "chmod") // directories may have a group of their own
		for mode, want := range map[uint64]uint32{0o755: allow, 0o1755: allow, 0o4755: eperm, 0o6755: eperm,
			0o2755: map[bool]uint32{true: allow, false: eperm}[sets]} {
			var args [6]uint64
			args[at.mode] = mode
			if at.flags >= 0 {
				args[at.flags] = unix.O_CREAT | unix.O_RDWR
			}
			if got := run(t, Filter(Reach{}), call{number, NativeArch, args}); got != want {
				t.Errorf("%s, mode %#o: %#x, want %#x", name, mode, got, want)
			}
		}
	}
}

// changers are all calls of Linux that can change a name, the content or the mode of a
// file, with arguments for which they do.
var changers = map[string][][6]uint64{
	"open": {{1: unix.O_WRONLY}, {1: unix.O_RDWR}, {1: unix.O_CREAT}, {1: unix.O_TRUNC}, {1: unix.O_TMPFILE}},
	"openat": {{2: unix.O_WRONLY}, {2: unix.O_RDWR}, {2: unix.O_CREAT}, {2: unix.O_TRUNC}, {2: unix.O_TMPFILE},
		{2: unix.O_WRONLY | unix.O_APPEND}},
	"openat2": {{}}, "creat": {{}}, "open_by_handle_at": {{}}, "io_uring_setup": {{}}, "io_setup": {{}}, "io_submit": {{}},
	"unlink": {{}}, "unlinkat": {{}, {2: unix.AT_REMOVEDIR}}, "rmdir": {{}},
	"rename": {{}}, "renameat": {{}}, "renameat2": {{}, {4: unix.RENAME_EXCHANGE}},
	"mkdir": {{}}, "mkdirat": {{}}, "link": {{}}, "linkat": {{}}, "symlink": {{}}, "symlinkat": {{}},
	"mknod": {{}}, "mknodat": {{}}, "truncate": {{}}, "ftruncate": {{}}, "fallocate": {{}},
	"chmod": {{}}, "fchmod": {{}}, "fchmodat": {{}}, "fchmodat2": {{}}, "file_setattr": {{}},
	"setxattr": {{}}, "lsetxattr": {{}}, "fsetxattr": {{}}, // of the attribute that holds an access list
	"fcntl": {{1: unix.F_SETFL}}, "pwritev2": {{5: overAppend}},
	"ioctl": {{1: 0x40305829}, {1: 0x4030582b}, {1: 0x40305839}, {1: extMove}, {1: enableVerity}, {1: 0x5000940e},
		{1: 0x50009401}, {1: 0x5000940f}, {1: 0x50009417}, {1: 0x5000943f}},
	"mount": {{}}, "move_mount": {{}}, "open_tree": {{}}, "fsopen": {{}}, "pivot_root": {{}}, "chroot": {{}}, "setns": {{}},
	"acct": {{}}, "swapon": {{}}, "quotactl": {{}}, "mq_open": nil, "process_vm_writev": {{}}, "ptrace": {{}},
	"uselib": {{}}, "bpf": {{}}, "userfaultfd": {{}}, "setxattrat": {{}},
}

// unseen are the allowed calls that change something of a file and that the witness does
// not report, with the reason.
var unseen = map[string]string{
	"write": "through a descriptor whose opening was reported", "writev": "as write", "pwrite64": "as write",
	"pwritev": "as write", "sendfile": "as write; not to a file open to append", "splice": "as sendfile",
	"copy_file_range": "as sendfile", "mmap": "as write; shared and writable needs a descriptor open to read and write",
	"ioctl FICLONE": "as write; not to a file open to append",
	"utime":         "times are no part of a version", "utimes": "as utime", "futimesat": "as utime", "utimensat": "as utime",
	"chown": "owners are no part of a version", "fchown": "as chown", "lchown": "as chown", "fchownat": "as chown",
	"removexattr":  "permissions stay when an access list goes; other attributes are no part of a version",
	"lremovexattr": "as removexattr", "fremovexattr": "as removexattr",
}

// What a command may do to a file, the witness is told of: the confining filter and the
// one that reports, one above the other, let no change through unseen.
func TestAllowedChangesAreReported(t *testing.T) {
	all := names(t)
	confine, report := Filter(Reach{}), calls.Filter()
	for name, list := range changers {
		number, ok := all[name]
		if !ok {
			continue // not on this machine
		}
		for _, args := range list {
			c := call{number, NativeArch, args}
			if run(t, confine, c) == allow && run(t, report, c) == allow {
				t.Errorf("%s%x is allowed and not reported", name, args)
			}
		}
	}
	for name := range maps.Keys(all) {
		number := all[name]
		if calls.Of(number).Op != calls.None && len(changers[name]) == 0 {
			t.Errorf("the witness reports %s; it is missing among those that change files", name)
		}
		if _, told := changers[name]; told && unseen[name] != "" {
			t.Errorf("%s is both", name)
		}
	}
	for name := range unseen {
		base, _, _ := strings.Cut(name, " ")
		if number, ok := all[base]; ok && !passes(t, confine, number) {
			t.Errorf("%s is not allowed; the reason is out of date", name)
		}
	}
}

func ExampleFilter() {
	_, ok := verdicts(Reach{})[unix.SYS_CLONE3]
	fmt.Println(ok)
	// Output: false
}

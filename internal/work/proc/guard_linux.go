package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// zombieAge is how long a dead child that is not ours to wait for is left to
// whoever started it, before it is taken for an orphan that nobody awaits.
const zombieAge = 10 * time.Second

// guard keeps watch over all that this Kerf runs. Adopting orphans and the
// watchdog belong to the whole program, hence there is one.
type guard struct {
	self, sid int
	watchdog  *os.File // a pipe; its end tells that Kerf is gone; nil if there is none

	mu      sync.Mutex        // guards what follows
	litter  map[string]bool   // directories the watchdog knows
	leaders map[int]bool      // not reaped yet
	doomed  map[int]bool      // orphans we killed and shall reap
	zombies map[int]time.Time // dead children of unknown origin, when first seen
}

// theGuard is made at the first start of a process: it changes what Kerf is to
// the kernel, so a Kerf that runs nothing does without.
var theGuard = sync.OnceValue(newGuard)

func newGuard() *guard {
	g := &guard{
		self:   os.Getpid(),
		litter: make(map[string]bool), leaders: make(map[int]bool), doomed: make(map[int]bool),
		zombies: make(map[int]time.Time),
	}
	g.sid, _ = unix.Getsid(0)
	closeOnExec()
	// A kernel that refuses leaves us with groups, descendants and marks.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	g.watchdog = startWatchdog()
	return g
}

// closeOnExec keeps descriptors that our caller left open from commands.
// Kernels before 5.11 know no such call; there the list is walked.
func closeOnExec() {
	if unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// watch is the watchdog: it reads who lives and what lies about, and acts when
// its input ends. $1 is the token of Kerf.
const watch = `trap '' HUP INT TERM QUIT
nl='
'
live=' '
litter=
while IFS= read -r line; do
	what=${line#* }
	case $line in
	'+ '*) live="$live$what " ;;
	'- '*) live="${live%% $what *} ${live#* $what }" ;;
	'l '*) litter="$litter$what$nl" ;;
	esac
done
for try in 1 2 3 4 5 6 7 8; do
	for pid in $live; do kill -KILL "-$pid"; done
	left=$(grep -ls "KERF_RUN=[0-9a-f:]*$1" /proc/[0-9]*/environ)
	[ -z "$left" ] && break
	for file in $left; do file=${file%/environ}; kill -KILL "${file#/proc/}"; done
done
printf %s "$litter" | while IFS= read -r dir; do
	for list in "$dir"/*; do
		# A child of Kerf that was being started may hold the lock a moment longer.
		for try in 1 2 3 4 5; do [ -s "$list" ] || break; flock -n -x "$list" sh -c 'while IFS= read -r path; do
			if [ -L "$path" ]; then :
			elif ! flock -n -x "${path%/*}" true; then kept=1
			elif [ -d "$path" ]; then rmdir -- "$path" || { [ -k "$path" ] && chmod -- -t "$path"; }
			elif [ -S "$path" ] || [ -k "$path" ]; then rm -f -- "$path"
			fi
		done <"$1" && [ -z "$kept" ] && : >"$1"' kerf-watch "$list" || sleep 0.1; done
	done
done
`

func startWatchdog() *os.File {
	const shell = "/bin/sh"
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		w.Close()
		return nil
	}
	defer null.Close()
	dog, err := os.StartProcess(shell, []string{"sh", "-c", watch, "kerf-watch", ownToken()}, &os.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Files: []*os.File{r, null, null},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		w.Close()
		return nil // no shell, no watchdog; the death signal still works
	}
	_ = dog.Release()
	return w
}

// tell writes one line to the watchdog. A short write to a pipe is whole.
func (g *guard) tell(op, what string) {
	if g.watchdog == nil {
		return
	}
	_ = g.watchdog.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = g.watchdog.WriteString(op + " " + what + "\n")
}

// Litter names a directory, private to the user, whose files list placeholders,
// one absolute path a line. If Kerf is killed, the watchdog locks each file
// (flock), removes what it lists and empties it; files that somebody else holds
// are left to them. A placeholder is an empty directory, a socket, or a file
// with the sticky bit; anything else that stands there by then is left alone. A
// directory with the sticky bit that was filled loses the bit.
// Nothing is promised where there is no watchdog.
func Litter(dir string) {
	g := theGuard()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.litter[dir] && !strings.ContainsAny(dir, "\n\x00") {
		g.litter[dir] = true
		g.tell("l", dir)
	}
}

func (g *guard) start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	leader, err := os.StartProcess(path, argv, attr)
	if err != nil {
		return nil, err
	}
	g.leaders[leader.Pid] = true
	g.tell("+", strconv.Itoa(leader.Pid))
	return leader, nil
}

func (g *guard) ended(leader int) {
	g.mu.Lock()
	delete(g.leaders, leader)
	g.tell("-", strconv.Itoa(leader))
	g.mu.Unlock()
	g.reap()
}

// childrenOf returns the children that the first thread of a process has, to
// which the kernel also gives orphans. ok is false where it does not tell.
func childrenOf(process int) (pids []int, ok bool) {
	self := strconv.Itoa(process)
	list, err := os.ReadFile("/proc/" + self + "/task/" + self + "/children")
	if err != nil {
		return nil, false
	}
	for field := range bytes.FieldsSeq(list) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, true
}

// adopted returns who f, whose leader just ended, left behind: any living orphan
// of its is our child now. Where the kernel does not tell, all processes are
// looked through.
func (g *guard) adopted(f family) (orphans []entry) {
	pids, ok := childrenOf(g.self)
	if !ok {
		return f.members()
	}
	g.mu.Lock()
	pids = slices.DeleteFunc(pids, func(pid int) bool {
		_, dead := g.zombies[pid]
		return dead || pid == f.leader
	})
	g.mu.Unlock()
	for _, pid := range pids {
		e, ok := readEntry(pid)
		if ok && e.state != 'Z' && f.own(e) {
			orphans = append(orphans, e)
		}
	}
	return orphans
}

// expect remembers processes that were killed: if they are or become our
// children, they are reaped.
func (g *guard) expect(killed []entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range killed {
		if !g.leaders[e.pid] {
			g.doomed[e.pid] = true
		}
	}
}

// reap waits for dead orphans. It must not take what another part of Kerf waits
// for: a child we killed, one in a session that neither is ours nor its own, or
// one of another pid namespace, as bubblewrap leaves it when it ends before its
// inner process, is nobody's; the others are left for zombieAge.
func (g *guard) reap() {
	pids, ok := childrenOf(g.self)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := make(map[int]bool, len(pids))
	for _, pid := range pids {
		seen[pid] = true
		if g.leaders[pid] {
			continue
		}
		first, known := g.zombies[pid]
		if known && !g.doomed[pid] && time.Since(first) <= zombieAge {
			continue
		}
		e, ok := readEntry(pid)
		if !ok || e.state != 'Z' {
			delete(g.zombies, pid) // the number was given away again
			continue
		}
		if !known {
			first = time.Now()
			g.zombies[pid] = first
		}
		if g.doomed[pid] || e.sid != g.sid && e.sid != pid || time.Since(first) > zombieAge || !known && e.elsewhere() {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			delete(g.zombies, pid)
			delete(g.doomed, pid)
		}
	}
	for pid := range g.zombies {
		if !seen[pid] {
			delete(g.zombies, pid)
		}
	}
	for pid := range g.doomed {
		if !seen[pid] {
			delete(g.doomed, pid)
		}
	}
}

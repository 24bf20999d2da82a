package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/render"
)

// TestWhyACommandDidNotRun is told unless it ran, or the launcher told the user already.
func TestWhyACommandDidNotRun(t *testing.T) {
	broken := errors.New("it is broken now")
	for name, c := range map[string]struct {
		box  *Box
		code int
		said string
		want string // empty: nothing
	}{
		"it ran":                        {&Box{again: func() error { return broken }}, codeNoSandbox, "", ""},
		"nothing works any more":        {&Box{idle: true, again: func() error { return broken }}, codeNoSandbox, "", broken.Error()},
		"it works otherwise, and told":  {&Box{idle: true, again: func() error { return nil }}, codeNoSandbox, "", ""},
		"nobody remembers, and told":    {&Box{idle: true}, codeNoSandbox, "", ""},
		"with words":                    {&Box{idle: true}, codeNoSandbox, "kerf: " + launch.NotSetUp + "a reason\n", "sandbox unavailable: a reason"},
		"without words, by a signal":    {&Box{idle: true}, -1, "", "sandbox unavailable: " + render.Idle(-1, "")},
		"what it protects was lost":     {&Box{idle: true, guard: &guard{lost: []string{"/w/a"}}}, 137, "", "sandbox unavailable: /w/a was removed or replaced before the command began; run it again"},
		"with a code of its own, words": {&Box{idle: true}, 1, "bwrap: a reason\n", "sandbox unavailable: bwrap: a reason"},
	} {
		got := ""
		if err := c.box.Lost(c.code, c.said); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestWhetherACommandBegan: the launcher writes it down, and what is no program tells nothing.
func TestWhetherACommandBegan(t *testing.T) {
	for content, want := range map[string]bool{"": true, "K": false, "KERFRUN1": false, "\xff": true, "\xffERFRUN1": true} {
		f, err := memory("program", []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		if got := began(f); got != want {
			t.Errorf("%q: %v", content, got)
		}
		f.Close()
		if !began(f) {
			t.Errorf("%q: one that is closed tells that nothing began", content)
		}
	}
}

// TestWhatABoxTells of its plan.
func TestWhatABoxTells(t *testing.T) {
	b := &Box{plan: boundary.Plan{Masks: []boundary.Mask{{Path: "/w/.kerf"}, {Path: "/w/.git"}}, Kept: []string{"/w/.git/worktrees"}}}
	keeper := filepath.Join("/w/.git/worktrees", boundary.Keeper)
	if got, want := b.Placeholders(), []string{"/w/.kerf", "/w/.git", keeper, filepath.Join(keeper, boundary.KeeperLock)}; !slices.Equal(got, want) {
		t.Errorf("placeholders %q, want %q", got, want)
	}
	for mode, want := range map[string]bool{"": false, boundary.FullAccess: false, boundary.ReadOnly: true, boundary.WorkspaceWrite: true} {
		if got := (&Box{plan: boundary.Plan{Mode: mode}}).Enforced(); got != want {
			t.Errorf("%q is enforced: %v", mode, got)
		}
	}
	if got := b.Broken(); got != "" {
		t.Errorf("%q is broken, and nobody watches", got)
	}
}

// TestACommandWithoutItsLimitsIsEnded.
func TestACommandWithoutItsLimitsIsEnded(t *testing.T) {
	for _, failed := range []error{nil, errors.New("no limits")} {
		killed, of := 0, 0
		b := &Box{limit: func(leader int) error { of = leader; return failed }}
		b.Started(77, func() { killed++ })
		if of != 77 || (killed == 1) != (failed != nil) {
			t.Errorf("%v: %d was limited, ended %d times", failed, of, killed)
		}
	}
	dir := t.TempDir()
	for bytes, watched := range map[uint64]bool{0: false, 1: true} {
		b := &Box{plan: boundary.Plan{Mode: boundary.FullAccess, Limits: boundary.Limits{TmpBytes: bytes}, Mounts: []boundary.Mount{
			{Kind: boundary.MountTmp, Path: "/tmp", Source: dir}}}}
		b.Started(77, func() {})
		if (b.tmp != nil) != watched {
			t.Errorf("with a limit of %d bytes /tmp is watched: %v", bytes, b.tmp != nil)
		}
		b.Close()
	}
	b := &Box{plan: boundary.Plan{Mode: boundary.FullAccess, Limits: boundary.Limits{TmpBytes: 1}}}
	if b.Started(77, func() {}); b.tmp != nil {
		t.Error("a /tmp that there is not is watched")
	}
}

// TestACloseGoesByItsOrder: who serves the command ends before its processes are awaited, and its placeholders
// stand until then.
func TestACloseGoesByItsOrder(t *testing.T) {
	var order []string
	step := func(name string) func() { return func() { order = append(order, name) } }
	wait, gate, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &Box{plan: boundary.Plan{Mode: boundary.FullAccess}, stop: step("proxy"), gone: step("processes"), lower: step("placeholders"),
		gate: gate, Files: []*os.File{wait}}
	for range 2 {
		b.Close()
	}
	if want := []string{"proxy", "processes", "placeholders"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
	for _, f := range []*os.File{wait, gate} {
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a file is open still: %v", err)
		}
	}
}

// TestWhatIsExposed: mount points of directories that others write to, and not those that lie in another one that
// protects them.
func TestWhatIsExposed(t *testing.T) {
	mounts := []boundary.Mount{{Kind: boundary.MountRead, Path: "/"}, {Kind: boundary.MountWrite, Path: "/w"}, {Kind: boundary.MountRead, Path: "/w/.git"},
		{Kind: boundary.MountRead, Path: "/w/.git/hooks"}, {Kind: boundary.MountHideFile, Path: "/w/a/b/.env"}, {Kind: boundary.MountWrite, Path: "/w/sub"},
		{Kind: boundary.MountHideDir, Path: "/w/sub/deep"}, {Kind: boundary.MountTmp, Path: "/tmp"}, {Kind: boundary.MountRead, Path: "/tmp/x"},
		{Kind: boundary.MountRead, Path: "/elsewhere"}}
	if got, want := exposed(mounts), []string{"/w/.git", "/w/a/b/.env", "/w/sub", "/w/sub/deep"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAGuardTellsWhatItLost, once each, whoever comes first: the loss or what ends the command.
func TestAGuardTellsWhatItLost(t *testing.T) {
	dir := t.TempDir()
	var mounts []boundary.Mount
	mounts = append(mounts, boundary.Mount{Kind: boundary.MountWrite, Path: dir})
	paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for _, path := range paths {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		mounts = append(mounts, boundary.Mount{Kind: boundary.MountRead, Path: path})
	}
	g, err := newGuard(boundary.Plan{Mounts: mounts})
	if err != nil {
		t.Fatal(err)
	}
	if g.broken() != "" {
		t.Errorf("%s is lost, and nothing happened", g.broken())
	}
	g.event(filepath.Join(dir, "other"))
	killed := 0
	g.lose(paths[0])
	g.arm(func() { killed++ })
	if killed != 1 || g.broken() != paths[0] {
		t.Errorf("ended %d times, broken %q", killed, g.broken())
	}
	g.lose(paths[0])
	g.event(paths[1])
	if killed != 3 || g.broken() != paths[0] {
		t.Errorf("ended %d times, broken %q", killed, g.broken())
	}
	if lost := g.end(); !slices.Equal(lost, paths) || killed != 3 {
		t.Errorf("lost %q, ended %d times", lost, killed)
	}
	if g, err := newGuard(boundary.Plan{Mounts: mounts[:1]}); g != nil || err != nil {
		t.Errorf("%+v watches nothing, %v", g, err)
	}
}

// TestWhatGoesWhileNobodyLooksIsSeenAtTheEnd, and a successor is not taken for what stood there.
func TestWhatGoesWhileNobodyLooksIsSeenAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for what, change := range map[string]func() error{
		"nothing": func() error { return nil },
		"gone":    func() error { return os.Remove(path) },
		"replaced": func() error {
			return errors.Join(os.WriteFile(path+"2", nil, 0o600), os.Rename(path+"2", path))
		},
	} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		g := &guard{names: map[string]boundary.FileID{}, quit: make(chan struct{})}
		g.names[path], _ = g.identity(path)
		g.arm(func() { t.Errorf("%s: somebody else may have the command's number by now", what) })
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if lost := g.end(); (len(lost) == 1) != (what != "nothing") {
			t.Errorf("%s: lost %q", what, lost)
		}
	}
}

// TestWhatIsNoListener: who sends none from inside gets no proxy, and Kerf takes nothing else for one.
func TestWhatIsNoListener(t *testing.T) {
	file, err := memory("no listener", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	other, err := memory("another", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for name, rights := range map[string][]byte{"nothing": nil, "a file": unix.UnixRights(int(file.Fd())),
		"two messages": slices.Concat(unix.UnixRights(int(file.Fd())), unix.UnixRights(int(other.Fd())))} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Sendmsg(pair[1], []byte{1}, rights, nil, 0); err != nil {
			t.Fatal(err)
		}
		if l, err := receive(pair[0]); err == nil {
			t.Errorf("%s is a listener: %v", name, l.Addr())
		}
		unix.Close(pair[0])
		unix.Close(pair[1])
	}
}

// openFiles is how many files this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestAGuardLeavesNothingBehind: neither a file, nor a watch of the kernel; and it is the kernel that tells it.
func TestAGuardLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	watches := func() int {
		var text []byte
		var err error
		_ = theNotices().conn.Control(func(fd uintptr) { text, err = os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd)) })
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "inotify wd:")
	}
	mounts := []boundary.Mount{{Kind: boundary.MountWrite, Path: dir}}
	for _, name := range []string{"a", "b", "deep/c"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		mounts = append(mounts, boundary.Mount{Kind: boundary.MountRead, Path: filepath.Join(dir, name)})
	}
	watched := watches() // makes what is for all guards
	before := openFiles(t)
	var guards []*guard
	for range 2 {
		g, err := newGuard(boundary.Plan{Mounts: mounts})
		if err != nil {
			t.Fatal(err)
		}
		guards = append(guards, g)
		if g.from == nil || watches() != watched+2 || openFiles(t) != before {
			t.Errorf("%d watches, %d files, told by the kernel %v", watches()-watched, openFiles(t)-before, g.from != nil)
		}
	}
	guards[0].end()
	if watches() != watched+2 {
		t.Error("one that ended took another one's watches away")
	}
	told := make(chan bool, 8)
	guards[1].arm(func() { told <- true })
	if err := os.Remove(filepath.Join(dir, "deep/c")); err != nil {
		t.Fatal(err)
	}
	<-told
	if lost := guards[0].broken(); lost != "" {
		t.Errorf("one that ended is told of %s", lost)
	}
	if lost := guards[1].end(); len(lost) != 1 || watches() != watched || openFiles(t) != before {
		t.Errorf("lost %q, %d watches and %d files left", lost, watches()-watched, openFiles(t)-before)
	}
	missing := &guard{names: map[string]boundary.FileID{filepath.Join(dir, "a"): {}, filepath.Join(dir, "none", "c"): {}}}
	if err := theNotices().add(missing); err == nil || watches() != watched || openFiles(t) != before {
		t.Errorf("in a directory that is not there: %v, %d watches and %d files left", err, watches()-watched, openFiles(t)-before)
	}
}

// TestAProxyEndsWithItsCommand, whether that sent its listener or not, and leaves no file.
func TestAProxyEndsWithItsCommand(t *testing.T) {
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close() // the runtime has what it needs for that now
	}
	before := openFiles(t)
	for _, sent := range []bool{false, true} {
		socket, stop, err := serve(&boundary.Filter{Limited: true})
		if err != nil {
			t.Fatal(err)
		}
		address := ""
		if sent {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			f, err := l.(*net.TCPListener).File()
			if err != nil {
				t.Fatal(err)
			}
			address = l.Addr().String()
			if err := unix.Sendmsg(int(socket.Fd()), []byte{1}, unix.UnixRights(int(f.Fd())), nil, 0); err != nil {
				t.Fatal(err)
			}
			f.Close()
			l.Close()
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte("CONNECT example.invalid:443 HTTP/1.1\r\nHost: example.invalid\r\n\r\n")); err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, 12)
			if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "HTTP/1.1 403" {
				t.Errorf("%q, %v", answer, err)
			}
			c.Close()
		}
		stop()
		socket.Close()
		if sent {
			if c, err := net.Dial("tcp", address); err == nil {
				c.Close()
				t.Error("somebody listens still")
			}
		}
		if left := openFiles(t) - before; left != 0 {
			t.Errorf("sent %v: %d files left", sent, left)
		}
	}
	if _, _, err := serve(&boundary.Filter{Domains: map[string]string{"not a host!": "allow"}, Limited: true}); err == nil {
		t.Error("a pattern that is none was taken")
	}
}

// TestADiskThatMovesIsLookedAtAgain, a few times and for a while, unless somebody calls back.
func TestADiskThatMovesIsLookedAtAgain(t *testing.T) {
	other := errors.New("another")
	for name, c := range map[string]struct {
		errs  []error // of each look; the last one of all others
		want  error
		looks int
		takes time.Duration
	}{
		"holds still":     {[]error{nil}, nil, 1, 0},
		"another error":   {[]error{other}, other, 1, 0},
		"moves once":      {[]error{fs.ErrExist, nil}, nil, 2, 0},
		"moves twice":     {[]error{fs.ErrNotExist, fs.ErrExist, nil}, nil, 3, 10 * time.Millisecond},
		"moves for ever":  {[]error{fmt.Errorf("made: %w", fs.ErrExist)}, fs.ErrExist, 8, 630 * time.Millisecond},
		"vanishes always": {[]error{fs.ErrNotExist}, fs.ErrNotExist, 8, 630 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, began, ready := 0, time.Now(), &Box{}
			box, err := persist(t.Context(), func() (*Box, error) {
				now := c.errs[min(n, len(c.errs)-1)]
				if n++; now != nil {
					return nil, now
				}
				return ready, nil
			})
			if took := time.Since(began); !errors.Is(err, c.want) || (box == ready) != (c.want == nil) || n != c.looks || took != c.takes {
				t.Errorf("%s: %v, %d looks in %v", name, err, n, took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond)
		defer cancel()
		n, began := 0, time.Now()
		if _, err := persist(ctx, func() (*Box, error) { n++; return nil, fs.ErrExist }); n != 4 || time.Since(began) != 15*time.Millisecond || err == nil {
			t.Errorf("called back: %v, %d looks in %v", err, n, time.Since(began))
		}
	})
}

// TestUsersAreWarned where not all commands can be confined.
func TestUsersAreWarned(t *testing.T) {
	for works, want := range map[string]string{boundary.OwnLauncher: "", boundary.Bubblewrap: "", boundary.Landlock: "only read-only commands",
		"none": "no sandbox works here"} {
		m := machine{version: func() string { return "Linux" }, program: func(string, []string) (string, error) { return "/usr/bin/bwrap", nil },
			try: func(_ context.Context, w way) error {
				if w.name == works {
					return nil
				}
				return errors.New("broken")
			}}
		if got := m.warning(t.Context(), nil); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s works: %q, want %q", works, got, want)
		}
	}
}

// TestThePrivateTmpIsTheUsersAlone, where Kerf makes it.
func TestThePrivateTmpIsTheUsersAlone(t *testing.T) {
	one(t, func(t *testing.T) {
		s := newSite(t)
		s.policy.TmpDir = filepath.Join(filepath.Dir(s.work), "private", "tmp")
		box, err := Prepare(t.Context(), s.policy, false, []string{"true"})
		if err != nil {
			t.Fatal(err)
		}
		box.Close()
		if info, err := os.Stat(s.policy.TmpDir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info, err)
		}
	})
}

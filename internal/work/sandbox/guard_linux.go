package sandbox

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guard ends a command as soon as something that protects a name goes away.
//
// A name in a writable directory is protected by a mount on what stands there.
// The kernel takes such a mount away when somebody who does not see it removes,
// renames or replaces what it is on: the user, a build, a sandbox with other
// rules. From that moment the command could make the name, and no mechanism of
// the kernel forbids just one name of a directory. So the directories are
// watched, and the command dies before it gets far; what it made in between is
// set aside before the prompt returns.
//
// One goroutine reads the events, or looks every few milliseconds where there
// is no inotify to be had. It ends with end.
type guard struct {
	names map[string]fileID // who stands at each path
	masks map[string]bool   // the paths of placeholders
	file  *os.File          // inotify, nil without
	dirs  map[int32][]string
	quit  chan struct{}
	wg    sync.WaitGroup

	mu     sync.Mutex // guards what follows
	strike func()
	lost   []string
}

// guardInterval is how often names are looked at where inotify is used up.
const guardInterval = 5 * time.Millisecond

// watchedEvents take a name away or put something else in its place. While it
// is taken nothing can be created there.
const watchedEvents = unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO

// newGuard watches the names of p that mounts protect; all of them must be
// there. The command must not run before it returns.
func newGuard(p Plan) (*guard, error) {
	names := exposed(p.Mounts)
	if len(names) == 0 {
		return nil, nil
	}
	g := &guard{names: make(map[string]fileID, len(names)), masks: make(map[string]bool), dirs: make(map[int32][]string), quit: make(chan struct{})}
	for _, m := range p.Masks {
		g.masks[m.Path] = true
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err == nil {
		g.file = os.NewFile(uintptr(fd), "kerf-guard")
		err = g.add(fd, names)
	}
	if err != nil && g.file != nil {
		g.file.Close()
		g.file = nil
	}
	for _, path := range names {
		id, ok := g.identity(path)
		if !ok {
			if g.file != nil {
				g.file.Close()
			}
			return nil, fmt.Errorf("sandbox: %s went away while the sandbox was set up; run the command again", path)
		}
		g.names[path] = id
	}
	if g.file != nil {
		g.wg.Go(g.read)
	} else {
		g.wg.Go(g.poll)
	}
	return g, nil
}

// exposed are the mount points that lie in directories which can be written to
// outside by those for whom the mounts are not there.
func exposed(mounts []Mount) []string {
	kinds := make(map[string]MountKind, len(mounts))
	for _, m := range mounts {
		kinds[m.Path] = m.Kind
	}
	var names []string
	for _, m := range mounts {
		for dir := m.Path; dir != "/"; {
			dir = filepath.Dir(dir)
			kind, mounted := kinds[dir]
			if mounted && kind == MountWrite {
				names = append(names, m.Path)
			}
			if mounted {
				break
			}
		}
	}
	return names
}

func (g *guard) add(fd int, names []string) error {
	done := make(map[string]bool)
	for _, path := range names {
		dir := filepath.Dir(path)
		if done[dir] {
			continue
		}
		done[dir] = true
		at, err := openDir(dir)
		if err != nil {
			return err
		}
		wd, err := unix.InotifyAddWatch(fd, "/proc/self/fd/"+strconv.Itoa(at), watchedEvents)
		unix.Close(at)
		if err != nil {
			return err
		}
		g.dirs[int32(wd)] = append(g.dirs[int32(wd)], dir)
	}
	return nil
}

// identity is who stands at path; a placeholder has to be one still.
func (g *guard) identity(path string) (fileID, bool) {
	info, err := os.Lstat(path)
	if err != nil || g.masks[path] && !(Disk{}).Placeholder(path) {
		return fileID{}, false
	}
	id, _ := idOf(info)
	return id, true
}

func (g *guard) read() {
	buffer := make([]byte, 8<<10)
	for {
		n, err := g.file.Read(buffer)
		if err != nil {
			return
		}
		g.take(buffer[:n])
	}
}

func (g *guard) poll() {
	tick := time.NewTicker(guardInterval)
	defer tick.Stop()
	for {
		select {
		case <-g.quit:
			return
		case <-tick.C:
			g.look()
		}
	}
}

// take works through a buffer of events. One on a protected name is decisive:
// the number of a file that is gone may be given to its successor.
func (g *guard) take(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&events[0]))
		size := unix.SizeofInotifyEvent + int(e.Len)
		if size > len(events) {
			return
		}
		name, _, _ := bytes.Cut(events[unix.SizeofInotifyEvent:size], []byte{0})
		if e.Mask&(unix.IN_Q_OVERFLOW|unix.IN_IGNORED) != 0 {
			g.look()
		}
		for _, dir := range g.dirs[e.Wd] {
			if path := filepath.Join(dir, string(name)); len(name) > 0 {
				if _, ours := g.names[path]; ours {
					g.lose(path)
				}
			}
		}
		events = events[size:]
	}
}

// look compares all names with what stood there.
func (g *guard) look() {
	for path, was := range g.names {
		if now, ok := g.identity(path); !ok || now != was {
			g.lose(path)
		}
	}
}

func (g *guard) lose(path string) {
	g.mu.Lock()
	if !slices.Contains(g.lost, path) {
		g.lost = append(g.lost, path)
	}
	strike := g.strike
	g.mu.Unlock()
	if strike != nil {
		strike()
	}
}

// arm gives the guard what ends the command. It is called at once if something
// was lost already.
func (g *guard) arm(strike func()) {
	g.mu.Lock()
	g.strike = strike
	late := len(g.lost) > 0
	g.mu.Unlock()
	if late {
		strike()
	}
}

func (g *guard) broken() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.lost) == 0 {
		return ""
	}
	return g.lost[0]
}

// end stops watching and returns what was lost. The command has ended.
func (g *guard) end() []string {
	g.mu.Lock()
	g.strike = nil // its number may be somebody else's by now
	g.mu.Unlock()
	close(g.quit)
	if g.file != nil {
		_ = g.file.SetReadDeadline(time.Unix(1, 0))
	}
	g.wg.Wait()
	if g.file != nil {
		g.drain()
		g.file.Close()
	}
	g.look()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

// drain takes what came after the last read.
func (g *guard) drain() {
	raw, err := g.file.SyscallConn()
	if err != nil {
		return
	}
	buffer := make([]byte, 8<<10)
	_ = raw.Control(func(fd uintptr) {
		for {
			n, err := unix.Read(int(fd), buffer)
			if err != nil || n <= 0 {
				return
			}
			g.take(buffer[:n])
		}
	})
}

// setAside moves what stands at the place of a lost placeholder to a name that
// nothing runs or follows: the command may have made it in its last moments, and
// if it was the user it is not lost.
func setAside(p Plan, lost []string) []Finding {
	var found []Finding
	for _, path := range lost {
		masked := slices.ContainsFunc(p.Masks, func(m Mask) bool { return m.Path == path })
		_, err := os.Lstat(path)
		switch {
		case !masked:
			found = append(found, Finding{Path: path, What: "was replaced from outside while a command ran, which was ended for it; look at it before you rely on it"})
		case err != nil || (Disk{}).Placeholder(path):
			found = append(found, Finding{Path: path, What: "its placeholder was removed from outside while a command ran, which was ended for it"})
		default:
			to, moved := aside(path)
			what := "was made while its placeholder was away; it could not be moved, so remove it"
			if moved {
				what = "was made while its placeholder was away; it is now " + to
			}
			found = append(found, Finding{Path: path, What: what, Removed: moved})
		}
	}
	return found
}

func aside(path string) (to string, ok bool) {
	at, err := openDir(filepath.Dir(path))
	if err != nil {
		return "", false
	}
	defer unix.Close(at)
	var b [4]byte
	rand.Read(b[:]) // never fails
	from := filepath.Base(path)
	name := from + ".planted-" + hex.EncodeToString(b[:])
	return name, unix.Renameat2(at, from, at, name, unix.RENAME_NOREPLACE) == nil
}

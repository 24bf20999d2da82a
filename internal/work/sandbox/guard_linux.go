package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/placeholders"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

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
// Where there is no inotify to be had a goroutine looks every few milliseconds
// instead. It ends with end.
type guard struct {
	names map[string]boundary.FileID // who stands at each path
	masks map[string]bool            // the paths of placeholders
	from  *notices                   // nil without inotify
	quit  chan struct{}
	wg    sync.WaitGroup

	mu   sync.Mutex // guards what follows
	kill func()
	lost []string
}

// guardInterval is how often names are looked at where inotify is used up.
const guardInterval = 5 * time.Millisecond

// newGuard watches the names of p that mounts protect; all of them must be
// there. The command must not run before it returns.
func newGuard(p boundary.Plan) (*guard, error) {
	names := exposed(p.Mounts)
	if len(names) == 0 {
		return nil, nil
	}
	g := &guard{names: make(map[string]boundary.FileID, len(names)), masks: make(map[string]bool), quit: make(chan struct{})}
	for _, m := range p.Masks {
		g.masks[m.Path] = true
	}
	for _, path := range names {
		id, ok := g.identity(path)
		if !ok {
			return nil, fmt.Errorf("sandbox: %s was removed while the sandbox was set up; run the command again: %w", path,
				fs.ErrNotExist) // Prepare looks again
		}
		g.names[path] = id
	}
	if g.from = theNotices(); g.from != nil && g.from.add(g) != nil {
		g.from = nil
	}
	if g.from == nil {
		g.wg.Go(g.poll)
	}
	g.look() // what went away before it was watched
	return g, nil
}

// exposed are the mount points that lie in directories which can be written to
// outside by those for whom the mounts are not there.
func exposed(mounts []boundary.Mount) []string {
	kinds := make(map[string]boundary.MountKind, len(mounts))
	for _, m := range mounts {
		kinds[m.Path] = m.Kind
	}
	var names []string
	for _, m := range mounts {
		for dir := m.Path; dir != "/"; {
			dir = filepath.Dir(dir)
			kind, mounted := kinds[dir]
			if mounted && kind == boundary.MountWrite {
				names = append(names, m.Path)
			}
			if mounted {
				break
			}
		}
	}
	return names
}

// identity is who stands at path; a placeholder has to be one still, unless it is a
// directory: that protects as well when others have filled it.
func (g *guard) identity(path string) (boundary.FileID, bool) {
	info, err := os.Lstat(path)
	if err != nil || g.masks[path] && !info.IsDir() && !(boundary.Disk{}).Placeholder(path) {
		return boundary.FileID{}, false
	}
	id, _ := boundary.IdentityOf(info)
	return id, true
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

// event is told that a name was taken away or replaced. That is decisive for a
// protected one: the number of a file that is gone may be given to its successor.
func (g *guard) event(path string) {
	if _, ours := g.names[path]; ours {
		g.lose(path)
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
	kill := g.kill
	g.mu.Unlock()
	if kill != nil {
		kill()
	}
}

// arm gives the guard what ends the command. It is called at once if something
// was lost already.
func (g *guard) arm(kill func()) {
	g.mu.Lock()
	g.kill = kill
	late := len(g.lost) > 0
	g.mu.Unlock()
	if late {
		kill()
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
	g.kill = nil // its number may be somebody else's by now
	g.mu.Unlock()
	close(g.quit)
	g.wg.Wait()
	if g.from != nil {
		g.from.remove(g)
	}
	g.look()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

// filled reports whether the placeholder of m was protected all the time, and somebody
// else filled it.
func (g *guard) filled(m boundary.Mask) bool {
	was, watched := g.names[m.Path]
	now, ok := g.identity(m.Path)
	return watched && ok && now == was && !slices.Contains(g.lost, m.Path) && !(boundary.Disk{}).Placeholder(m.Path)
}

// setAside moves what stands at the place of a lost placeholder to a name that
// nothing runs or follows: the command may have made it in its last moments, and
// if it was the user it is not lost.
func setAside(p boundary.Plan, lost []string) []boundary.Finding {
	var found []boundary.Finding
	for _, path := range lost {
		masked := slices.ContainsFunc(p.Masks, func(m boundary.Mask) bool { return m.Path == path })
		_, err := os.Lstat(path)
		switch {
		case !masked:
			found = append(found, boundary.Finding{Path: path,
				What: "was replaced from outside while a command ran, so the command was ended; check it before you rely on it"})
		case err != nil || (boundary.Disk{}).Placeholder(path):
			found = append(found, boundary.Finding{Path: path,
				What: "its placeholder was removed from outside while a command ran, so the command was ended"})
		default:
			to, moved := aside(path)
			what := "was made while its placeholder was away; it could not be moved, so remove it"
			if moved {
				what = "was made while its placeholder was away; it is now " + to
			}
			found = append(found, boundary.Finding{Path: path, What: what, Removed: moved})
		}
	}
	return found
}

func aside(path string) (to string, ok bool) {
	at, err := placeholders.OpenDir(filepath.Dir(path))
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

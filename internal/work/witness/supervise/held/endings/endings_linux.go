package endings

import (
	"path"
	"slices"

	"kerf/internal/work/witness/supervise/closings"
	"kerf/internal/work/witness/supervise/held/dirs"
)

// Listener tells of files that were written and closed in directories, of each as often as it was: two
// processes that have the same new file open can open and close it right after each other, and inotify
// makes one notice of that. Its methods are for one goroutine at a time.
type Listener[U dirs.User] struct {
	listener *closings.Listener
	dirs     map[string]*dirs.Dir[U] // by Told
}

// Listen returns a listener that hears of no directory yet.
func Listen[U dirs.User]() Listener[U] {
	return Listener[U]{closings.Listen(), make(map[string]*dirs.Dir[U])}
}

// Add hears of the files in a directory from now on, if the kernel tells.
func (l *Listener[U]) Add(d *dirs.Dir[U]) {
	if d.Told = l.listener.Add(d.Path); d.Told != "" {
		l.dirs[d.Told] = d
	}
}

// Remove ends that.
func (l *Listener[U]) Remove(d *dirs.Dir[U]) {
	if d.Told != "" && l.dirs[d.Told] == d {
		delete(l.dirs, d.Told)
		l.listener.Remove(d.Path, d.Told)
	}
	d.Told = ""
}

// Next calls f for each file that was closed, as closings names it, and that has, or had, a path. lost
// says that more was closed than the kernel tells.
func (l *Listener[U]) Next(f func(p string, file []byte)) (lost bool) {
	return l.listener.Next(func(dir, name, file []byte) {
		if d := l.dirs[string(dir)]; d != nil && len(name) > 0 {
			f(path.Join(d.Path, string(name)), file)
		}
	})
}

// Counts are how often files were closed at a name. The zero value is ready to use.
type Counts struct{ list []count }

type count struct {
	file  string
	times int
}

// Add counts a closing. again says that the file was closed before; name is its name then.
func (c *Counts) Add(file []byte) (name string, again bool) {
	i := slices.IndexFunc(c.list, func(e count) bool { return e.file == string(file) })
	if i < 0 {
		c.list = append(c.list, count{string(file), 1})
		return "", false
	}
	c.list[i].times++
	return c.list[i].file, true
}

// Times is how often a file was closed.
func (c *Counts) Times(file string) int {
	for _, e := range c.list {
		if e.file == file {
			return e.times
		}
	}
	return 0
}

//go:build unix

package powerloss

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Disk is what is known of a directory and all below it.
type Disk struct {
	base   string
	ids    map[uint64]int // inode number -> id; numbers are used again
	next   int
	now    image
	events []*event
	nodes  map[int]*node
}

// image is the file system below base: the entries of directories, by id.
type image map[entry]int

type entry struct {
	dir  int
	name string
}

// event is one change of names.
type event struct {
	names   map[entry]int // what each name is now, 0 for nothing
	emptied []int         // directories that went, which needs them to be empty
	durable bool
}

// node is a file, a directory or a link, with the contents since it was last flushed.
type node struct {
	dir      bool
	link     bool
	contents []content
}

type content struct {
	data string
	mode os.FileMode
}

// New takes all that is below base now as durable.
func New(base string) (*Disk, error) {
	d := &Disk{base: base, ids: map[uint64]int{}, now: image{}, nodes: map[int]*node{}}
	if err := d.Observe(); err != nil {
		return nil, err
	}
	d.FlushAll()
	return d, nil
}

// FlushAll notes that all of the file system will be durable.
func (d *Disk) FlushAll() {
	for _, e := range d.events {
		e.durable = true
	}
	for _, n := range d.nodes {
		n.contents = n.contents[len(n.contents)-1:]
	}
}

// Observe finds out what has changed since the last look.
func (d *Disk) Observe() error {
	seen, err := d.look()
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < 100; tries++ {
		seen, err = d.look() // another thread of the program has changed a name meanwhile
	}
	if err != nil {
		return err
	}
	ev := &event{names: map[entry]int{}}
	for k, id := range seen {
		if d.now[k] != id {
			ev.names[k] = id
		}
	}
	for k, id := range d.now {
		if seen[k] == 0 {
			ev.names[k] = 0
			if d.nodes[id].dir {
				ev.emptied = append(ev.emptied, id)
			}
		}
	}
	if len(ev.names) > 0 {
		d.events = append(d.events, ev)
	}
	d.now = seen
	return nil
}

// look walks over what is there.
func (d *Disk) look() (image, error) {
	seen, alive := image{}, map[uint64]bool{}
	var walk func(path string, dir int) error
	walk = func(path string, dir int) error {
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			p := filepath.Join(path, e.Name())
			st, err := os.Lstat(p)
			if err != nil {
				return err
			}
			if st.Mode().Type()&^(os.ModeDir|os.ModeSymlink) != 0 {
				continue // a socket or a FIFO holds nothing
			}
			ino := st.Sys().(*syscall.Stat_t).Ino
			alive[ino] = true
			id, known := d.ids[ino]
			if !known {
				d.next++
				id = d.next
				d.ids[ino] = id
				d.nodes[id] = &node{dir: st.IsDir(), link: st.Mode()&os.ModeSymlink != 0}
			}
			seen[entry{dir, e.Name()}] = id
			if err := d.nodes[id].note(p, st.Mode()); err != nil {
				return err
			}
			if st.IsDir() {
				if err := walk(p, id); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(d.base, 0); err != nil {
		return nil, err
	}
	for ino := range d.ids {
		if !alive[ino] {
			delete(d.ids, ino)
		}
	}
	return seen, nil
}

func (n *node) note(path string, mode os.FileMode) (err error) {
	c := content{mode: mode.Perm()}
	switch {
	case n.link:
		c.data, err = os.Readlink(path)
	case !n.dir:
		var b []byte
		b, err = os.ReadFile(path)
		c.data = string(b)
	}
	if err == nil && (len(n.contents) == 0 || n.contents[len(n.contents)-1] != c) {
		n.contents = append(n.contents, c)
	}
	return err
}

// Flush notes that the file or directory of this name will be durable.
func (d *Disk) Flush(path string) {
	st, err := os.Lstat(path)
	if err != nil {
		return
	}
	id := d.ids[st.Sys().(*syscall.Stat_t).Ino] // 0 for the base
	if st.IsDir() {
		d.flushNames(id)
	} else if n := d.nodes[id]; n != nil {
		n.contents = n.contents[len(n.contents)-1:]
	}
}

func (d *Disk) flushNames(dir int) {
	needed, neededDir := map[entry]bool{}, map[int]bool{}
	for _, e := range slices.Backward(d.events) {
		touches := false
		for k := range e.names {
			touches = touches || k.dir == dir || needed[k] || neededDir[k.dir]
		}
		if !touches {
			continue
		}
		e.durable = true
		for _, id := range e.emptied {
			neededDir[id] = true
		}
		for k := range e.names {
			needed[k] = true
		}
	}
}

// lose returns the state in which of the changes that are not durable those in keep
// are there, as far as they do not hang in the air.
func (d *Disk) lose(keep func(i int) bool, pick func(c []content) content) State {
	s := State{names: image{}, contents: map[int]content{}, disk: d}
	stuck, full := map[entry]bool{}, map[int]bool{}
	i := 0
	for _, e := range d.events {
		if !e.durable {
			i++
			lost := !keep(i - 1)
			for k := range e.names {
				lost = lost || stuck[k]
			}
			for _, id := range e.emptied {
				lost = lost || full[id]
			}
			if lost {
				for k := range e.names {
					stuck[k], full[k.dir] = true, true
				}
				continue
			}
		}
		for k, id := range e.names {
			if s.names[k] = id; id == 0 {
				delete(s.names, k)
			}
		}
	}
	for id, n := range d.nodes {
		s.contents[id] = n.contents[0]
		if len(n.contents) > 1 {
			s.contents[id] = pick(n.contents)
		}
	}
	return s
}

func (d *Disk) pending() int {
	n := 0
	for _, e := range d.events {
		if !e.durable {
			n++
		}
	}
	return n
}

// The contents that a file may have when it was not flushed.
func pickOld(c []content) content { return c[0] }
func pickNew(c []content) content { return c[len(c)-1] }

// pickPart is no shorter than the file ever was since it was flushed: only a
// truncation takes bytes away.
func pickPart(c []content) content {
	last := c[len(c)-1]
	cut := len(last.data)
	for _, was := range c {
		cut = min(cut, len(was.data))
	}
	return content{last.data[:max(cut, len(last.data)/2)], last.mode}
}

func pickMix(c []content) content {
	last := c[len(c)-1]
	mixed := pickPart(c).data
	if len(c[0].data) > len(mixed) {
		mixed += c[0].data[len(mixed):]
	} else {
		mixed += strings.Repeat("\x00", len(last.data)-len(mixed))
	}
	return content{mixed, last.mode}
}

// Losses calls f with states that a loss of power now may leave: the changes of names
// in order up to each, each one alone missing, each one alone there, and some at
// random, with different fates of the contents. Without all they are a part of those, drawn by r.
func (d *Disk) Losses(r *rand.Rand, all bool, f func(what string, s State)) {
	picks := []struct {
		name string
		of   func([]content) content
	}{{"old", pickOld}, {"new", pickNew}, {"part", pickPart}, {"mix", pickMix}}
	n := d.pending()
	numbers := maps.Clone(d.ids)
	one := func(what string, keep func(int) bool) {
		for _, pick := range picks {
			if all || r.IntN(4) == 0 {
				s := d.lose(keep, pick.of)
				s.numbers = numbers
				f(what+", contents "+pick.name, s)
			}
		}
	}
	for i := range n + 1 {
		if !all && i != 0 && i != n && r.IntN(n) > 1 {
			continue
		}
		one(fmt.Sprint("first ", i), func(k int) bool { return k < i })
		one(fmt.Sprint("without ", i), func(k int) bool { return k != i })
		one(fmt.Sprint("only ", i), func(k int) bool { return k == i })
	}
	rounds := 2
	if all {
		rounds = 40
	}
	for range rounds {
		bits := r.Uint64() | r.Uint64()&r.Uint64()
		one(fmt.Sprintf("set %x", bits), func(k int) bool { return bits>>(k%64)&1 == 1 })
	}
}

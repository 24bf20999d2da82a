//go:build unix

package powerloss

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// State is what one loss of power leaves.
type State struct {
	names    image
	contents map[int]content
	disk     *Disk
	numbers  map[uint64]int // inode number -> id, when power was lost
}

var inoField = regexp.MustCompile(`"ino":(\d+)`)

// Build makes the state on the real disk, in the place of what is below the directory. Journals
// (journal.jsonl) name files by their numbers, which are other ones then.
func (s State) Build() error {
	clear, err := os.ReadDir(s.disk.base)
	if err != nil {
		return err
	}
	for _, e := range clear {
		if err := os.RemoveAll(filepath.Join(s.disk.base, e.Name())); err != nil {
			return err
		}
	}
	b := builder{s: s, made: map[int]string{}, keys: slices.SortedFunc(maps.Keys(s.names), func(a, b entry) int {
		if a.dir != b.dir {
			return a.dir - b.dir
		}
		return strings.Compare(a.name, b.name)
	})}
	if err := b.fill(0, s.disk.base); err != nil {
		return err
	}
	for p, text := range b.journals {
		if err := os.WriteFile(p, []byte(s.renumber(text, b.made)), 0o600); err != nil {
			return err
		}
	}
	for p, mode := range b.modes {
		if err := os.Chmod(p, mode); err != nil {
			return err
		}
	}
	return nil
}

type builder struct {
	s        State
	keys     []entry
	made     map[int]string // by id
	journals map[string]string
	modes    map[string]os.FileMode
}

func (b *builder) fill(dir int, path string) error {
	for _, k := range b.keys {
		if k.dir != dir {
			continue
		}
		id := b.s.names[k]
		if err := b.put(id, filepath.Join(path, k.name)); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) put(id int, p string) error {
	n, c := b.s.disk.nodes[id], b.s.contents[id]
	had := b.made[id]
	switch {
	case n.dir && had != "":
		return nil // a directory has one name; this one is on its way
	case n.dir:
		b.made[id] = p
		b.mode(p, c.mode)
		if err := os.Mkdir(p, 0o700); err != nil {
			return err
		}
		return b.fill(id, p)
	case had != "":
		return os.Link(had, p)
	case n.link:
		b.made[id] = p
		return os.Symlink(c.data, p)
	case filepath.Base(p) == "journal.jsonl":
		if b.journals == nil {
			b.journals = map[string]string{}
		}
		b.journals[p] = c.data
		return nil
	}
	b.made[id] = p
	b.mode(p, c.mode)
	return os.WriteFile(p, []byte(c.data), 0o600)
}

// mode is set at the end: a directory may forbid what is put into it.
func (b *builder) mode(p string, mode os.FileMode) {
	if b.modes == nil {
		b.modes = map[string]os.FileMode{}
	}
	b.modes[p] = mode
}

func (s State) renumber(journal string, made map[int]string) string {
	return inoField.ReplaceAllStringFunc(journal, func(field string) string {
		ino, _ := strconv.ParseUint(inoField.FindStringSubmatch(field)[1], 10, 64)
		if ino == 0 {
			return field
		}
		now := uint64(1) // a file that is not there any more
		if st, err := os.Lstat(made[s.numbers[ino]]); err == nil {
			now = st.Sys().(*syscall.Stat_t).Ino
		}
		return fmt.Sprintf(`"ino":%d`, now)
	})
}

// Key describes the state, to try each once.
func (s State) Key() string {
	reach := map[int]string{0: ""}
	for changed := true; changed; {
		changed = false
		for k, id := range s.names {
			if _, ok := reach[k.dir]; ok && s.disk.nodes[id].dir && reach[id] == "" {
				reach[id] = reach[k.dir] + "/" + k.name
				changed = true
			}
		}
	}
	var lines []string
	for k, id := range s.names {
		if p, ok := reach[k.dir]; ok {
			lines = append(lines, fmt.Sprintf("%s/%s=%d %v\n", p, k.name, id, s.contents[id]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Package reviewed remembers which changes the user has looked at, by their content: what was
// reviewed stays so wherever it moves in its file, until its lines are others.
package reviewed

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kerf/internal/atomicfile"
	"kerf/internal/text/diff/shown"
)

const fileName = "reviewed"

// Marks are those of one workspace. The file has a mark in each line, and grows. Several
// processes may use it.
type Marks struct{ path string }

// In returns the marks that are kept in the directory of a workspace. It reads nothing.
func In(dir string) Marks { return Marks{filepath.Join(dir, fileName)} }

// Left is the part of a git diff that nobody marked: the hunks in which a block of changed lines
// has no mark, each with the head of its file.
func (m Marks) Left(diff string) (string, error) {
	known, err := m.read()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range parse(diff) {
		b.WriteString(f.left(known))
	}
	return b.String(), nil
}

// Add marks all of a git diff, and returns how many marks are new.
func (m Marks) Add(diff string) (added int, err error) {
	known, err := m.read()
	if err != nil {
		return 0, err
	}
	var b strings.Builder
	for _, f := range parse(diff) {
		for _, key := range f.keys() {
			if !known[key] {
				known[key] = true
				added++
				b.WriteString(key + "\n")
			}
		}
	}
	if added == 0 {
		return 0, nil
	}
	out, err := atomicfile.OpenFile(m.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = out.WriteString(b.String()) // in one call, so that processes do not mix
	return added, errors.Join(err, out.Close())
}

func (m Marks) read() (map[string]bool, error) {
	known := map[string]bool{}
	f, err := atomicfile.Open(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		known[lines.Text()] = true
	}
	return known, lines.Err()
}

// file is one file of a diff: its head, and its hunks with their lines.
type file struct {
	head  []string
	hunks [][]string
}

// parse takes a git diff apart. Lines have their ends.
func parse(diff string) (files []file) {
	shown.Each(diff, func(kind shown.Kind, line string) {
		if kind == shown.Header && strings.HasPrefix(line, "diff --git ") {
			files = append(files, file{})
		}
		if len(files) == 0 {
			return
		}
		f := &files[len(files)-1]
		switch {
		case kind == shown.Hunk:
			f.hunks = append(f.hunks, []string{line + "\n"})
		case kind == shown.Header || len(f.hunks) == 0:
			f.head = append(f.head, line+"\n")
		default:
			f.hunks[len(f.hunks)-1] = append(f.hunks[len(f.hunks)-1], line+"\n")
		}
	})
	return files
}

// left is the file without the hunks that are known whole; nothing if all is.
func (f file) left(known map[string]bool) string {
	seen := map[string]int{}
	var b strings.Builder
	for _, h := range f.hunks {
		whole := true
		for _, block := range blocks(h) {
			whole = known[f.key(block, seen)] && whole
		}
		if !whole {
			b.WriteString(strings.Join(h, ""))
		}
	}
	if own := f.about(); b.Len() == 0 && (own == "" || known[f.key(own, seen)]) {
		return ""
	}
	return strings.Join(f.head, "") + b.String()
}

// keys are the marks of all of the file.
func (f file) keys() (all []string) {
	seen := map[string]int{}
	for _, h := range f.hunks {
		for _, block := range blocks(h) {
			all = append(all, f.key(block, seen))
		}
	}
	if own := f.about(); own != "" {
		all = append(all, f.key(own, seen))
	}
	return all
}

// about is what the head says beside the names: modes, a move, that the file is new or gone,
// bytes that are no text. Empty if it says nothing of its own.
func (f file) about() string {
	var b strings.Builder
	for _, line := range f.head[1:] {
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "),
			strings.HasPrefix(line, "index ") && len(f.hunks) > 0:
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// key is the mark of a block in the file. The second of two that are alike has another than
// the first.
func (f file) key(block string, seen map[string]int) string {
	seen[block]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", f.head[0], seen[block], block))
	return hex.EncodeToString(sum[:16])
}

// blocks are the runs of changed lines of a hunk.
func blocks(hunk []string) (all []string) {
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			all = append(all, b.String())
		}
		b.Reset()
	}
	for _, line := range hunk[1:] {
		if line[0] == ' ' {
			end()
		} else {
			b.WriteString(line)
		}
	}
	end()
	return all
}

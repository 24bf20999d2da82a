package rollout

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// BreakError is the first place where a rollout is not what was written.
type BreakError struct {
	Line   int // 1-based
	Reason string
}

func (e *BreakError) Error() string {
	return fmt.Sprintf("%s line %d: %s", rolloutName, e.Line, e.Reason)
}

// diffName matches the names that SaveDiff returns.
var diffName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^diffs/[0-9]{3,10}\.diff$`)
})

// Verify checks that the records of a session are those that were written, in
// number, order and content, and that the diffs they name are there. Any line
// that was flipped, cut, moved or added breaks the chain of hashes; the last
// lines are held by the head file. The error is a *BreakError, or about reading.
func Verify(dir string) error {
	last, sum := readHead(filepath.Join(dir, headName))
	f, err := openRegular(filepath.Join(dir, rolloutName), os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	defer f.Close()
	v := verifier{dir: dir, last: last, sum: sum}
	in := bufio.NewReaderSize(f, 256<<10)
	var buf []byte
	for {
		line, n, err := readLine(in, buf[:0])
		buf = line
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("verify: %w", err)
		}
		if n == 0 {
			break
		}
		v.line++
		if err != nil {
			return v.broken("is cut off")
		}
		if n > maxLine {
			return v.broken("is longer than %d bytes", maxLine)
		}
		if err := v.check(line); err != nil {
			return err
		}
	}
	if v.seq < v.last {
		v.line++
		return v.broken("is missing: %d records were written, %d are there", v.last, v.seq)
	}
	return nil
}

type verifier struct {
	dir  string
	last int64 // what the head says
	sum  string
	line int
	seq  int64
	prev string
}

func (v *verifier) broken(format string, args ...any) error {
	return &BreakError{v.line, fmt.Sprintf(format, args...)}
}

func (v *verifier) check(line []byte) error {
	h, ok := parse(line)
	switch {
	case !ok:
		return v.broken("is not a record")
	case h.seq != v.seq+1:
		return v.broken("has number %d after %d", h.seq, v.seq)
	case h.prev != v.prev:
		return v.broken("does not continue the line before it: one of them was changed")
	}
	v.seq, v.prev = h.seq, hash(line)
	if v.seq == v.last && v.prev != v.sum {
		return v.broken("was changed")
	}
	return v.checkDiff(line)
}

// checkDiff looks for the diff that a record names.
func (v *verifier) checkDiff(line []byte) error {
	var r struct {
		Path string `json:"diff_path"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return v.broken("has a diff_path that is not a string")
	}
	if r.Path == "" {
		return nil
	}
	if !diffName().MatchString(r.Path) {
		return v.broken("names %q, which is not the name of a diff", r.Path)
	}
	if st, err := os.Lstat(filepath.Join(v.dir, filepath.FromSlash(r.Path))); err != nil || !st.Mode().IsRegular() {
		return v.broken("names %s, which is not there", r.Path)
	}
	return nil
}

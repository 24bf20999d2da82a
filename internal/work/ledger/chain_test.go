package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kerf/internal/text/delta"
)

// full is an entry with something in every field.
func full(n int) *Entry {
	set := delta.Set{
		{Path: "/w/a", Pre: delta.NewFile([]byte("x"), 0o644), Post: delta.NewFile([]byte("y"), 0o755)},
		{Path: "/w/\xff\n", Post: delta.NewSymlink("t"), From: "/w/b"},
		{Path: "/w/b", Pre: delta.NewFile(nil, 0o600), To: "/w/c"},
	}
	return &Entry{ID: "id", Time: time.Date(2026, 1, 2, 3, 4, n, 6, time.UTC), Session: "s", Turn: "t", Call: "c",
		Tool: "edit", Client: "exec", Cause: CauseTool, Certainty: Proven, Journal: "j", Of: 7, Ended: true, Exact: true,
		Note: "n", Undoes: []int64{1, 2}, Only: []Path{"/w/a"}, Changes: ChangesOf(set), Dirs: []Path{"/w/\xffd"},
		Gone: []Dir{{"/w/g", 0o755}}}
}

// written makes a ledger in dir by two processes, with an unfinished write in its
// midst, and returns its bytes.
func written(t testing.TB, dir string, n int) []byte {
	t.Helper()
	path := filepath.Join(dir, fileName)
	var both [2]*Ledger
	for i := range both {
		l, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		both[i] = l
	}
	for i := range n {
		if i == n/2 {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteString(`{"v":1,"seq":`)
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		l := both[i/2%2]
		if err := errors.Join(l.Append(full(i)), l.Sync()); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// named reports whether the line that was told is the one that was changed. When
// nothing is left of the line after the unfinished one, that one is told.
func named(told, changed int) bool { return told == changed || told == 3 && changed == 4 }

func verified(t testing.TB, dir string) error {
	t.Helper()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = l.Verify()
	return err
}

// TestAnyChangedByteIsFound flips a bit of each byte of a ledger. The line it lies in
// must be named. That the test can fail is seen by a check that passes over the
// hashes.
func TestAnyChangedByteIsFound(t *testing.T) {
	dir := t.TempDir()
	whole := written(t, dir, 5)
	if err := verified(t, dir); err != nil {
		t.Fatal(err)
	}
	numbersOnly := func(dir string) error { // the seeded fault
		entries, err := open(t, dir).Read(0)
		for i, e := range entries {
			if e.Seq != int64(i+1) {
				err = &BreakError{i + 1, "number"}
			}
		}
		return err
	}
	missed := 0
	for at := range whole {
		damaged := slices.Clone(whole)
		damaged[at] ^= []byte{1, 0x20, 0x80}[at%3]
		if err := os.WriteFile(filepath.Join(dir, fileName), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		line := bytes.Count(whole[:at], []byte("\n")) + 1
		var broken *BreakError
		if err := verified(t, dir); !errors.As(err, &broken) || !named(broken.Line, line) {
			t.Fatalf("byte %d of line %d, %q to %q: %v", at, line, whole[at], damaged[at], err)
		}
		if numbersOnly(dir) == nil {
			missed++
		}
	}
	if missed == 0 {
		t.Error("a check without hashes finds all that is changed here, too")
	}
}

// TestAnyChangedFieldIsFound gives each field of each entry another value that is as
// good.
func TestAnyChangedFieldIsFound(t *testing.T) {
	dir := t.TempDir()
	lines := strings.SplitAfter(string(written(t, dir, 4)), "\n")
	field := regexp.MustCompile(`"([a-z0-9_]+)":(?:"[^"]+"|[0-9]+|true)`)
	seen := map[string]bool{}
	for i, line := range lines {
		for _, m := range field.FindAllStringSubmatchIndex(line, -1) {
			name, end := line[m[2]:m[3]], m[1]
			seen[name] = true
			var other string
			switch value := line[m[3]+2 : end]; value[0] {
			case '"':
				last := "A"
				if value[len(value)-2] == 'A' {
					last = "B"
				}
				other = line[:end-2] + last + line[end-1:]
			case 't':
				other = line[:end-4] + "false" + line[end:]
			default:
				other = line[:end] + "1" + line[end:]
			}
			damaged := slices.Clone(lines)
			damaged[i] = other
			path := filepath.Join(dir, fileName)
			if err := os.WriteFile(path, []byte(strings.Join(damaged, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			var broken *BreakError
			if err := verified(t, dir); !errors.As(err, &broken) || !named(broken.Line, i+1) {
				t.Errorf("line %d, %s: %v", i+1, name, err)
			}
		}
	}
	for _, name := range []string{"session", "turn", "call", "tool", "client", "time", "cause", "certainty", "journal", "of",
		"ended", "exact", "note", "path", "from", "to", "mode", "sum", "size", "kind", "b64", "id", "seq", "prev", "torn"} {
		if !seen[name] {
			t.Errorf("no entry has %s", name)
		}
	}
}

// TestForgedRemovedAndMovedLinesAreFound changes the list of lines.
func TestForgedRemovedAndMovedLinesAreFound(t *testing.T) {
	dir := t.TempDir()
	whole := string(written(t, dir, 6))
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	check := func(what string, changed []string) {
		t.Helper()
		if strings.Join(changed, "") == whole {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(strings.Join(changed, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		var broken *BreakError
		if err := verified(t, dir); !errors.As(err, &broken) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range lines {
		check(fmt.Sprint("remove ", i+1), slices.Delete(slices.Clone(lines), i, i+1))
		check(fmt.Sprint("cut at ", i+1), lines[:i])
		check(fmt.Sprint("empty line at ", i+1), slices.Insert(slices.Clone(lines), i, "\n"))
		check(fmt.Sprint("garbage at ", i+1), slices.Insert(slices.Clone(lines), i, "garbage\n"))
		for j := range lines {
			check(fmt.Sprint("repeat ", j+1, " at ", i+1), slices.Insert(slices.Clone(lines), i, lines[j]))
			swapped := slices.Clone(lines)
			swapped[i], swapped[j] = lines[j], lines[i]
			check(fmt.Sprint("swap ", i+1, " and ", j+1), swapped)
		}
	}
	if err := os.Remove(filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	if verified(t, dir) == nil {
		t.Error("the ledger was removed, and nothing is said")
	}
}

// TestDamageIsFoundForEver appends after each kind of damage to the last lines.
func TestDamageIsFoundForEver(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"flipped":   func(b []byte) []byte { b[len(b)-20] ^= 1; return b },
		"garbled":   func(b []byte) []byte { b[len(b)-2] = 'x'; return b },
		"joined":    func(b []byte) []byte { b[len(b)-1] = 'x'; return b },
		"removed":   func(b []byte) []byte { return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1] },
		"cut short": func(b []byte) []byte { return b[:len(b)-9] },
		"emptied":   func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := damage(written(t, dir, 5))
			if err := os.WriteFile(filepath.Join(dir, fileName), b, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if verified(t, dir) == nil {
					t.Fatal("nothing is said")
				}
				l := open(t, dir)
				if err := errors.Join(l.Append(full(1)), l.Sync(), l.Close()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestUnfinishedWritesDoNotBreakTheChain cuts the last line, which is not durable
// yet, anywhere, once and again.
func TestUnfinishedWritesDoNotBreakTheChain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fileName)
		torn, size := 0, 0
		for range rapid.IntRange(1, 8).Draw(rt, "entries") {
			l := open(t, dir)
			if err := l.Append(full(1)); err != nil {
				rt.Fatal(err)
			}
			if rapid.Bool().Draw(rt, "durable") {
				if err := errors.Join(l.Sync(), l.Close()); err != nil {
					rt.Fatal(err)
				}
			} else {
				b, err := os.ReadFile(path)
				if err != nil {
					rt.Fatal(err)
				}
				cut := rapid.IntRange(size, len(b)).Draw(rt, "cut")
				pad := rapid.SampledFrom([]string{"", "\x00\x00"}).Draw(rt, "pad")
				if err := os.WriteFile(path, append(b[:cut:cut], pad...), 0o600); err != nil {
					rt.Fatal(err)
				}
				torn++
			}
			if err := verified(t, dir); err != nil {
				rt.Fatal(err)
			}
			st, err := os.Stat(path)
			if err != nil {
				rt.Fatal(err)
			}
			size = int(st.Size())
		}
		l := open(t, dir)
		if err := errors.Join(l.Append(full(1)), l.Sync()); err != nil {
			rt.Fatal(err)
		}
		c, err := l.Verify()
		if err != nil || c.Torn > torn || c.Since != 1 || c.Older != 0 {
			rt.Fatalf("%+v, %v", c, err)
		}
	})
}

func TestOlderLedgersAreReadAndContinued(t *testing.T) {
	dir := t.TempDir()
	text := `{"v":1,"seq":1,"time":"2026-01-01T00:00:00Z","cause":"tool","exact":true,"changes":[]}
torn
{"v":1,"seq":4,"time":"2026-01-01T00:00:00Z","cause":"tool","exact":true,"changes":[]}
`
	path := filepath.Join(dir, fileName)
	if err := os.WriteFile(path, []byte(text+"tor"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir)
	if c, err := l.Verify(); err != nil || c != (Chain{Entries: 2, Older: 2, Torn: 2}) {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := errors.Join(l.Append(full(1)), l.Append(full(2)), l.Sync()); err != nil {
		t.Fatal(err)
	}
	if c, err := l.Verify(); err != nil || c != (Chain{Entries: 4, Since: 5, Older: 2, Torn: 2}) {
		t.Fatalf("%+v, %v", c, err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The first hash covers the entry before it.
	b = bytes.Replace(b, []byte(`"seq":4,"time":"2026`), []byte(`"seq":4,"time":"2025`), 1)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verified(t, dir); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("got %v", err)
	}
}

// TestAppendReadsNothingOfItsOwn holds the cost of an append: a process that writes
// alone never reads the file.
func TestAppendReadsNothingOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	if err := l.Append(full(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fileName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.f.Close(); err != nil {
		t.Fatal(err)
	}
	l.f = f // which cannot be read
	for n := range 3 {
		if err := l.Append(full(n)); err != nil {
			t.Fatal(err)
		}
	}
	if l.f != f {
		t.Error("the file was opened again")
	}
	if err := verified(t, dir); err != nil {
		t.Error(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	l, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for range 20000 {
		if err := l.Append(full(1)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := l.Append(full(1)); err != nil {
			b.Fatal(err)
		}
	}
}

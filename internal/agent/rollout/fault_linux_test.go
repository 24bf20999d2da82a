package rollout

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"kerf/internal/testkit/faults"
	"kerf/internal/testkit/memory"
)

const storyKey, storyDir = "KERF_ROLLOUT_STORY", "KERF_ROLLOUT_DIR"

func TestMain(m *testing.M) {
	faults.Child()
	if name := os.Getenv(storyKey); name != "" {
		if err := stories[name].do(os.Getenv(storyDir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(memory.Run(m))
}

// story is what a process does with a session, in a directory that before has prepared.
type story struct {
	before func(t *testing.T, dir string)
	do     func(dir string) error
	want   string // the texts of the records when nobody was told of an error
	over   string // the name of a file that is replaced
	untold string // the end of a path whose flush may fail without a word
}

// caches are files whose loss costs time only: the head and the mark (see openHead and advance).
var caches = []string{"/" + headName, "/" + markName, "/." + markName}

var stories = map[string]story{
	"a new session": {
		before: func(*testing.T, string) {},
		do: func(dir string) error {
			w, err := Create(dir, Options{Now: clock()})
			if err != nil {
				return err
			}
			err = w.Append(Entry{"user_input", said{"text 1"}})
			_, e := w.SaveDiff([]byte("+1\n"))
			_, f := w.SaveBlob([]byte("a picture"))
			err = errors.Join(err, e, f, w.NoteMetadata(Metadata{ID: "x"}), w.SavePlan("plan"), w.Sync(), w.NoteMetadata(Metadata{ID: "y"}))
			return errors.Join(err, w.Append(Entry{"user_input", said{"text 2"}}), w.Close())
		},
		want: "1 2",
		// The directory above that of the sessions may not be ours, see syncNames.
		untold: "/home",
	},
	"metadata of a new session": {
		before: func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		do: func(dir string) error {
			w, err := Create(dir, Options{Now: clock()})
			if err != nil {
				return err
			}
			return errors.Join(w.NoteMetadata(Metadata{ID: "x"}), w.Close())
		},
		untold: "/home",
	},
	"a compaction": {
		before: func(t *testing.T, dir string) {
			w, err := Create(dir, joined(1))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Append(Entry{"user_input", said{"text 1"}}), w.Close()); err != nil {
				t.Fatal(err)
			}
		},
		do: func(dir string) error {
			w, _, _, err := Resume(dir, joined(1))
			if err != nil {
				return err
			}
			return errors.Join(w.Append(Entry{"compacted", said{"text 2"}}), w.Append(Entry{"user_input", said{"text 3"}}), w.Close())
		},
		want: "1 2 3",
	},
	"a picture in a later turn": {
		before: func(t *testing.T, dir string) { spoiled(t, dir, func(b []byte) []byte { return b }) },
		do: func(dir string) error {
			w, _, err := Extend(dir, Options{Now: clock()})
			if err != nil {
				return err
			}
			_, err = w.SaveBlob([]byte("a picture"))
			return errors.Join(err, w.Append(Entry{"user_input", said{"text 3"}}), w.Close())
		},
		want: "1 2 3",
	},
	"a diff in a later turn": {
		before: func(t *testing.T, dir string) { spoiled(t, dir, func(b []byte) []byte { return b }) },
		do: func(dir string) error {
			w, _, err := Extend(dir, Options{Now: clock()})
			if err != nil {
				return err
			}
			_, err = w.SaveDiff([]byte("+3\n"))
			return errors.Join(err, w.Append(Entry{"user_input", said{"text 3"}}), w.Close())
		},
		want: "1 2 3",
	},
	"metadata in a later turn": {
		before: func(t *testing.T, dir string) {
			spoiled(t, dir, func(b []byte) []byte { return b })
			if err := SaveMetadata(dir, Metadata{ID: "x"}); err != nil {
				t.Fatal(err)
			}
		},
		do: func(dir string) error {
			w, _, err := Extend(dir, Options{Now: clock()})
			if err != nil {
				return err
			}
			return errors.Join(w.NoteMetadata(Metadata{ID: "y"}), w.Append(Entry{"user_input", said{"text 3"}}), w.Close())
		},
		want: "1 2 3", over: metadataName,
	},
	"a torn end": {
		before: func(t *testing.T, dir string) { spoiled(t, dir, func(b []byte) []byte { return b[:len(b)-20] }) },
		do:     goesOn, want: "1 3",
	},
	"an end without a line feed": {
		before: func(t *testing.T, dir string) { spoiled(t, dir, func(b []byte) []byte { return b[:len(b)-1] }) },
		do:     goesOn, want: "1 2 3",
	},
	"junk, and what another repair left": {
		before: func(t *testing.T, dir string) {
			spoiled(t, dir, func(b []byte) []byte { return append([]byte("junk\n"), b...) })
			mustWrite(t, filepath.Join(dir, rolloutName+".new"), []byte("half"))
			mustWrite(t, filepath.Join(dir, damagedName+"1"), []byte("earlier"))
		},
		do: goesOn, want: "1 2 3", over: rolloutName,
	},
}

// spoiled makes a session of two records, and changes its record.
func spoiled(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	w, err := Create(dir, Options{Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(Entry{"user_input", said{"text 1"}}), w.Append(Entry{"user_input", said{"text 2"}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, file1(dir), change(mustRead(t, file1(dir))))
}

// goesOn mends a session and adds to it.
func goesOn(dir string) error {
	w, _, damage, err := Open(dir, Options{Now: clock()})
	if err != nil {
		return err
	}
	if damage == nil {
		return errors.Join(errors.New("no damage is told"), w.Close())
	}
	err = errors.Join(w.Append(Entry{"user_input", said{"text 3"}}), w.Close())
	if errors.Is(err, os.ErrInvalid) {
		panic("a session was opened without its record")
	}
	return err
}

// lasting tells of a call that makes a name which counts.
func (s story) lasting(c faults.Call) bool {
	makes := c.Name == "mkdirat" || c.Name == "renameat" || c.Name == "openat" && strings.Contains(c.Path, damagedName)
	return makes && !s.harmless(c)
}

// flushed tells whether a directory is flushed, and early, before anything is taken out of the record.
func flushed(calls []faults.Call, dir string, early bool) bool {
	for _, c := range calls {
		if c.Flush() && c.Path == dir {
			return true
		}
		if early && (c.Name == "ftruncate" || c.Name == "renameat") {
			return false
		}
	}
	return false
}

// kindOf is a file's name without what atomicfile adds while it is written.
func kindOf(path string) string {
	dir, base := filepath.Split(strings.TrimSuffix(path, ".new"))
	if i := strings.LastIndexByte(base, '-'); i > 0 && strings.HasPrefix(base, ".") && strings.HasSuffix(base, ".tmp") {
		base = base[1:i]
	}
	return dir + base
}

// harmless tells of a call that nobody has to hear of.
func (s story) harmless(c faults.Call) bool {
	return s.untold != "" && strings.HasSuffix(c.Path, s.untold) || slices.ContainsFunc(caches, func(part string) bool {
		return strings.Contains(c.Path, part)
	})
}

// TestEachCallThatFailsIsTold: whichever call that changes files fails, the caller hears of it, or
// nothing that counts depended on it. Names and contents that count are flushed. Nobody loses a byte of a damaged record by its repair either way.
func TestEachCallThatFailsIsTold(t *testing.T) {
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(p faults.Plan) (dir string, calls []faults.Call, err error) {
				dir = filepath.Join(t.TempDir(), "home", "sessions", "id")
				s.before(t, dir)
				was, _ := os.ReadFile(file1(dir))
				cmd := exec.Command(os.Args[0])
				var stderr strings.Builder
				cmd.Stderr = &stderr
				cmd.Env = append(os.Environ(), storyKey+"="+name, storyDir+"="+dir)
				p.Below = []string{filepath.Dir(filepath.Dir(filepath.Dir(dir)))}
				calls, err = faults.Run(cmd, p)
				if errors.Is(err, faults.ErrUnavailable) {
					t.Skip(err)
				}
				kept(t, dir, was)
				if _, there := os.Lstat(dir); strings.HasPrefix(stderr.String(), "create session:") && there == nil {
					t.Errorf("a session that could not be made is there: %s", &stderr)
				}
				return dir, calls, err
			}
			_, calls, err := run(faults.Plan{})
			if err != nil || len(calls) < 3 {
				t.Fatalf("%d calls, %v", len(calls), err)
			}
			for at, call := range calls {
				if named := s.lasting(call); named && !flushed(calls[at+1:], filepath.Dir(call.Path), strings.Contains(call.Path, damagedName)) {
					t.Errorf("%s: the name may be lost with the power\n%v", call, calls)
				}
				kept := func(later faults.Call) bool { return later.Flush() && kindOf(later.Path) == kindOf(call.Path) }
				if s.over != "" && call.Name == "renameat" && filepath.Base(kindOf(call.Path)) == s.over && !slices.ContainsFunc(calls[:at], kept) {
					t.Errorf("%s: neither the old content nor the new one may be there after a loss of power\n%v", call, calls)
				}
				if strings.Contains(call.Name, "write") && !s.harmless(call) && !slices.ContainsFunc(calls[at+1:], kept) {
					t.Errorf("%s: the content may be lost with the power\n%v", call, calls)
				}
			}
			for at, call := range calls {
				dir, _, err := run(faults.Plan{At: at + 1, Errno: syscall.EIO})
				if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() != 1 {
					t.Errorf("call %d, %s, failed, and so did the program: %v", at+1, call, err)
				}
				if err != nil {
					continue
				}
				records, damage, err := Read(dir)
				if texts(records) != s.want || damage != nil && damage.Skipped+int(damage.Torn)+int(damage.Missing) > 0 || err != nil {
					t.Errorf("call %d, %s, failed untold; the session has %q, %v, %v", at+1, call, texts(records), damage, err)
				}
				if call.Flush() && !s.harmless(call) || strings.Contains(call.Path, "/"+diffsName+"/") {
					t.Errorf("call %d, %s, failed untold", at+1, call)
				}
			}
		})
	}
}

// kept: each line that was whole before is in the record still or beside it.
func kept(t *testing.T, dir string, was []byte) {
	t.Helper()
	now, _ := os.ReadFile(file1(dir))
	beside, _ := filepath.Glob(filepath.Join(dir, damagedName+"*"))
	for _, path := range beside {
		now = append(now, mustRead(t, path)...)
	}
	for line := range strings.Lines(string(was)) {
		if !strings.Contains(string(now), strings.TrimSuffix(line, "\n")) {
			t.Errorf("gone without a copy: %q", line)
		}
	}
}

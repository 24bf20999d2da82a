package placeholders

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
)

// room is a workspace with a place for locks beside it.
func room(t *testing.T) (work, locks string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	work, locks = filepath.Join(base, "work"), filepath.Join(base, "locks")
	must(t, errors.Join(os.Mkdir(work, 0o755), os.Mkdir(locks, 0o700)))
	return work, locks
}

func is(t *testing.T, what, path string, want fs.FileMode, content string) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if info.Mode() != want {
		t.Errorf("%s: %s has mode %v, want %v", what, path, info.Mode(), want)
	}
	if info.Mode().IsRegular() {
		if text, err := os.ReadFile(path); err != nil || string(text) != content {
			t.Errorf("%s: %s holds %q, %v", what, path, text, err)
		}
	}
}

func gone(t *testing.T, what string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if info, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %s is there: %v, %v", what, path, info, err)
		}
	}
}

// TestPlaceholdersStandWhileSomebodyNeedsThem: of two sandboxes, also of Kerfs with other homes, the last one
// takes them away.
func TestPlaceholdersStandWhileSomebodyNeedsThem(t *testing.T) {
	for _, another := range []bool{false, true} {
		work, locks := room(t)
		file, dir, socket, kept := filepath.Join(work, ".env"), filepath.Join(work, ".vscode"), filepath.Join(work, ".kerf"),
			filepath.Join(work, "worktrees")
		must(t, os.Mkdir(kept, 0o755))
		plan := boundary.Plan{LockDir: locks, Kept: []string{kept}, Masks: []boundary.Mask{
			{Kind: boundary.MaskFile, Path: file, Content: "{}"}, {Kind: boundary.MaskDir, Path: dir}, {Kind: boundary.MaskSocket, Path: socket}}}
		first, err := Raise(plan)
		must(t, err)
		if another {
			plan.LockDir = filepath.Join(filepath.Dir(locks), "others")
		}
		second, err := Raise(plan)
		must(t, err)
		there := func(what string) {
			t.Helper()
			is(t, what, file, fs.ModeSticky|0o444, "{}")
			is(t, what, socket, fs.ModeSocket|0o600, "")
			is(t, what, filepath.Join(kept, boundary.Keeper), fs.ModeDir|fs.ModeSticky|0o755, "")
			is(t, what, filepath.Join(kept, boundary.Keeper, boundary.KeeperLock), fs.ModeSticky|0o444, "")
			if info, err := os.Lstat(dir); err != nil || !info.IsDir() || info.Mode()&fs.ModeSticky == 0 || info.Mode()&0o700 != 0o700 {
				t.Errorf("%s: the directory is %v, %v", what, info, err)
			}
		}
		there("both need them")
		first()
		there("the second one needs them")
		second()
		gone(t, "nobody needs them", file, dir, socket, filepath.Join(kept, boundary.Keeper))
		if _, err := os.Lstat(kept); err != nil {
			t.Error(err)
		}
		lists, err := filepath.Glob(plan.LockDir + "/*")
		must(t, err)
		for _, list := range lists {
			is(t, "what is listed", list, 0o600, "")
		}
		if len(lists) == 0 {
			t.Error("there was no list")
		}
	}
}

// TestWhatOthersMadeStays: what stood there is nobody's to replace, and what came meanwhile is not taken away.
func TestWhatOthersMadeStays(t *testing.T) {
	work, locks := room(t)
	file, dir := filepath.Join(work, ".env"), filepath.Join(work, ".vscode")
	masks := []boundary.Mask{{Kind: boundary.MaskFile, Path: file}, {Kind: boundary.MaskDir, Path: dir}}
	plan := boundary.Plan{LockDir: locks, Masks: masks}
	lower, err := Raise(plan)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "settings.json"), []byte("theirs"), 0o644)) // as git does beside the command
	must(t, errors.Join(os.Remove(file), os.WriteFile(file, []byte("theirs, too"), 0o640)))
	lower()
	is(t, "written meanwhile", file, 0o640, "theirs, too")
	is(t, "filled meanwhile", filepath.Join(dir, "settings.json"), 0o644, "theirs")
	if m := mode(t, dir); m&fs.ModeSticky != 0 {
		t.Errorf("what was filled is still said to be a placeholder: %v", m)
	}
	if lower, err := Raise(plan); err == nil {
		lower()
		t.Error("a file of others was taken for a placeholder")
	}
	is(t, "it stood there", file, 0o640, "theirs, too")
	is(t, "it stood there", filepath.Join(dir, "settings.json"), 0o644, "theirs")
	for _, c := range []struct {
		what string
		make func(string) error
	}{
		{"a link", func(at string) error { return os.Symlink("/nowhere", at) }},
		{"a link to a file", func(at string) error { return os.Symlink(filepath.Join(work, "target"), at) }},
		{"a filled directory", func(at string) error { return os.MkdirAll(at+"/x", 0o755) }},
	} {
		must(t, os.WriteFile(filepath.Join(work, "target"), nil, 0o600))
		at := filepath.Join(work, c.what)
		must(t, c.make(at))
		before, err := os.Lstat(at)
		must(t, err)
		for _, kind := range []boundary.MaskKind{boundary.MaskFile, boundary.MaskDir, boundary.MaskSocket} {
			if lower, err := Raise(boundary.Plan{LockDir: locks, Masks: []boundary.Mask{{Kind: kind, Path: at, Content: "x"}}}); err == nil {
				lower()
				t.Errorf("%s was taken for a %s", c.what, kind)
			}
		}
		is(t, c.what, at, before.Mode(), "")
		is(t, c.what, filepath.Join(work, "target"), 0o600, "")
	}
}

// TestNoLinkLeadsToPlaceholders: neither where they are made nor where they are taken away.
func TestNoLinkLeadsToPlaceholders(t *testing.T) {
	work, locks := room(t)
	elsewhere := filepath.Join(filepath.Dir(work), "elsewhere")
	must(t, os.MkdirAll(filepath.Join(elsewhere, "in"), 0o755))
	must(t, os.Symlink(elsewhere, filepath.Join(work, "link")))
	for _, p := range []boundary.Plan{
		{Masks: []boundary.Mask{{Kind: boundary.MaskFile, Path: filepath.Join(work, "link", "name")}}},
		{Masks: []boundary.Mask{{Kind: boundary.MaskFile, Path: filepath.Join(work, "link", "in", "name")}}},
		{Kept: []string{filepath.Join(work, "link", "in")}},
		{Kept: []string{filepath.Join(work, "link")}},
	} {
		p.LockDir = locks
		if lower, err := Raise(p); err == nil {
			lower()
			t.Errorf("%+v: a link was followed", p)
		}
		gone(t, "through a link", filepath.Join(elsewhere, "name"), filepath.Join(elsewhere, "in", "name"),
			filepath.Join(elsewhere, "in", boundary.Keeper), filepath.Join(elsewhere, boundary.Keeper))
	}
	dir, at := filepath.Join(work, "dir"), filepath.Join(work, "dir", "name")
	must(t, os.Mkdir(dir, 0o755))
	lower, err := Raise(boundary.Plan{LockDir: locks, Masks: []boundary.Mask{{Kind: boundary.MaskFile, Path: at}}})
	must(t, err)
	theirs := filepath.Join(elsewhere, "name")
	must(t, errors.Join(os.WriteFile(theirs, nil, 0o600), os.Chmod(theirs, fs.ModeSticky|0o444)))
	must(t, errors.Join(os.Rename(dir, dir+".old"), os.Symlink(elsewhere, dir)))
	lower()
	is(t, "behind a link", theirs, fs.ModeSticky|0o444, "")
}

// TestANameOfSeveralLinesListsNothingElse: a list has a path a line, so that one with a line feed could name
// what is somebody else's.
func TestANameOfSeveralLinesListsNothingElse(t *testing.T) {
	work, locks := room(t)
	theirs := filepath.Join(filepath.Dir(work), "theirs")
	must(t, errors.Join(os.Mkdir(theirs, 0o755), os.Chmod(theirs, fs.ModeSticky|0o777)))
	must(t, os.WriteFile(filepath.Join(theirs, "full"), nil, 0o600))
	evil := filepath.Join(work, "w\n"+filepath.Dir(theirs))
	must(t, os.MkdirAll(evil, 0o755))
	lower, err := Raise(boundary.Plan{LockDir: locks, Masks: []boundary.Mask{{Kind: boundary.MaskDir, Path: filepath.Join(evil, "theirs")}}})
	must(t, err)
	lower()
	is(t, "named by a line", theirs, fs.ModeDir|fs.ModeSticky|0o777, "")
	// Lines that are no whole paths, as after a torn write, name nothing.
	lists, err := filepath.Glob(locks + "/*")
	must(t, err)
	for _, list := range lists {
		must(t, os.WriteFile(list, []byte("theirs\n"), 0o600))
	}
	t.Chdir(filepath.Dir(theirs))
	lower, err = Raise(boundary.Plan{LockDir: locks, Masks: []boundary.Mask{{Kind: boundary.MaskDir, Path: filepath.Join(evil, "other")}}})
	must(t, err)
	lower()
	is(t, "named by half of a path", theirs, fs.ModeDir|fs.ModeSticky|0o777, "")
}

// TestADirectoryWithAnotherInItsPlaceHasAListOfItsOwn: as in a try.
func TestADirectoryWithAnotherInItsPlaceHasAListOfItsOwn(t *testing.T) {
	work, locks := room(t)
	at := filepath.Join(work, ".vscode")
	plan := boundary.Plan{LockDir: locks, Masks: []boundary.Mask{{Kind: boundary.MaskDir, Path: at}}}
	first, err := Raise(plan)
	must(t, err)
	must(t, errors.Join(os.Rename(work, work+".lower"), os.Mkdir(work, 0o755)))
	second, err := Raise(plan)
	must(t, err)
	second()
	gone(t, "the second one's", at)
	if _, err := os.Lstat(work + ".lower/.vscode"); err != nil {
		t.Error(err)
	}
	must(t, errors.Join(os.Remove(work), os.Rename(work+".lower", work)))
	first()
	gone(t, "the first one's", at)
}

// TestLocksArePrivate: nobody else may say what is to be removed.
func TestLocksArePrivate(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	dir, err := LockDir("")
	if want := filepath.Join(base, "kerf-masks-"+strconv.Itoa(os.Geteuid())); err != nil || dir != want {
		t.Errorf("%s, %v, want %s", dir, err, want)
	}
	is(t, "made", dir, fs.ModeDir|0o700, "")
	for name, perm := range map[string]fs.FileMode{"mine": 0o700, "seen": 0o755, "group": 0o720, "all": 0o702} {
		at := filepath.Join(base, name)
		must(t, errors.Join(os.Mkdir(at, 0o700), os.Chmod(at, perm)))
		if got, err := LockDir(at); (err == nil) != (perm&0o022 == 0) || err == nil && got != at {
			t.Errorf("%v: %s, %v", perm, got, err)
		}
	}
	must(t, os.Symlink(dir, filepath.Join(base, "link")))
	must(t, os.WriteFile(filepath.Join(base, "file"), nil, 0o600))
	for _, name := range []string{"link", "file", "file/below"} {
		if got, err := LockDir(filepath.Join(base, name)); err == nil {
			t.Errorf("%s was taken: %s", name, got)
		}
	}
	if os.Geteuid() == 0 {
		at := filepath.Join(base, "theirs")
		must(t, errors.Join(os.Mkdir(at, 0o700), os.Chown(at, 65534, 65534)))
		if _, err := LockDir(at); err == nil {
			t.Error("another user's was taken")
		}
	}
	// The file of a list is no link, either.
	work, locks := room(t)
	plan := boundary.Plan{LockDir: locks, Masks: []boundary.Mask{{Kind: boundary.MaskDir, Path: filepath.Join(work, "x")}}}
	lower, err := Raise(plan)
	must(t, err)
	lower()
	lists, err := filepath.Glob(locks + "/*")
	must(t, err)
	if len(lists) != 1 {
		t.Fatal(lists)
	}
	victim := filepath.Join(base, "victim")
	must(t, errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), os.Remove(lists[0]), os.Symlink(victim, lists[0])))
	if lower, err := Raise(plan); err == nil {
		lower()
		t.Error("a link was taken for a list")
	}
	is(t, "behind a link", victim, 0o600, "precious")
	gone(t, "it was not listed", filepath.Join(work, "x"))
}

// TestNothingToRaise needs no place for locks.
func TestNothingToRaise(t *testing.T) {
	lower, err := Raise(boundary.Plan{LockDir: "/nowhere\x00"})
	must(t, err)
	lower()
	if _, err := Raise(boundary.Plan{LockDir: strings.Repeat("x", 10) + "\x00", Kept: []string{t.TempDir()}}); err == nil {
		t.Error("there is no such place")
	}
}

// TestWhoHasNoDirectoryTakesNothingAway: the list alone keeps the placeholders of others, where somebody else holds
// the lock of the directory, and where the directory cannot be had.
func TestWhoHasNoDirectoryTakesNothingAway(t *testing.T) {
	work, locks := room(t)
	in := filepath.Join(work, "a", "in")
	must(t, os.MkdirAll(in, 0o755))
	at := filepath.Join(in, "name")
	plan := boundary.Plan{LockDir: locks, Masks: []boundary.Mask{{Kind: boundary.MaskFile, Path: at}}}
	stranger, err := os.Open(in)
	must(t, err)
	must(t, unix.Flock(int(stranger.Fd()), unix.LOCK_EX))
	first, err := Raise(plan)
	must(t, err)
	second, err := Raise(plan)
	must(t, err)
	stranger.Close()
	first()
	is(t, "the second one needs it", at, fs.ModeSticky|0o444, "")
	// The same directory, by a way that is a link now.
	must(t, errors.Join(os.Rename(filepath.Join(work, "a"), filepath.Join(work, "b")), os.Symlink("b", filepath.Join(work, "a"))))
	if lower, err := Raise(plan); err == nil {
		lower()
		t.Error("a link was followed")
	}
	must(t, errors.Join(os.Remove(filepath.Join(work, "a")), os.Rename(filepath.Join(work, "b"), filepath.Join(work, "a"))))
	is(t, "the second one needs it", at, fs.ModeSticky|0o444, "")
	second()
	gone(t, "nobody needs it", at)
}

// TestWhatNeedsNoMarkIsNotTouched: a directory that is no placeholder keeps the time of its last change.
func TestWhatNeedsNoMarkIsNotTouched(t *testing.T) {
	work, _ := room(t)
	must(t, os.Mkdir(filepath.Join(work, "dir"), 0o755))
	at, err := OpenDir(work)
	must(t, err)
	defer unix.Close(at)
	changed := func() unix.Timespec {
		var now unix.Stat_t
		must(t, unix.Fstatat(at, "dir", &now, 0))
		return now.Ctim
	}
	before := changed()
	for changed() == before { // until the clock of the file system goes on
		must(t, mark(at, "dir", true))
		must(t, mark(at, "dir", false))
	}
	before = changed()
	for later := filepath.Join(work, "later"); ; {
		must(t, os.WriteFile(later, nil, 0o600))
		var now unix.Stat_t
		must(t, unix.Stat(later, &now))
		if must(t, os.Remove(later)); now.Ctim != before {
			break
		}
	}
	must(t, mark(at, "dir", false))
	if after := changed(); after != before {
		t.Errorf("changed at %v, and before at %v", after, before)
	}
}

// TestWhatCannotBeListedIsNotMade: nobody would find it again.
func TestWhatCannotBeListedIsNotMade(t *testing.T) {
	work, locks := room(t)
	at := filepath.Join(work, "name")
	name := filepath.Join(locks, "list")
	must(t, os.WriteFile(name, nil, 0o600))
	list, err := os.Open(name) // which cannot be written
	must(t, err)
	defer list.Close()
	dir, err := place(list, work, wanted{masks: []boundary.Mask{{Kind: boundary.MaskFile, Path: at}}})
	if err == nil {
		t.Error("it is said to stand")
	}
	if dir != nil {
		dir.Close()
	}
	gone(t, "not listed", at)
}

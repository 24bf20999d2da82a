package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/pathname"
	"kerf/internal/testkit/long"
	"kerf/internal/work/boundary"
	"kerf/internal/work/boundary/mounts"
)

// randomTree makes directories, files, hard links, links and mounts below the work
// directory, and rules for some of them. Each file says which one it is.
func (s *site) randomTree(r *rand.Rand) {
	s.t.Helper()
	dirs, files := []string{s.work}, []string{}
	for i := range 24 {
		dir := dirs[r.IntN(len(dirs))]
		path := filepath.Join(dir, fmt.Sprintf("n%d", i))
		switch kind := r.IntN(12); {
		case kind > 9:
			dirs = append(dirs, s.randomMount(r, path, dirs, files)...)
		case kind < 3:
			if os.Mkdir(path, 0o755) == nil {
				dirs = append(dirs, path)
			}
		case kind < 4 && len(files) > 0:
			_ = os.Link(files[r.IntN(len(files))], path)
		case kind < 5 && len(files) > 0:
			_ = os.Symlink(files[r.IntN(len(files))], path)
		case kind < 6:
			path += ".env"
			s.write(path, "SECRET "+path)
			files = append(files, path)
		default:
			s.write(path, "SECRET "+path)
			files = append(files, path)
		}
	}
	if len(dirs) > 1 {
		s.write(dirs[1]+"/.git/HEAD", "ref: refs/heads/main\n")
		for _, name := range []string{"/.git/objects", "/.git/refs", "/.git/hooks"} {
			if err := os.MkdirAll(dirs[1]+name, 0o755); err != nil {
				s.t.Fatal(err)
			}
		}
		s.write(dirs[1]+"/.git/config", "[core]\n")
		s.write(dirs[1]+"/.git/hooks/update", "SECRET")
	}
	s.write(s.work+"/kept", "SECRET "+s.work+"/kept")
	if err := os.Link(s.work+"/kept", dirs[len(dirs)-1]+"/also"); err != nil && !errors.Is(err, syscall.EXDEV) {
		s.t.Fatal(err)
	}
	s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.work + "/kept", Access: boundary.None})
	key := s.out + "/keys/id"
	s.write(key, "SECRET "+key)
	if err := os.Link(key, dirs[r.IntN(len(dirs))]+"/key"); err != nil && !errors.Is(err, syscall.EXDEV) {
		s.t.Fatal(err)
	}
	s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.out + "/keys", Access: boundary.None})
	access := []boundary.Access{boundary.None, boundary.Read, boundary.Write}
	for range 3 {
		list := append(dirs[1:len(dirs):len(dirs)], files...)
		if len(list) > 0 {
			s.policy.Rules = append(s.policy.Rules,
				boundary.Rule{Path: list[r.IntN(len(list))], Access: access[r.IntN(3)]})
		}
	}
	s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.work + "/**/*.env", Access: boundary.None})
}

// randomMount mounts something that is there at path, if this is a place for it.
func (s *site) randomMount(r *rand.Rand, path string, dirs, files []string) (made []string) {
	if os.Getenv(mountsEnv) == "" {
		return nil
	}
	from := s.out
	switch n := r.IntN(4); {
	case n == 0 && len(files) > 0:
		from = files[r.IntN(len(files))]
		s.write(path, "")
	case n == 1:
		from, made = "", []string{path}
		fallthrough
	default:
		if n > 1 && len(dirs) > 1 {
			from = dirs[1+r.IntN(len(dirs)-1)]
		}
		if err := os.Mkdir(path, 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	var err error
	if from == "" {
		err = unix.Mount("tmpfs", path, "tmpfs", 0, "")
	} else {
		err = unix.Mount(from, path, "", unix.MS_BIND, "")
	}
	if err != nil {
		s.t.Fatalf("mount %s: %v", path, err)
	}
	s.t.Cleanup(func() { // by now it may be elsewhere, in a directory that was renamed
		for _, m := range mounts.Table() {
			if pathname.Under(s.work, m.Path) {
				_ = unix.Unmount(m.Path, unix.MNT_DETACH)
			}
		}
	})
	return made
}

// mountsEnv is set in a process that may mount.
const mountsEnv = "KERF_TEST_MOUNTS"

// amongMounts runs the test again in a process with mounts of its own, or says why not.
func amongMounts(t *testing.T) error {
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mountsEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		id := func(n int) []syscall.SysProcIDMap {
			return []syscall.SysProcIDMap{{ContainerID: 0, HostID: n, Size: 1}}
		}
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = id(os.Geteuid()), id(os.Getegid())
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			return err
		}
		t.Errorf("%v\n%s", err, out)
	}
	return nil
}

// files are the regular files below the work directory.
func (s *site) files() (list []string) {
	_ = filepath.WalkDir(s.work, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// TestThePlanSaysWhatCommandsCanDo compares, for random trees, the answer that file tools
// get with what a command can really read and write, before and after commands renamed
// what they can.
func TestThePlanSaysWhatCommandsCanDo(t *testing.T) {
	if os.Getenv(mountsEnv) == "" {
		if why := amongMounts(t); why != nil {
			t.Logf("SKIP mounts: %v", why)
			comparePlans(t)
		}
		return
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("nothing can be mounted: %v", err)
	}
	comparePlans(t)
}

func comparePlans(t *testing.T) {
	rounds := long.Of(100, 100, 2)
	modes := map[string]string{boundary.OwnLauncher: boundary.WorkspaceWrite, boundary.Bubblewrap: boundary.WorkspaceWrite,
		boundary.Landlock: boundary.ReadOnly}
	for backend, mode := range modes {
		t.Run(backend, func(t *testing.T) {
			if _, err := (machine{}).find(t.Context(), backend, "", nil); err != nil {
				t.Skip(err)
			}
			for seed := range uint64(rounds) {
				s := newSite(t)
				s.policy.Backend, s.policy.Mode = backend, mode
				r := rand.New(rand.NewPCG(seed, 1))
				session := boundary.NewSession(boundary.Disk{}, mode, func(string) boundary.Policy { return s.policy })
				s.policy.Session = session
				s.randomTree(r)
				closed := s.compare(seed)
				if mode == boundary.ReadOnly {
					continue
				}
				s.shuffle(r)
				again := s.compare(seed)
				for text, was := range closed {
					if now, ok := again[text]; ok && now < was {
						t.Errorf("seed %d: %q had %v and has %v after renames", seed, text, was, now)
					}
				}
			}
		})
	}
}

// shuffle lets a command rename what it can.
func (s *site) shuffle(r *rand.Rand) {
	var names []string
	_ = filepath.WalkDir(s.work, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != s.work {
			names = append(names, path)
		}
		return nil
	})
	var script strings.Builder
	for i := range 12 {
		a, b := names[r.IntN(len(names))], names[r.IntN(len(names))]
		fmt.Fprintf(&script, "mv '%s' '%s' || mv '%s' '%s'\n", a, b, a, filepath.Join(s.work, fmt.Sprint("moved", i)))
	}
	t2, _ := s.inside(script.String())
	_ = t2
	if os.Getenv("ZB") != "" {
		s.t.Log(script.String(), t2)
	}
}

// closeness is how much of a file is closed: 2 hidden, 1 not to be written, 0 nothing.
var closeness = map[boundary.Reach]int{boundary.Hidden: 2, boundary.Readable: 1, boundary.Protected: 1}

// openElsewhere are the files that the plan lets be read by some name. Landlock tells files
// apart, and not the names that mounts give them: what is mounted within something hidden is
// read there by whoever may read it elsewhere. The other backends tell names apart.
func (s *site) openElsewhere(plan *boundary.Plan, files []string) map[boundary.FileID]bool {
	open := make(map[boundary.FileID]bool)
	if plan.Backend != boundary.Landlock {
		return open
	}
	for _, path := range append(files, s.out+"/victim") {
		if _, v := plan.Named(s.work, path); v.Access != boundary.Hidden {
			if info, err := os.Lstat(path); err == nil {
				id, _ := boundary.IdentityOf(info)
				open[id] = true
			}
		}
	}
	return open
}

// compare returns how much of each file is closed, and which contents are hidden: a
// command may copy what it can read.
func (s *site) compare(seed uint64) map[string]int {
	s.t.Helper()
	plan, err := s.policy.Resolve()
	if err != nil {
		s.t.Fatalf("seed %d: %v", seed, err)
	}
	files := s.files()
	var script strings.Builder
	for _, path := range files {
		fmt.Fprintf(&script, "r=no; w=no; [ -s '%s' ] && cat '%s' >/dev/null 2>&1 && r=yes; (: >> '%s') 2>/dev/null && "+
			"w=yes; echo '%s' $r $w\n", path, path, path, path)
	}
	out, _ := s.inside(script.String())
	told := make(map[string]string)
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 3 {
			told[f[0]] = f[1] + " " + f[2]
		}
	}
	open := s.openElsewhere(&plan, files)
	closed := make(map[string]int)
	for _, path := range files {
		_, v := plan.Named(s.work, path)
		info, err := os.Lstat(path)
		if err != nil || info.Size() == 0 || info.Mode()&0o200 == 0 {
			continue // the mode closes a copy of a placeholder
		}
		text, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		id, _ := boundary.IdentityOf(info)
		name := fmt.Sprint(id) // what one of its names opens is open
		if was, ok := closed[name]; !ok || closeness[v.Access] < was {
			closed[name] = closeness[v.Access]
		}
		if was, ok := closed[string(text)]; closeness[v.Access] == 2 && !ok {
			closed[string(text)] = 2
		} else if ok && closeness[v.Access] < was {
			closed[string(text)] = closeness[v.Access]
		}
		want := map[boundary.Reach]string{boundary.Hidden: "no no", boundary.Readable: "yes no",
			boundary.Protected: "yes no", boundary.Writable: "yes yes"}[v.Access]
		got := told[path]
		if v.Access == boundary.Hidden && strings.HasPrefix(got, "no ") {
			got = "no no" // what is written to an empty stand-in reaches nobody
		}
		if v.Access == boundary.Hidden && open[id] && got == "yes no" {
			got = want
		}
		if got != want {
			s.t.Errorf("seed %d: %s: the plan says %s (%s), a command: read, write = %s", seed,
				strings.TrimPrefix(path, s.work+"/"), v.Access, v.Why, told[path])
		}
	}
	return closed
}

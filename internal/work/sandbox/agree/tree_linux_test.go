package agree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
)

// odd are names that something on the way may read as more than a name, or as another one.
var odd = []string{"a b", "new\nline", "-rf", "*", "[x]", "{a,b}", "back\\slash", "trailing.", "trailing ", "quote'\"", "$HOME",
	"é", "e\u0301", "K", "k", "\u212a", "\xff\xfe", "tab\t", "..x", "...", "~", "%2e%2e", "a\x1b[2Jb", "\u202etxt", "CON",
	"x.env", "X.ENV", "y.env ", "GIT~1", "git~1", "kerf~1", ".git ", ".g\u200cit", "file:", "nul\x01", "ſ", "s", "\u2024\u2024"}

// name is one that is not taken in dir, odd at times.
func (s *site) name(r *rand.Rand, dir string, i int) string {
	name := fmt.Sprintf("n%d", i)
	switch r.IntN(4) {
	case 0:
		name = odd[r.IntN(len(odd))]
	case 1:
		name = strings.Repeat("long", 1+r.IntN(60)) + name
	}
	if _, err := os.Lstat(filepath.Join(dir, name)); err == nil || len(name) > 255 {
		name = fmt.Sprintf("m%d", i)
	}
	return filepath.Join(dir, name)
}

// marker is the content of a file, which no other one has.
func (s *site) marker(path string) []byte {
	return fmt.Appendf(nil, "SECRET %d %.20q\n", len(s.files), filepath.Base(path))
}

func (s *site) file(path string) {
	if os.WriteFile(path, s.marker(path), 0o644) == nil {
		s.files = append(s.files, path)
	}
}

func pick(r *rand.Rand, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[r.IntN(len(list))]
}

// grow makes a random tree and rules about it.
func (s *site) grow(r *rand.Rand) {
	s.t.Helper()
	keys := filepath.Join(s.out, "keys")
	s.must(os.Mkdir(keys, 0o755))
	s.must(os.WriteFile(keys+"/id", []byte("SECRET key\n"), 0o644))
	s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: keys, Access: boundary.None})
	for i := range 34 {
		s.one(r, s.name(r, pick(r, s.dirs), i), keys)
	}
	if len(s.dirs) > 1 {
		s.repository(r, s.dirs[1])
	}
	s.file(filepath.Join(s.work, "kept"))
	_ = os.Link(filepath.Join(s.work, "kept"), filepath.Join(pick(r, s.dirs), "also"))
	_ = os.Link(keys+"/id", filepath.Join(pick(r, s.dirs), "key"))
	s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: filepath.Join(s.work, "kept"), Access: boundary.None})
	access := []boundary.Access{boundary.None, boundary.Read, boundary.Write}
	for range 1 + r.IntN(4) {
		path := pick(r, append(s.dirs[1:len(s.dirs):len(s.dirs)], s.files...))
		if path != "" && !strings.ContainsAny(path, "*?[{") {
			s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: path, Access: access[r.IntN(3)]})
		}
	}
	s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.work + "/**/*.env", Access: boundary.None})
	if r.IntN(2) == 0 {
		s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.work + "/**/n1*", Access: boundary.Read})
	}
}

// one makes one thing at path.
func (s *site) one(r *rand.Rand, path, keys string) {
	switch r.IntN(20) {
	case 0, 1, 2, 3, 4:
		if os.Mkdir(path, 0o755) == nil {
			s.dirs = append(s.dirs, path)
		}
	case 5, 6:
		if from := pick(r, s.files); from != "" {
			_ = os.Link(from, path)
		}
	case 7:
		to := pick(r, append(append(s.files[:len(s.files):len(s.files)], s.dirs...), s.links...))
		if rel, err := filepath.Rel(filepath.Dir(path), to); err == nil && r.IntN(2) == 0 {
			to = rel
		}
		if os.Symlink(to, path) == nil {
			s.links = append(s.links, path)
		}
	case 8:
		outward := []string{keys, keys + "/id", s.out, "/", "..", "../..", path, "/proc/self/root", "/proc/self/cwd", "nowhere",
			"/proc/self/fd/0", "/dev/fd", s.work + "/../out/keys/id"}
		if os.Symlink(pick(r, outward), path) == nil {
			s.links = append(s.links, path)
		}
	case 9:
		_ = unix.Mkfifo(path, 0o644)
	case 10:
		s.file(path + ".env")
	case 11, 12:
		s.mount(r, path)
	default:
		s.file(path)
	}
}

// mount mounts something that is there at path, if this is a place for it.
func (s *site) mount(r *rand.Rand, path string) {
	s.t.Helper()
	if os.Getenv(mountsEnv) == "" {
		return
	}
	from, flags := s.out, uintptr(unix.MS_BIND)
	switch n := r.IntN(5); {
	case n == 0 && len(s.files) > 0:
		from = pick(r, s.files)
		s.must(os.WriteFile(path, nil, 0o644))
	case n == 1:
		from = "" // a file system of its own
		s.must(os.Mkdir(path, 0o755))
	default:
		if n > 2 && len(s.dirs) > 1 {
			from = pick(r, s.dirs[1:])
		}
		s.must(os.Mkdir(path, 0o755))
		if r.IntN(2) == 0 {
			flags |= unix.MS_REC
		}
	}
	var err error
	if from == "" {
		err = unix.Mount("tmpfs", path, "tmpfs", 0, "")
		s.dirs = append(s.dirs, path)
	} else {
		err = unix.Mount(from, path, "", flags, "")
	}
	if err == syscall.EINVAL { // below what cannot be bound alone in a user namespace
		err = unix.Mount(from, path, "", flags|unix.MS_REC, "")
	}
	if err != nil {
		s.t.Fatalf("mount %q at %q: %v", from, path, err)
	}
}

// repository makes dir one, or has one nearby.
func (s *site) repository(r *rand.Rand, dir string) {
	git := filepath.Join(dir, ".git")
	if r.IntN(3) == 0 { // of another name, with a file that points there
		git = filepath.Join(s.work, "apart")
		s.must(os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+git+"\n"), 0o644))
	}
	for _, name := range []string{"objects/info", "refs", "hooks", "info"} {
		if r.IntN(4) > 0 || name == "refs" || name == "objects/info" {
			s.must(os.MkdirAll(filepath.Join(git, name), 0o755))
		}
	}
	s.must(os.WriteFile(git+"/HEAD", []byte("ref: refs/heads/main\n"), 0o644))
	settings := []string{"[core]\n", "[core]\n\thooksPath = ../tools\n", "[include]\n\tpath = ../more.cfg\n"}
	s.must(os.WriteFile(git+"/config", []byte(pick(r, settings)), 0o644))
	if _, err := os.Lstat(git + "/hooks"); err == nil {
		s.file(git + "/hooks/update")
	}
	if r.IntN(3) == 0 && os.Mkdir(filepath.Join(dir, ".kerf"), 0o755) == nil {
		s.file(filepath.Join(dir, ".kerf", "config.toml"))
	}
}

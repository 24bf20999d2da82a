package sandbox

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/work/boundary"
)

// randomTree makes directories, files, hard links and links below the work directory, and
// rules for some of them.
func (s *site) randomTree(r *rand.Rand) {
	s.t.Helper()
	dirs, files := []string{s.work}, []string{}
	for i := range 24 {
		dir := dirs[r.IntN(len(dirs))]
		path := filepath.Join(dir, fmt.Sprintf("n%d", i))
		switch kind := r.IntN(10); {
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
			s.write(path, "SECRET")
			files = append(files, path)
		default:
			s.write(path, "SECRET")
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
	s.write(s.work+"/kept", "SECRET")
	if err := os.Link(s.work+"/kept", dirs[len(dirs)-1]+"/also"); err != nil {
		s.t.Fatal(err)
	}
	s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.work + "/kept", Access: boundary.None})
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
// get with what a command can really read and write.
func TestThePlanSaysWhatCommandsCanDo(t *testing.T) {
	rounds := 4
	if os.Getenv("KERF_LONG") != "" {
		rounds = 100
	}
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
				s.randomTree(rand.New(rand.NewPCG(seed, 1)))
				s.compare(seed)
			}
		})
	}
}

func (s *site) compare(seed uint64) {
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
	for _, path := range files {
		_, v := plan.Named(s.work, path)
		info, err := os.Lstat(path)
		if err != nil || info.Size() == 0 {
			continue
		}
		want := map[boundary.Reach]string{boundary.Hidden: "no no", boundary.Readable: "yes no",
			boundary.Protected: "yes no", boundary.Writable: "yes yes"}[v.Access]
		got := told[path]
		if v.Access == boundary.Hidden && strings.HasPrefix(got, "no ") {
			got = "no no" // what is written to an empty stand-in reaches nobody
		}
		if got != want {
			s.t.Errorf("seed %d: %s: the plan says %s (%s), a command: read, write = %s", seed,
				strings.TrimPrefix(path, s.work+"/"), v.Access, v.Why, told[path])
		}
	}
}

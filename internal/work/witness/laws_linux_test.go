package witness_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"kerf/internal/testkit/long"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/witness"
)

// plays is how much a test plays: all or a part of it as KERF_LONG says, else ci in CI, and own where somebody works
// on this package.
func plays(all, part, ci, own int) int {
	if os.Getenv("CI") != "" {
		own = ci
	}
	return long.Of(all, part, own)
}

// checks sets how many histories are tried: so many with KERF_LONG=all.
func checks(t *testing.T, all int) {
	f := flag.Lookup("rapid.checks")
	old := f.Value.String()
	if old != f.DefValue {
		return // as asked for
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(plays(all, all/5, all/80, all/400))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set("rapid.checks", old) })
}

// snapshot is a tree as it is: what each name holds, in a line.
type snapshot map[string]string

const aDirectory = "dir"

func snap(t testing.TB, root string) snapshot {
	s := snapshot{}
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		name := strings.TrimPrefix(p, root+"/")
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			s[name] = aDirectory
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			s[name] = shown(delta.NewSymlink(target))
		case info.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			s[name] = shown(delta.NewFile(b, uint32(info.Mode().Perm())))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shown is an image in a line.
func shown(i *delta.Image) string {
	if i == nil {
		return ""
	}
	data := string(i.Data)
	if len(data) > 40 {
		data = fmt.Sprintf("%s... (%d bytes, %x)", data[:20], len(data), i.Sum[:4])
	}
	return fmt.Sprintf("%s %o %q", i.Kind, i.Mode, data)
}

// follow applies reports to a tree. It tells where they do not fit.
func (s snapshot) follow(root string, reports []witness.Report) (snapshot, error) {
	out := snapshot{}
	for k, v := range s {
		out[k] = v
	}
	rel := func(p string) string { return strings.TrimPrefix(p, root+"/") }
	for i, r := range reports {
		for j, part := range r.Parts {
			for _, c := range part.Set {
				name := rel(c.Path)
				if got := out[name]; got != shown(c.Pre) && !(got == aDirectory && c.Pre == nil) {
					return out, fmt.Errorf("report %d, part %d: %s held %s, it says %s", i, j, name, got, shown(c.Pre))
				}
				if c.Post != nil {
					out[name] = shown(c.Post)
				} else if out[name] != aDirectory {
					delete(out, name)
				}
			}
			for _, d := range part.Gone {
				if name := rel(string(d.Path)); out[name] == aDirectory {
					delete(out, name)
				} else if out[name] == "" {
					return out, fmt.Errorf("report %d, part %d: directory %s was not there", i, j, name)
				}
			}
			for _, d := range part.Dirs {
				name := rel(string(d))
				if out[name] != "" {
					return out, fmt.Errorf("report %d, part %d: directory %s comes where %s is", i, j, name, out[name])
				}
				out[name] = aDirectory
			}
		}
		for _, c := range r.Unknown { // a note tells that it is not known what there was
			if name := rel(c.Path); c.Post != nil {
				out[name] = shown(c.Post)
			} else {
				delete(out, name)
			}
		}
	}
	return out, nil
}

// difference tells how two trees differ.
func difference(want, got snapshot) string {
	var lines []string
	for k, v := range want {
		if got[k] != v {
			lines = append(lines, fmt.Sprintf("%s is %s, by the report %s", k, v, got[k]))
		}
	}
	for k, v := range got {
		if want[k] == "" {
			lines = append(lines, fmt.Sprintf("%s is not there, by the report %s", k, v))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// stage is where plays are given.
type stage struct {
	*bench
	script string
}

func newStage(t testing.TB) *stage {
	b := newBench(t, "")
	b.full = true
	t.Cleanup(func() { unlock(b.root) })
	return &stage{b, filepath.Join(filepath.Dir(b.root), "script")}
}

// unlock opens the directories below one, so that an ordinary user can remove what is in them.
func unlock(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
}

// set makes the tree that a play begins with: files, directories, links, hard links.
func (s *stage) set() {
	s.Helper()
	s.empty()
	for _, left := range []string{"b", "e"} { // a link that was moved up may have led there
		if err := os.RemoveAll(filepath.Join(filepath.Dir(s.root), left)); err != nil {
			s.Fatal(err)
		}
	}
	s.write("a", "a of the tree")
	s.write("b", "b of the tree")
	s.write("d/a", "d/a of the tree")
	s.write("d/d/a", "d/d/a of the tree")
	s.write("e/b", "e/b of the tree")
	s.write("e/big", strings.Repeat("big of the tree\n", 5000))
	s.write("h", "linked twice")
	for from, to := range map[string]string{"h": "d/h"} {
		if err := os.Link(filepath.Join(s.root, from), filepath.Join(s.root, to)); err != nil {
			s.Fatal(err)
		}
	}
	for name, to := range map[string]string{"l": "a", "d/l": "../b", "k": "d"} {
		if err := os.Symlink(to, filepath.Join(s.root, name)); err != nil {
			s.Fatal(err)
		}
	}
}

// unwatched plays with nobody watching, and returns what the calls came to.
func (s *stage) unwatched(p play) string {
	s.Helper()
	s.save(p)
	cmd := exec.Command(exe())
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "KERF_TEST_DEEDS="+s.script, "GOMAXPROCS=2")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func (s *stage) save(p play) {
	s.Helper()
	p.Root = s.root
	b, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(s.script, b, 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) begin(p play, extra ...string) (*witness.Watch, *exec.Cmd, *bytes.Buffer) {
	s.Helper()
	s.save(p)
	x, cmd, out, box := s.startProgram([]string{exe()}, append(extra, "KERF_TEST_DEEDS="+s.script, "GOMAXPROCS=2"))
	s.boxes = append(s.boxes, func() { box.Close() })
	return x, cmd, out
}

func exe() string {
	p, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return p
}

var names = []string{"a", "b", "n", "d", "e", "d/a", "d/n", "d/d", "d/d/a", "e/b", "e/n", "e/big", "h", "d/h", "n/a", "e/d",
	"e/d/a", "l", "d/l", "k", "k/a", "k/n", "../tree/a", "d/../b", "e/n/a", "n/d/a"}

// verbs are the deeds that are drawn, the frequent ones more often.
var verbs = []string{"write", "write", "append", "append", "over", "exclusive", "cut", "unlink", "unlink", "rmdir", "rename",
	"rename", "rename", "rename", "noreplace", "exchange", "mkdir", "mkdir", "link", "link", "linkfd", "symlink", "truncate",
	"chmod", "nameless", "mapped", "hold", "holdappend", "release", "put", "putat", "ftruncate", "fallocate", "fchmod",
	"noappend", "remove", "reopen"}

var counter int

func someDeed(t *rapid.T) deed {
	counter++
	d := deed{Do: rapid.SampledFrom(verbs).Draw(t, "do"), A: rapid.SampledFrom(names).Draw(t, "a")}
	switch d.Do {
	case "rename", "noreplace", "exchange", "link", "linkfd", "nameless":
		d.B = rapid.SampledFrom(names).Draw(t, "b")
	case "symlink":
		d.B = rapid.SampledFrom([]string{"a", "d", "../e/b", "nowhere"}).Draw(t, "target")
	case "chmod":
		d.N = rapid.SampledFrom([]int{0o644, 0o600, 0o755}).Draw(t, "mode")
		if d.A == "d" || d.A == "e" || d.A == "k" || d.A == "d/d" || d.A == "e/d" {
			d.A = "a"
		}
	case "truncate":
		d.N = rapid.SampledFrom([]int{0, 3, 20}).Draw(t, "size")
	}
	switch d.Do {
	case "linkfd", "reopen", "hold", "holdappend", "release", "put", "putat", "ftruncate", "fallocate", "fchmod", "noappend":
		d.N = rapid.IntRange(0, 1).Draw(t, "slot")
	}
	switch d.Do {
	case "hold", "holdappend":
		if rapid.IntRange(0, 2).Draw(t, "large") == 0 {
			d.A = "e/big"
		}
	case "nameless":
		d.A = "."
	}
	d.Text = fmt.Sprintf("K%d", counter%1000)
	return d
}

func someDeeds(t *rapid.T, most int) []deed {
	return rapid.SliceOfN(rapid.Custom(someDeed), 1, most).Draw(t, "deeds")
}

func told(r []witness.Report) string {
	var b strings.Builder
	for i, r := range r {
		for _, p := range r.Parts {
			for _, c := range p.Set {
				fmt.Fprintf(&b, "%d %s %s: %s > %s\n", i, p.Certainty, c.Path, shown(c.Pre), shown(c.Post))
			}
			for _, d := range p.Dirs {
				fmt.Fprintf(&b, "%d %s mkdir %s\n", i, p.Certainty, d)
			}
			for _, d := range p.Gone {
				fmt.Fprintf(&b, "%d %s rmdir %s\n", i, p.Certainty, d.Path)
			}
		}
		for _, n := range r.Unsure() {
			fmt.Fprintf(&b, "%d note %s\n", i, n)
		}
	}
	return b.String()
}

// adds checks that what was there before and the reports are what is there now, and that
// nothing is told that did not happen.
func adds(t interface{ Fatalf(string, ...any) }, root string, before, after snapshot, reports []witness.Report,
	out string) {
	got, err := before.follow(root, reports)
	if err == nil {
		if d := difference(after, got); d != "" {
			err = fmt.Errorf("%s", d)
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, told(reports), out)
	}
}

// proven checks that a report leaves no doubt.
func certain(t interface{ Fatalf(string, ...any) }, reports []witness.Report, out string) {
	for _, r := range reports {
		for _, p := range r.Parts {
			if p.Certainty != ledger.Proven {
				t.Fatalf("nobody else was there, yet\n%s%s", told(reports), out)
			}
		}
		if len(r.Unsure()) > 0 {
			t.Fatalf("nothing was to be noted, yet\n%s%s", told(reports), out)
		}
	}
}

// net checks that a single report tells of no name that is as it was.
func net(t interface{ Fatalf(string, ...any) }, root string, before, after snapshot, r witness.Report) {
	for _, p := range r.Parts {
		for _, c := range p.Set {
			name := strings.TrimPrefix(c.Path, root+"/")
			if before[name] == after[name] {
				t.Fatalf("%s is as it was\n%s", name, told([]witness.Report{r}))
			}
		}
	}
}

func TestWhatOneProcessDoesIsKnown(t *testing.T) {
	checks(t, 10000)
	s := newStage(t)
	rapid.Check(t, func(t *rapid.T) { s.known(t, someDeeds(t, 12)) })
}

// A way out of a directory that is gone leads nowhere.
func TestAWayThroughWhatIsGone(t *testing.T) {
	newStage(t).known(t, []deed{{Do: "remove", A: "d"}, {Do: "noreplace", A: "d/../b", B: "a"}})
}

// A command has a file open by one of its names when it removes another one, which it wrote before.
func TestAFileIsOpenByAnotherNameThanTheOneThatGoes(t *testing.T) {
	newStage(t).known(t, []deed{{Do: "holdappend", A: "d/h"}, {Do: "append", A: "h", Text: "more"}, {Do: "unlink", A: "h"},
		{Do: "put", Text: "most"}})
}

// known checks that what one process does ends as it does unwatched, and is told.
func (s *stage) known(t interface{ Fatalf(string, ...any) }, deeds []deed) {
	p := play{Lists: [][]deed{deeds}}
	s.set()
	alone := s.unwatched(p)
	s.set()
	before := snap(s, s.root)
	x, cmd, out := s.begin(p)
	_ = cmd.Wait()
	// Of two names that are missing, another one may be told of.
	same := strings.NewReplacer(unix.ENOTDIR.Error(), unix.ENOENT.Error())
	if d := cmp.Diff(same.Replace(alone), same.Replace(out.String())); d != "" {
		t.Fatalf("watched, calls end otherwise (-alone +watched):\n%s", d)
	}
	r := s.end(x)
	after := snap(s, s.root)
	adds(t, s.root, before, after, []witness.Report{r}, out.String())
	certain(t, []witness.Report{r}, out.String())
	net(t, s.root, before, after, r)
}

func TestWhatManyProcessesDoIsKnown(t *testing.T) {
	checks(t, 5000)
	s := newStage(t)
	doubt, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s.set()
		before := snap(s, s.root)
		p := play{Threads: rapid.Bool().Draw(t, "threads")}
		for range rapid.IntRange(2, 4).Draw(t, "processes") {
			p.Lists = append(p.Lists, someDeeds(t, 8))
		}
		x, cmd, out := s.begin(p)
		_ = cmd.Wait()
		r := s.end(x)
		all++
		if len(r.Parts) > 1 || len(r.Unsure()) > 0 {
			doubt++
		}
		if len(r.Unsure()) > 0 { // said to be unknown, as when calls of two processes cross
			t.Log(told([]witness.Report{r}))
			return
		}
		adds(t, s.root, before, snap(s, s.root), []witness.Report{r}, out.String())
	})
	t.Logf("%d of %d reports are in doubt", doubt, all)
	if doubt > all/20+2 {
		t.Errorf("%d of %d reports are in doubt", doubt, all)
	}
}

func TestWhatIsCollectedMeanwhileAddsUp(t *testing.T) {
	checks(t, 5000)
	s := newStage(t)
	doubt, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s.set()
		before := snap(s, s.root)
		p := play{}
		for range rapid.IntRange(1, 2).Draw(t, "processes") {
			p.Lists = append(p.Lists, someDeeds(t, 20))
		}
		waits := rapid.SliceOfN(rapid.IntRange(0, 3000), 1, 5).Draw(t, "waits")
		x, cmd, out := s.begin(p)
		var reports []witness.Report
		var wg sync.WaitGroup
		wg.Go(func() { _ = cmd.Wait() })
		time.Sleep(3 * time.Millisecond)
		for _, n := range waits {
			time.Sleep(time.Duration(n) * time.Microsecond)
			if err := x.Collect(func(r witness.Report) { reports = append(reports, r) }); err != nil && !strings.Contains(
				err.Error(), "no such command") {
				t.Fatalf("collect: %v", err)
			}
		}
		wg.Wait()
		reports = append(reports, s.end(x))
		adds(t, s.root, before, snap(s, s.root), reports, out.String())
		all++
		for _, r := range reports {
			if slices.ContainsFunc(r.Parts, func(p witness.Part) bool { return p.Certainty != ledger.Proven }) || len(r.Unsure()) > 0 {
				doubt++
				break
			}
		}
	})
	t.Logf("%d of %d reports are in doubt", doubt, all)
}

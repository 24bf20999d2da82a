package agree

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sys/unix"

	"kerf/internal/testkit/long"
	"kerf/internal/text/delta"
	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/search"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// modes are the backends with the mode that each can carry out for all trees.
var modes = map[string]string{boundary.OwnLauncher: boundary.WorkspaceWrite, boundary.Bubblewrap: boundary.WorkspaceWrite,
	boundary.Landlock: boundary.ReadOnly}

// TestFileToolsAndCommandsAgree grows random trees, and compares what the tools do with what
// commands do: at rest, after commands renamed what they can, and while one renames.
// KERF_LONG makes it long, KERF_AGREE_SEED begins with another tree.
func TestFileToolsAndCommandsAgree(t *testing.T) {
	if os.Getenv(mountsEnv) == "" {
		amongMounts(t)
		return
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("nothing can be mounted: %v", err)
	}
	rounds := long.Of(100, 15, 1)
	first := uint64(0)
	if text := os.Getenv("KERF_AGREE_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &first); err != nil {
			t.Fatal(err)
		}
	}
	for _, backend := range []string{boundary.OwnLauncher, boundary.Bubblewrap, boundary.Landlock} {
		t.Run(backend, func(t *testing.T) {
			if why := missing(t, backend); why != "" {
				t.Skip(why)
			}
			total := counts{}
			for seed := first; seed < first+uint64(rounds); seed++ {
				t.Run(fmt.Sprint(seed), func(t *testing.T) { total.add(round(t, backend, seed)) })
			}
			t.Logf("counted: %s: %+v", backend, total)
			if total.hidden == 0 || total.read == 0 || total.written == 0 && backend != boundary.Landlock {
				t.Errorf("nothing was compared: %+v", total)
			}
		})
	}
}

// missing says why a backend cannot be tested.
func missing(t *testing.T, backend string) string {
	for _, b := range sandbox.Backends(t.Context()) {
		if b.Name == backend && b.Err != nil {
			return b.Err.Error()
		}
	}
	return ""
}

// counts are how many paths were compared, by what came of it.
type counts struct{ paths, read, hidden, written, closed, links int }

func (c *counts) add(d counts) {
	c.paths, c.read, c.hidden, c.written = c.paths+d.paths, c.read+d.read, c.hidden+d.hidden, c.written+d.written
	c.closed, c.links = c.closed+d.closed, c.links+d.links
}

func round(t *testing.T, backend string, seed uint64) (c counts) {
	r := rand.New(rand.NewPCG(seed, 7))
	s := newSite(t, backend, modes[backend])
	s.grow(r)
	s.begin()
	c.add(s.compare(r))
	if modes[backend] == boundary.ReadOnly || t.Failed() {
		return c
	}
	s.whileRoaming()
	if _, err := s.policy.Resolve(); err == nil && !t.Failed() { // what a rule grants may have another name by now
		c.add(s.compare(r))
		s.taken()
	}
	return c
}

// plan is the one that file tools and commands have now.
func (s *site) plan() boundary.Plan {
	s.t.Helper()
	plan, err := s.policy.Resolve()
	s.must(err)
	return plan
}

// compare asks the tools and a command about every name.
func (s *site) compare(r *rand.Rand) (c counts) {
	s.t.Helper()
	plan := s.plan()
	paths := s.names()
	told := s.ask("look", paths)
	lines, listed := s.found()
	s.open = make(map[string]bool)
	for _, path := range paths {
		if _, v := plan.Named(s.work, path); v.Access != boundary.Hidden && told[path].text != "" {
			s.open[told[path].text] = true
		}
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		c.paths++
		if info.Mode()&os.ModeSymlink != 0 {
			c.links++
		}
		_, v := plan.Named(s.work, path)
		c.add(s.judge(path, v, told[path]))
		if v.Access == boundary.Hidden && listed[path] && info.Mode().IsRegular() {
			s.t.Errorf("%s is hidden and listed", s.shown(path))
		}
		if text := lines[path]; text != "" && !strings.HasPrefix(told[path].text, text) {
			s.t.Errorf("%s: a search finds %q, a command reads %q", s.shown(path), text, told[path].text)
		}
	}
	s.opensNothing(paths, told)
	s.make(r, plan)
	return c
}

// opensNothing looks for contents that a rule hides, and no other one opens, at all names.
func (s *site) opensNothing(paths []string, told map[string]said) {
	s.t.Helper()
	hidden, opened := make(map[string]string), make(map[string]bool)
	for _, path := range paths {
		var ways []boundary.Access
		for _, r := range s.policy.Rules {
			if covers(r.Path, path) {
				ways = append(ways, r.Access)
			}
		}
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		text, err := os.ReadFile(path)
		s.must(err)
		switch {
		case slices.ContainsFunc(ways, func(a boundary.Access) bool { return a != boundary.None }):
			opened[string(text)] = true
		case len(ways) > 0:
			hidden[string(text)] = path
		}
	}
	for _, path := range paths {
		text := told[path].text
		if img, err := s.ws.Tree.Read(path, 1<<20); err == nil && img != nil && text == "" {
			text = string(img.Data)
		}
		if at := hidden[text]; at != "" && !opened[text] {
			s.t.Errorf("%s tells what is hidden at %s: %.60q", s.shown(path), s.shown(at), text)
		}
	}
}

// covers reports whether a rule is about a path, or about what it lies in.
func covers(rule, path string) bool {
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if ok, err := doublestar.Match(rule, at); at == rule || err == nil && ok {
			return true
		}
	}
	return false
}

// judge compares one path.
func (s *site) judge(path string, v boundary.Verdict, cmd said) (c counts) {
	s.t.Helper()
	img, err := s.ws.Tree.Read(path, 1<<20)
	var special *tree.SpecialError
	var outside *tree.OutsideError
	var link *tree.LinkError
	switch {
	case errors.Is(err, tree.ErrDirectory), errors.As(err, &special), errors.As(err, &link):
		if cmd.text != "" && !errors.As(err, &link) {
			s.t.Errorf("%s: the tools say %v, a command reads %q", s.shown(path), err, cmd.text)
		}
		return c
	case errors.As(err, &outside):
		return c // no tool leaves the workspace by a link
	}
	refused := err != nil
	fault := func(what string) {
		s.t.Helper()
		s.t.Errorf("%s: %s: the plan says %s (%s), the tools' error is %t (%v), a command reads %t %.60q, writes %t", s.shown(path),
			what, v.Access, strings.ReplaceAll(v.Why, s.work, "W"), refused, err, cmd.read, cmd.text, cmd.wrote)
	}
	if img == nil && !refused {
		return c
	}
	hidden := cmd.text == ""
	size := int64(1)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	switch {
	case refused != (v.Access == boundary.Hidden):
		fault("tools and plan differ")
	case size > 0 && refused && !hidden && s.policy.Backend == boundary.Landlock && s.open[cmd.text]:
		// Landlock knows files and not names: a rule opens another one.
	case size > 0 && refused != hidden:
		fault("reading differs")
	case !refused && string(img.Data) != cmd.text:
		fault(fmt.Sprintf("the tools read %.60q", img.Data))
	}
	if refused {
		c.hidden++
	} else {
		c.read++
	}
	may := s.ws.Tree.MayWrite(path, false) == nil
	if s.policy.Mode == boundary.ReadOnly {
		may = false // what tools write there the user allowed
	}
	switch {
	case refused && may:
		fault("the tools may write what they may not read")
	case !refused && may != cmd.wrote:
		fault(fmt.Sprintf("writing differs: the tools %t", may))
	case !refused && may != (v.Access == boundary.Writable):
		fault(fmt.Sprintf("writing differs from the plan: the tools %t", may))
	case may:
		c.written++
		s.commit(path, img)
	default:
		c.closed++
	}
	return c
}

// commit changes a file as the tools do, and looks at what came of it.
func (s *site) commit(path string, img *delta.Image) {
	s.t.Helper()
	post := delta.NewFile(append(slices.Clone(img.Data), "+\n"...), img.Mode)
	_, err := s.ws.Txn.Commit(s.t.Context(), delta.Set{{Path: path, Pre: img, Post: post}}, txn.CommitOptions{})
	if errors.Is(err, unix.EBUSY) {
		return // something is mounted on this very name, as another mount shows it
	}
	if err != nil {
		s.t.Errorf("%s: may be written: %v", s.shown(path), err)
		return
	}
	if _, err := s.ws.Txn.Commit(s.t.Context(), delta.Set{{Path: path, Pre: post, Post: img}}, txn.CommitOptions{}); err != nil {
		s.t.Errorf("%s: may be written again: %v", s.shown(path), err)
	}
}

// found is what the searches find: contents by path, and what is listed.
func (s *site) found() (lines map[string]string, listed map[string]bool) {
	s.t.Helper()
	lines, listed = make(map[string]string), make(map[string]bool)
	got, _, err := s.search.Grep(s.t.Context(), search.Query{Pattern: "SECRET", Dir: s.work, Limit: 1 << 20})
	s.must(err)
	for _, l := range got {
		lines[filepath.FromSlash(l.Path)] = l.Text + "\n"
	}
	paths, _, err := s.search.Glob(s.t.Context(), s.work, "**", 1<<20)
	s.must(err)
	for _, path := range paths {
		listed[filepath.FromSlash(path)] = true
	}
	return lines, listed
}

// make compares where the tools and a command may make a new file.
func (s *site) make(r *rand.Rand, plan boundary.Plan) {
	s.t.Helper()
	var names []string
	for _, path := range s.names() {
		if info, err := os.Stat(path); err == nil && info.IsDir() && !removed(info) {
			names = append(names, filepath.Join(path, fmt.Sprint("fresh", r.IntN(1000))))
		}
	}
	told := s.ask("make", names)
	for _, path := range names {
		err := s.ws.Tree.MayWrite(path, false)
		var outside *tree.OutsideError
		if errors.As(err, &outside) {
			continue
		}
		_, v := plan.Named(s.work, path)
		may := err == nil && s.policy.Mode != boundary.ReadOnly
		switch {
		case may && !told[path].made:
			s.t.Errorf("%s: the tools may make it, a command not; the plan says %s (%s)", s.shown(path), v.Access, v.Why)
		case !may && told[path].made && v.Access != boundary.Hidden:
			// What a command makes in something that stands in for a hidden directory reaches nobody.
			s.t.Errorf("%s: a command made it, and to the tools: %v; the plan says %s (%s)", s.shown(path), err, v.Access, v.Why)
		}
	}
}

// removed reports whether a directory is mounted that was removed at its own place: nobody can
// make a file in it.
func removed(dir os.FileInfo) bool {
	st, ok := dir.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}

// taken lets a command take away what it may not write.
func (s *site) taken() {
	s.t.Helper()
	plan := s.plan()
	before := make(map[string]string)
	var closed []string
	for _, path := range s.names() {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || (boundary.Disk{}).Placeholder(path) {
			continue
		}
		if _, v := plan.Named(s.work, path); v.Access != boundary.Writable {
			text, err := os.ReadFile(path)
			s.must(err)
			before[path] = string(text)
			closed = append(closed, path)
		}
	}
	s.ask("take", closed)
	for path, text := range before {
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			s.t.Errorf("%s was taken away: %v", s.shown(path), err)
		}
	}
}

// whileRoaming has a command rename and link all it can, while the tools read and write. What
// was hidden is never told by either, and what was closed keeps its content.
func (s *site) whileRoaming() {
	s.t.Helper()
	plan := s.plan()
	hidden, closed := make(map[string]string), make(map[boundary.FileID]string)
	var open []string
	var written []boundary.FileID
	names := make(map[boundary.FileID][]string)
	for _, path := range s.names() {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || (boundary.Disk{}).Placeholder(path) {
			continue
		}
		text, err := os.ReadFile(path)
		s.must(err)
		_, v := plan.Named(s.work, path)
		id, _ := boundary.IdentityOf(info)
		if strings.HasPrefix(string(text), "SECRET") && v.Access == boundary.Hidden {
			hidden[string(text)] = path
		} else {
			open = append(open, string(text)) // a rule opens another name of it
		}
		if v.Access != boundary.Writable {
			closed[id] = string(text)
		} else {
			written = append(written, id) // only the other name is closed
		}
		names[id] = append(names[id], path)
	}
	for _, id := range written {
		delete(closed, id)
	}
	for _, text := range open {
		delete(hidden, text)
	}
	s.t.Setenv("ROAM", "0.7")
	empty := filepath.Join(s.lists, "list")
	s.must(os.WriteFile(empty, nil, 0o644))
	out := s.besideTools(hidden, "python3", "-c", program, "roam", empty)
	for line := range strings.Lines(out) {
		word, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "began" {
			continue
		}
		if word != "saw" {
			s.t.Errorf("roaming: %s", line)
			continue
		}
		if path := hidden[unhex(text)]; path != "" {
			s.t.Errorf("a command that renames read %s", s.shown(path))
		}
	}
	have := make(map[boundary.FileID]bool)
	for _, path := range s.names() {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		id, _ := boundary.IdentityOf(info)
		have[id] = true
		if was, ok := closed[id]; ok {
			if now, err := os.ReadFile(path); err != nil || string(now) != was {
				s.t.Errorf("%s was closed and changed: %v", s.shown(path), err)
			}
		}
	}
	for id, text := range closed {
		if !have[id] {
			s.t.Errorf("a closed file is gone: %.100q, which was %.300q", text, names[id])
		}
	}
	s.policy.Session.Moved()
}

// besideTools runs a command while the tools work, and gives what it printed. A tool may replace a file
// whose name is just being protected: then no command begins, and after some such the tools wait until one
// has printed something.
func (s *site) besideTools(hidden map[string]string, argv ...string) (out string) {
	s.t.Helper()
	for try := range 20 {
		p, end := s.start(argv...)
		done := make(chan error)
		go func() {
			var lost error
			out, lost = end()
			done <- lost
		}()
		var lost error
		for running := true; running; {
			select {
			case lost = <-done:
				running = false
			default:
				if _, printed, _ := p.Since(0); printed > 0 || try < 5 {
					s.useTools(hidden)
				} else {
					time.Sleep(time.Millisecond)
				}
			}
		}
		if lost == nil {
			return out
		}
		s.t.Logf("once more: %v", lost)
	}
	s.t.Fatal("no command began")
	return ""
}

// useTools reads, searches and writes all there is.
func (s *site) useTools(hidden map[string]string) {
	s.t.Helper()
	lines, _, err := s.search.Grep(s.t.Context(), search.Query{Pattern: "SECRET", Dir: s.work, Limit: 1 << 20})
	if err == nil {
		for _, l := range lines {
			if path := hidden[l.Text+"\n"]; path != "" {
				s.t.Errorf("a search found %s in %s, while a command renames", s.shown(path), s.shown(l.Path))
			}
		}
	}
	for _, path := range s.names() {
		img, err := s.ws.Tree.Read(path, 1<<20)
		if err != nil || img == nil {
			continue
		}
		if was := hidden[string(img.Data)]; was != "" {
			s.t.Errorf("the tools read %s in %s, while a command renames", s.shown(was), s.shown(path))
		}
		if !strings.HasPrefix(string(img.Data), "SECRET") {
			continue
		}
		// It may fail, for what is changed meanwhile.
		post := delta.NewFile(append(slices.Clone(img.Data), "+\n"...), img.Mode)
		if _, err := s.ws.Txn.Commit(s.t.Context(), delta.Set{{Path: path, Pre: img, Post: post}}, txn.CommitOptions{}); err == nil {
			_, _ = s.ws.Txn.Commit(s.t.Context(), delta.Set{{Path: path, Pre: post, Post: img}}, txn.CommitOptions{})
		}
	}
}

package langserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/langfake"
	"kerf/internal/work/boundary"
	"kerf/internal/work/langserver"
	"kerf/internal/work/langserver/position"
)

func TestMain(m *testing.M) {
	if os.Getenv("KERF_LANGFAKE") != "" {
		os.Exit(langfake.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// project is a directory with files and a pool whose server misbehaves as flags say.
type project struct {
	t    *testing.T
	dir  string
	pool *langserver.Pool

	mu   sync.Mutex
	told []string
}

func begin(t *testing.T, files map[string]string, flags ...string) *project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: dir}
	p.write("toy.project", "")
	for name, text := range files {
		p.write(name, text)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.pool = langserver.NewPool(langserver.Options{
		Servers: []langserver.Server{{Name: "toy", Program: self, Args: flags, Env: []string{"KERF_LANGFAKE=1"},
			Globs: []string{"*.toy"}, Markers: []string{"toy.project"}, Languages: map[string]string{"": "toy"}, States: []string{"broken"}}},
		Roots: []string{dir}, Env: os.Environ,
		Policy: func(langserver.Server) (boundary.Policy, func(), error) {
			return boundary.Policy{Mode: boundary.FullAccess}, func() {}, nil
		},
		List: func(context.Context, langserver.Server, string) []string { return p.list() },
		Warn: func(s string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.told = append(p.told, s)
		}})
	t.Cleanup(p.pool.Close)
	return p
}

func (p *project) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) list() []string {
	list, _ := filepath.Glob(p.path("*.toy"))
	return list
}

func (p *project) source(name string) langserver.Source {
	p.t.Helper()
	b, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return langserver.Source{Path: p.path(name), Data: b}
}

// long is more than anything that answers needs; short is enough for what does not.
const long, short = 2 * time.Minute, 200 * time.Millisecond

func (p *project) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	p.t.Cleanup(cancel)
	return ctx
}

func (p *project) client() *langserver.Client {
	p.t.Helper()
	c, err := p.pool.Of(p.within(long), p.path("a.toy"))
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// problems are what the server finds in files, as NAME:LINE:COLUMN: MESSAGE.
func (p *project) problems(c *langserver.Client, names ...string) []string {
	p.t.Helper()
	ctx := p.within(long)
	read := func(path string) ([]byte, error) { return os.ReadFile(path) }
	if err := c.Refresh(ctx, func(context.Context) []string { return p.list() }, read); err != nil {
		p.t.Fatal(err)
	}
	var files []langserver.Source
	for _, n := range names {
		files = append(files, p.source(n))
	}
	found, err := c.Problems(ctx, files)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(found) != len(names) {
		p.t.Fatalf("%d of %d files were checked", len(found), len(names))
	}
	list := []string{}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		for _, x := range found[path] {
			list = append(list, fmt.Sprintf("%s:%d:%d: %s", filepath.Base(path), x.Line, x.Column, x.Message))
		}
	}
	return list
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// What the server says is about the files as they are, whichever way it says so, in whatever
// encoding, and whatever it says of older versions or of none.
func TestProblemsAreOfTheVersionThatWasAskedAbout(t *testing.T) {
	for _, way := range []string{"pull", "push"} {
		for _, encoding := range []string{"utf-8", "utf-16"} {
			t.Run(way+" "+encoding, func(t *testing.T) {
				p := begin(t, map[string]string{"a.toy": "def one\n", "b.toy": "é😀 use one\nwarn me\nbad thing\n"},
					"-way", way, "-encoding", encoding, "-stale", "-noise")
				c := p.client()
				same(t, "encoding", position.Encoding(encoding), c.Encoding())
				same(t, "at first", []string{"b.toy:3:5: thing is bad"}, p.problems(c, "a.toy", "b.toy"))
				for range 5 {
					p.write("a.toy", "def uno\n")
					same(t, "after the edit", []string{"b.toy:1:8: one is not defined", "b.toy:3:5: thing is bad"},
						p.problems(c, "a.toy", "b.toy"))
					p.write("a.toy", "\n\ndef one\n")
					same(t, "after it was mended", []string{"b.toy:3:5: thing is bad"}, p.problems(c, "a.toy", "b.toy"))
				}
			})
		}
	}
}

// The server learns what others do to files that are not open, and to open ones.
func TestChangesByOthersAreTold(t *testing.T) {
	p := begin(t, map[string]string{"a.toy": "use one\n", "b.toy": "def one\n"})
	c := p.client()
	same(t, "at first", []string{}, p.problems(c, "a.toy"))
	p.write("b.toy", "def other\n") // it never was open
	same(t, "changed", []string{"a.toy:1:5: one is not defined"}, p.problems(c, "a.toy"))
	p.write("c.toy", "def one\n")
	same(t, "made", []string{}, p.problems(c, "a.toy"))
	same(t, "opened", []string{}, p.problems(c, "a.toy", "c.toy"))
	if err := os.Remove(p.path("c.toy")); err != nil {
		t.Fatal(err)
	}
	same(t, "removed while it was open", []string{"a.toy:1:5: one is not defined"}, p.problems(c, "a.toy"))
}

// A server that names no versions, or does not answer, says nothing.
func TestWhatIsOfNoVersionIsNotSaid(t *testing.T) {
	for name, flags := range map[string][]string{"no versions": {"-way", "mute", "-stale"}, "no publish": {"-way", "push", "-hang", "publish"},
		"no answer": {"-hang", "textDocument/diagnostic"}} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, map[string]string{"a.toy": "bad thing\n"}, flags...)
			found, err := p.client().Problems(p.within(short), []langserver.Source{p.source("a.toy")})
			if !errors.Is(err, langserver.ErrLate) || len(found) != 0 {
				t.Errorf("found %v, %v", found, err)
			}
		})
	}
}

// A server that dies is started again, at most three times; one that hangs is ended and
// started again. Then it is not used any more, and the user is told once.
func TestServersAreStartedAgainWithinBounds(t *testing.T) {
	for name, flags := range map[string][]string{"dies": {"-crash", "textDocument/diagnostic"}, "hangs": {"-hang", "textDocument/diagnostic"},
		"dies at the start": {"-crash", "initialize"}, "says huge things": {"-huge", "textDocument/diagnostic"},
		"has no end of a header": {"-endless", "textDocument/diagnostic"}} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			p := begin(t, map[string]string{"a.toy": "bad thing\n"}, append(flags, "-log", log)...)
			var last error
			for range 20 {
				c, err := p.pool.Of(p.within(long), p.path("a.toy"))
				if last = err; err != nil {
					continue
				}
				patience := long
				if name == "hangs" {
					patience = short
				}
				found, err := c.Problems(p.within(patience), []langserver.Source{p.source("a.toy")})
				if err == nil || len(found) > 0 {
					t.Fatalf("found %v", found)
				}
				p.pool.Late(c.Name(), c.Root())
			}
			b, _ := os.ReadFile(log)
			if n := strings.Count(string(b), "initialize\n"); n != 3 || last == nil {
				t.Errorf("started %d times, at last: %v", n, last)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.told) != 1 || !strings.HasPrefix(p.told[0], "language server toy: it is not used any more: it was started 3 times") {
				t.Errorf("told %q", p.told)
			}
			if strings.HasPrefix(name, "dies") && (!strings.Contains(last.Error(), "boom") || strings.Contains(last.Error(), "\x1b")) {
				t.Errorf("its last words are not told, or not made harmless: %q", last)
			}
		})
	}
}

// One that died once works again.
func TestOneThatDiedWorksAgain(t *testing.T) {
	p := begin(t, map[string]string{"a.toy": "bad thing\n"}, "-crash", "textDocument/diagnostic", "-once", filepath.Join(t.TempDir(), "died"))
	if _, err := p.client().Problems(p.within(long), []langserver.Source{p.source("a.toy")}); err == nil || errors.Is(err, langserver.ErrLate) {
		t.Fatalf("the death of the server is %v", err)
	}
	same(t, "after its death", []string{"a.toy:1:5: thing is bad"}, p.problems(p.client(), "a.toy"))
}

// While one uses the server another waits no longer than its time.
func TestOneAfterTheOther(t *testing.T) {
	p := begin(t, map[string]string{"a.toy": ""})
	c := p.client()
	release, err := c.Hold(p.within(long))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hold(p.within(short)); !errors.Is(err, langserver.ErrLate) {
		t.Errorf("two use it: %v", err)
	}
	release()
	if release, err = c.Hold(p.within(long)); err != nil {
		t.Fatal(err)
	}
	release()
}

// What a file held before is known to the server only until it is told what changed.
func TestThePastIsForgotten(t *testing.T) {
	for _, way := range []string{"pull", "push"} {
		p := begin(t, map[string]string{"a.toy": "def uno\n", "b.toy": "use one\n"}, "-way", way)
		c := p.client()
		same(t, "now", []string{"b.toy:1:5: one is not defined"}, p.problems(c, "a.toy", "b.toy"))
		found, err := c.Problems(p.within(long), []langserver.Source{{Path: p.path("a.toy"), Data: []byte("def one\n"), Past: true},
			{Path: p.path("gone.toy"), Data: []byte("use two\n"), Past: true}, p.source("b.toy")})
		if len(found[p.path("b.toy")]) != 0 || len(found[p.path("gone.toy")]) != 1 || err != nil {
			t.Errorf("%s: before: %v, %v", way, found, err)
		}
		same(t, "now again", []string{"b.toy:1:5: one is not defined"}, p.problems(c, "b.toy"))
	}
}

// A server that reports without end that a project is broken is asked all the same.
func TestABrokenProject(t *testing.T) {
	p := begin(t, map[string]string{"a.toy": "bad thing\n"}, "-broken")
	same(t, "its problems", []string{"a.toy:1:5: thing is bad"}, p.problems(p.client(), "a.toy"))
}

// Whatever a server asks gets an answer, and none of it does anything.
func TestWhatServersAsk(t *testing.T) {
	answers := filepath.Join(t.TempDir(), "answers")
	p := begin(t, map[string]string{"a.toy": "bad thing\n"}, "-asks", answers)
	same(t, "its problems", []string{"a.toy:1:5: thing is bad"}, p.problems(p.client(), "a.toy"))
	var b []byte
	for until := time.Now().Add(long); bytes.Count(b, []byte("\n")) < 11 && time.Now().Before(until); {
		time.Sleep(5 * time.Millisecond)
		b, _ = os.ReadFile(answers)
	}
	for i, want := range []string{`"applied":false`, `"success":false`, `"result":[null,null]`, `"result":null`, `"result":null`,
		`"result":null`, `"result":null`, `"result":[{`, `"result":null`, `"code":-32601`, `"code":-32602`} {
		line := ""
		for l := range strings.Lines(string(b)) {
			if strings.Contains(l, fmt.Sprintf("ask-%02d", i)) {
				line = l
			}
		}
		if !strings.Contains(line, want) {
			t.Errorf("question %d got %q, want %s", i, line, want)
		}
	}
	if b, _ := os.ReadFile(p.path("a.toy")); string(b) != "bad thing\n" {
		t.Errorf("the file holds %q", b)
	}
}

// Names and contents of every kind lead to the right places.
func TestNamesAndContents(t *testing.T) {
	for _, name := range []string{"a b.toy", "100%.toy", "%41.toy", "#1?x=y.toy", "é.toy", "e\u0301.toy", "漢😀.toy", "a+b&c;d.toy", "[x]{y}.toy"} {
		for _, text := range []string{"bad thing\n", "\ufeffbad thing\r\n", "\r\n😀 bad thing"} {
			p := begin(t, map[string]string{"a.toy": "", name: text})
			line, column := 1+strings.Count(text, "\r\n😀"), 5+2*strings.Count(text, "😀")
			same(t, name, []string{fmt.Sprintf("%s:%d:%d: thing is bad", name, line, column)}, p.problems(p.client(), name))
		}
	}
}

// A part of a project that another file joins to others belongs to the whole.
func TestJoinedProjects(t *testing.T) {
	p := begin(t, map[string]string{"toy.work": "", "x/toy.project": "", "x/deep/a.toy": "", "y/toy.work": "", "y/b.toy": ""})
	s := langserver.Server{Name: "toy", Globs: []string{"*.toy"}, Markers: []string{"toy.project", "toy.work"}, Tops: []string{"toy.work"}}
	for _, root := range []string{"", "x"} {
		pool := langserver.NewPool(langserver.Options{Servers: []langserver.Server{s}, Roots: []string{p.path(root)}})
		if _, got, ok := pool.For(p.path("x/deep/a.toy")); !ok || got != p.path(root) {
			t.Errorf("in %q: the project is %s (%v)", root, got, ok)
		}
		if _, got, ok := pool.Touched(p.path("x/toy.project")); !ok || got != p.path(root) {
			t.Errorf("in %q: a marker is of %s (%v)", root, got, ok)
		}
	}
}

func TestWhichServer(t *testing.T) {
	p := begin(t, map[string]string{"a.toy": "", "sub/toy.project": "", "sub/deep/b.toy": "", "c.txt": ""})
	for name, want := range map[string]string{"a.toy": "", "sub/deep/b.toy": "sub", "sub/new.toy": "sub"} {
		_, root, ok := p.pool.For(p.path(name))
		if !ok || root != filepath.Join(p.dir, want) {
			t.Errorf("%s is of the project %s (%v), want %q", name, root, ok, want)
		}
	}
	for _, name := range []string{"c.txt", "../elsewhere.toy"} {
		if _, root, ok := p.pool.For(p.path(name)); ok {
			t.Errorf("%s is of the project %s", name, root)
		}
	}
	if _, err := p.pool.Of(p.within(long), p.path("c.txt")); !errors.Is(err, langserver.ErrNone) {
		t.Error(err)
	}
}

func TestQuestions(t *testing.T) {
	for _, encoding := range []string{"utf-8", "utf-16"} {
		p := begin(t, map[string]string{"a.toy": "😀 def one\n", "b.toy": "\ufeffé use one def two\n"}, "-encoding", encoding)
		c, ctx := p.client(), p.within(long)
		at := strings.Index("😀 def one\n", "one")
		text := func(places []langserver.Place) (got []string) {
			for _, l := range places {
				x, _ := position.Of(p.source(filepath.Base(l.Path)).Data)
				from, ok := x.Offset(l.Range.Start, c.Encoding())
				to, ok2 := x.Offset(l.Range.End, c.Encoding())
				got = append(got, fmt.Sprintf("%s:%d:%s %v", filepath.Base(l.Path), from, p.source(filepath.Base(l.Path)).Data[from:to], ok && ok2))
			}
			return got
		}
		refs, err := c.References(ctx, p.source("a.toy"), at)
		same(t, encoding+" references", []string{"a.toy:9:one true"}, text(refs)[:1])
		if err != nil || len(refs) != 1 { // b.toy has a mark, with which the server read it from the disk
			if err := c.Tell([]langserver.Source{p.source("b.toy")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Tell([]langserver.Source{p.source("b.toy")}); err != nil {
			t.Fatal(err)
		}
		refs, err = c.References(ctx, p.source("a.toy"), at)
		same(t, encoding+" references", []string{"a.toy:9:one true", "b.toy:10:one true"}, text(refs))
		def, err2 := c.Definition(ctx, p.source("b.toy"), 10)
		same(t, encoding+" definition", []string{"a.toy:9:one true"}, text(def))
		outline, err3 := c.Outline(ctx, p.source("b.toy"))
		found, err4 := c.Find(ctx, "two")
		if len(outline) != 1 || outline[0].Name != "two" || outline[0].Kind != "function" || len(found) != 1 || found[0].Place.Path != p.path("b.toy") {
			t.Errorf("outline %v, found %v", outline, found)
		}
		edits, err5 := c.Rename(ctx, p.source("a.toy"), at, "ONE")
		x, _ := position.Of(p.source("b.toy").Data)
		made, ok := x.Apply(edits[p.path("b.toy")], c.Encoding())
		if !ok || string(made) != "\ufeffé use ONE def two\n" {
			t.Errorf("%s: renamed to %q", encoding, made)
		}
		if err := errors.Join(err, err2, err3, err4, err5); err != nil {
			t.Error(err)
		}
	}
}

func TestRenamesThatAreRefused(t *testing.T) {
	for flag, want := range map[string]string{"create": "it would create", "old": "about another version"} {
		p := begin(t, map[string]string{"a.toy": "def one\n"}, "-rename", flag)
		edits, err := p.client().Rename(p.within(long), p.source("a.toy"), 4, "two")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v", flag, edits, err)
		}
	}
	p := begin(t, map[string]string{"a.toy": "def one\n\n"})
	var said *langserver.SaidError
	if _, err := p.client().Rename(p.within(long), p.source("a.toy"), 8, "two"); !errors.As(err, &said) || said.Message != "there is nothing to rename" {
		t.Errorf("the server's refusal is %v", err)
	}
}

// Nothing runs that was not asked for, and nothing is left when the pool is closed, also
// while servers start or hang.
func TestCloseEndsAll(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := begin(t, map[string]string{"a.toy": ""}, "-hang", "initialize", "-log", log)
	p.pool.Close() // nothing was started
	if _, err := os.Stat(log); err == nil {
		t.Error("a server was started that nobody asked for")
	}
	p = begin(t, map[string]string{"a.toy": ""}, "-hang", "initialize")
	if _, err := p.pool.Of(p.within(short), p.path("a.toy")); !errors.Is(err, langserver.ErrLate) {
		t.Errorf("a server that does not greet: %v", err)
	}
	p.pool.Close()
	if _, err := p.pool.Of(p.within(long), p.path("a.toy")); err == nil {
		t.Error("a closed pool has servers")
	}
}

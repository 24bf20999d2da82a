package witness_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/long"
	"kerf/internal/work/boundary"
	"kerf/internal/work/ledger"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/store"
	"kerf/internal/work/witness"
)

// bench is a workspace whose commands are witnessed.
type bench struct {
	testing.TB
	root, home string
	ledger     *ledger.Ledger
	store      *store.Store
	w          *witness.Witness
	backend    string
	full       bool
	may        func(witness.Loss) bool // whether something may be lost
	boxes      []func()
	usual      func(*boundary.Policy) // what a session of Kerf adds to a policy; nil for nothing
}

func newBench(t testing.TB, backend string) *bench {
	t.Helper()
	return benchIn(t, t.TempDir(), backend)
}

func benchIn(t testing.TB, dir, backend string) *bench {
	t.Helper()
	b := &bench{TB: t, backend: backend}
	b.root, b.home = filepath.Join(dir, "tree"), filepath.Join(dir, "home")
	for _, d := range []string{b.root, b.home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if b.ledger, err = ledger.Open(b.home); err != nil {
		t.Fatal(err)
	}
	if b.store, err = store.Open(filepath.Join(b.home, "store")); err != nil {
		t.Fatal(err)
	}
	b.w, err = witness.New(witness.Options{Dir: b.home, Roots: []string{b.root}, Ledger: b.ledger, Store: b.store})
	if err != nil {
		t.Skip("SKIP ", err)
	}
	t.Cleanup(func() {
		if err := b.w.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// run runs a command line to its end and returns what the witness says.
func (b *bench) run(line string) (witness.Report, string) {
	b.Helper()
	x, cmd, out, box := b.start(line)
	_ = cmd.Wait()
	box.Close()
	return b.end(x), out.String()
}

func (b *bench) end(x *witness.Watch) witness.Report {
	b.Helper()
	var r witness.Report
	for _, stop := range b.boxes {
		stop()
	}
	b.boxes = nil
	if err := x.End(func(got witness.Report) bool { r = got; return true }); err != nil {
		b.Error(err)
	}
	return r
}

func (b *bench) start(line string) (*witness.Watch, *exec.Cmd, *bytes.Buffer, *sandbox.Box) {
	b.Helper()
	return b.startProgram([]string{"bash", "-c", line}, nil)
}

func (b *bench) startProgram(argv, env []string) (*witness.Watch, *exec.Cmd, *bytes.Buffer, *sandbox.Box) {
	b.Helper()
	x, err := b.w.Begin(ledger.Entry{Session: "s", Call: "c"}, b.backend != boundary.Bubblewrap && !b.full, b.may)
	if err != nil {
		b.Fatal(err)
	}
	p := boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{b.root}, Cwd: b.root, Backend: b.backend,
		Witness: x.Socket()}
	if b.full {
		p.Mode = boundary.FullAccess
	}
	if b.usual != nil {
		b.usual(&p)
	}
	box, err := sandbox.Prepare(context.Background(), p, false, argv)
	if err != nil {
		b.Skip("SKIP ", err)
	}
	cmd := exec.Command(box.Argv[0], box.Argv[1:]...)
	cmd.ExtraFiles, cmd.Dir, cmd.Env = box.Files, b.root, append(os.Environ(), env...)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	box.Started(cmd.Process.Pid, func() { _ = cmd.Process.Kill() })
	return x, cmd, out, box
}

func (b *bench) write(name, text string) {
	b.Helper()
	p := filepath.Join(b.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

// told is a report in a line for each change: certainty, path, before and after.
func (b *bench) told(r witness.Report) string {
	var lines []string
	for _, part := range r.Parts {
		for _, c := range part.Set {
			line := part.Certainty + " " + strings.TrimPrefix(c.Path, b.root+"/") + ":"
			if c.Pre == nil {
				line += " -"
			} else {
				line += " " + string(c.Pre.Data)
			}
			if c.Post == nil {
				line += " > -"
			} else {
				line += " > " + string(c.Post.Data)
			}
			if c.From != "" {
				line += " from " + strings.TrimPrefix(c.From, b.root+"/")
			}
			lines = append(lines, line)
		}
		for _, d := range part.Dirs {
			lines = append(lines, part.Certainty+" mkdir "+strings.TrimPrefix(string(d), b.root+"/"))
		}
		for _, d := range part.Gone {
			lines = append(lines, part.Certainty+" rmdir "+strings.TrimPrefix(string(d.Path), b.root+"/"))
		}
	}
	for _, n := range r.Unsure() {
		lines = append(lines, "note "+strings.ReplaceAll(n, b.root+"/", ""))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// commands are command lines with what they do to a tree that holds a (1), b (2) and
// d/f (3).
var commands = []struct{ line, want string }{
	{"true", ""},
	{"cat a >/dev/null", ""},
	{"printf 9 > a", "proven a: 1 > 9"},
	{"printf 9 >> a", "proven a: 1 > 19"},
	{"printf 9 > new", "proven new: - > 9"},
	{"rm a", "proven a: 1 > -"},
	{"rm a; printf 1 > a", ""},
	{"mv a c", "proven a: 1 > -\nproven c: - > 1 from a"},
	{"mv a b", "proven a: 1 > -\nproven b: 2 > 1 from a"},
	{"mv a c; printf 9 > c", "proven a: 1 > -\nproven c: - > 9 from a"},
	{"mv a c; rm c", "proven a: 1 > -"},
	{"mv a c; mv c e", "proven a: 1 > -\nproven e: - > 1 from a"},
	{"mv a c; mv c a", ""},
	{"rm -r d", "proven d/f: 3 > -\nproven rmdir d"},
	{"mv d e", "proven d/f: 3 > -\nproven e/f: - > 3 from d/f\nproven mkdir e\nproven rmdir d"},
	{"mv d e; printf 9 > e/f", "proven d/f: 3 > -\nproven e/f: - > 9 from d/f\nproven mkdir e\nproven rmdir d"},
	{"rm -r d; printf x > d", "proven d/f: 3 > -\nproven d: - > x\nproven rmdir d"},
	{"rm a; mkdir a", "proven a: 1 > -\nproven mkdir a"},
	{"mkdir -p x/y; printf 9 > x/y/z", "proven mkdir x\nproven mkdir x/y\nproven x/y/z: - > 9"},
	{"ln -s a l", "proven l: - > a"},
	{"ln -s a l; printf 9 > l", "proven a: 1 > 9\nproven l: - > a"},
	{"ln a h; printf 9 > h", "proven a: 1 > 9\nproven h: - > 9"},
	{"chmod 755 a", "proven a: 1 > 1"},
	{"chmod 600 a; printf 9 > a", "proven a: 1 > 9"},
	{"sed -i s/1/7/ a", "proven a: 1 > 7"},
	{"truncate -s 0 a", "proven a: 1 > "},
	{"exec 3<>a; printf 9 >&3", "proven a: 1 > 9"},
	{"exec 3<a; printf 9 > /dev/fd/3", "proven a: 1 > 9"},
	{"cd d; printf 9 > ../a; printf 8 > f", "proven a: 1 > 9\nproven d/f: 3 > 8"},
	{"printf 9 > a & wait; (printf 8 > b)", "proven a: 1 > 9\nproven b: 2 > 8"},
	{"mkdir -p q/.git; touch q/.git/HEAD; echo x > q/.git/index", "note q/.git (undo leaves it there: it is a git repository that the command made)\nproven mkdir q"},
	{"cp -r d e", "proven e/f: - > 3\nproven mkdir e"},
	{"python3 -c \"import os; os.rename('a','q'); open('q','w').write('9')\"", "proven a: 1 > -\nproven q: - > 9 from a"},
	{"mkfifo p; (printf 9 > p &) ; cat p > a; rm p", "proven a: 1 > 9"},
	{"mkdir -p e/f; mv -T d e; rm -r d e", "proven d/f: 3 > -\nproven rmdir d"},
	{"ln a h; rm a; printf 9 > h; mv h a", "proven a: 1 > 9"},
	{"printf 9 > nowhere/x; printf 8 > a/x; rm x; rmdir d; mkdir a", ""},
	{"mkdir q; cd q; rmdir ../q; printf 9 > ../a", "proven a: 1 > 9"},
	{"tar cf t.tar a b; rm a b; tar xf t.tar; rm t.tar", ""},
	{"printf 9 > a; rm a; exec 3<>a", "proven a: 1 > "}, // the new file may have the number of the old one
}

func TestCommandsAreKnown(t *testing.T) {
	for _, backend := range []string{boundary.OwnLauncher, boundary.Bubblewrap, "full"} {
		t.Run(backend, func(t *testing.T) {
			if backend != "full" {
				long.Slow(t)
			}
			for i, c := range commands {
				t.Run(c.line, func(t *testing.T) {
					if i%4 > 0 {
						long.Slow(t)
					}
					t.Parallel()
					b := newBench(t, backend)
					if backend == "full" {
						b.backend, b.full = "", true
					}
					b.write("a", "1")
					b.write("b", "2")
					b.write("d/f", "3")
					r, out := b.run(c.line)
					if out != "" {
						t.Log(out)
					}
					if got := b.told(r); got != c.want {
						t.Errorf("got\n%s\nwant\n%s", got, c.want)
					}
				})
			}
		})
	}
}

func TestOthersAreToldApart(t *testing.T) {
	const wait = ": > ready; while [ ! -e go ]; do sleep 0.01; done; "
	for _, c := range []struct {
		name, line string
		other      func(b *bench)
		want       string
	}{
		{"another file", "printf 9 > a; " + wait, func(b *bench) { b.write("b", "mine") }, "proven a: 1 > 9"},
		{"a new file beside", "printf 9 > a; " + wait, func(b *bench) { b.write("n", "mine") }, "proven a: 1 > 9"},
		{"the same file after", "printf 9 > a; " + wait, func(b *bench) { b.write("a", "mine") }, "unproven a: 1 > mine"},
		{"the same file before", wait + "printf 9 > a", func(b *bench) { b.write("a", "mine") }, "proven a: mine > 9"},
		{"in between", "printf 9 > a; " + wait + "printf 8 >> a", func(b *bench) { b.write("a", "mine") },
			"proven a: mine > mine8\nunproven a: 1 > mine"},
		{"removed, then made anew", "rm a; " + wait, func(b *bench) { b.write("a", "mine") },
			"outside a: - > mine\nproven a: 1 > -"},
		{"replaced as editors do", "printf 9 > a; " + wait, func(b *bench) {
			b.write("a~", "mine")
			_ = os.Rename(filepath.Join(b.root, "a~"), filepath.Join(b.root, "a"))
		}, "unproven a: 1 > mine"},
		{"in a directory that took the place of one that is still open", "mkdir d; printf 1 > d/x; exec 3<d; rm d/x; rmdir d; " +
			"mkdir d; printf 9 > d/n; " + wait, func(b *bench) { b.write("d/n", "mine") }, "proven mkdir d\nunproven d/n: - > mine"},
		{"in a directory that was moved over one that is still open", "mkdir d e; printf 1 > d/x; exec 3<d; rm d/x; mv -T e d; " +
			"printf 9 > d/n; " + wait, func(b *bench) { b.write("d/n", "mine") }, "proven mkdir d\nunproven d/n: - > mine"},
		{"removed from a directory that was moved", "mv d e; printf 9 > n; " + wait, func(b *bench) {
			_ = os.Remove(filepath.Join(b.root, "e/a"))
		}, "note d/a (what it held went away)\nproven d/f: 3 > -\nproven e/f: - > 3 from d/f\nproven mkdir e\nproven rmdir d\n" +
			"unproven n: - > 9\nunproven ready: - > "},
		{"removed", "printf 9 > a; " + wait, func(b *bench) { _ = os.Remove(filepath.Join(b.root, "a")) },
			"unproven a: 1 > -"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "")
			b.write("a", "1")
			b.write("b", "2")
			if strings.HasPrefix(c.line, "mv d ") {
				b.write("d/a", "1")
				b.write("d/f", "3")
			}
			x, cmd, out, box := b.start(c.line)
			for {
				if _, err := os.Stat(filepath.Join(b.root, "ready")); err == nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			c.other(b)
			b.write("go", "")
			_ = cmd.Wait()
			box.Close()
			if got := b.told(b.end(x)); strings.Trim(strings.ReplaceAll("\n"+got, "\nproven ready: - > ", ""), "\n") != c.want {
				t.Errorf("got\n%s\nwant\n%s\n%s", got, c.want, out)
			}
		})
	}
}

package nested

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kerf/internal/work/overlay"
)

// play, as the first argument, makes the test binary what runs over an overlay. It gets the
// name of a play, and has others do something in the lower layer by writing a line.
const play = "--play"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == overlay.Flag {
		os.Exit(overlay.Hold())
	}
	if len(os.Args) == 4 && os.Args[1] == play {
		p := player{root: os.Args[2], acks: bufio.NewReader(os.Stdin)}
		shown, _ := overlay.Take(os.Environ())
		for _, s := range shown {
			p.layers = append(p.layers, Layer(s))
		}
		if err := plays[os.Args[3]](&p); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var plays map[string]func(*player) error

func init() { // they need it themselves
	plays = map[string]func(*player) error{"histories": histories, "reads": reads, "stories": stories, "replaced": replaced,
		"linked": linked, "young": young}
}

// player is what runs over the overlay.
type player struct {
	root   string
	layers []Layer
	acks   *bufio.Reader
}

// deed is something that is done in a tree. Others do it in the lower layer.
type deed struct{ op, a, b string }

func (d deed) do(root string) {
	a, b := filepath.Join(root, d.a), filepath.Join(root, d.b)
	switch d.op {
	case "mkdir":
		_ = os.MkdirAll(a, 0o755)
	case "write":
		_ = os.WriteFile(a, []byte(d.b), 0o644)
	case "move":
		_ = os.Rename(a, b)
	case "remove":
		_ = os.RemoveAll(a)
	case "link":
		_ = os.Symlink(d.b, a)
	case "old": // who changes a directory can hide it so
		_ = os.Chtimes(a, time.Unix(1e9, 0), time.Unix(1e9, 0))
	}
}

// others has others do it.
func (p *player) others(d deed) error {
	fmt.Printf("%q %q %q\n", d.op, d.a, d.b)
	_, err := p.acks.ReadString('\n')
	return err
}

// both has somebody do it.
func (p *player) both(others bool, d deed) error {
	if others {
		return p.others(d)
	}
	d.do(p.root)
	return nil
}

// played runs a play over an overlay of a tree, whose upper layer is in the given directory.
func played(t *testing.T, name, upper string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if upper == "" {
		upper = base
	}
	l := overlay.Layer{Lower: filepath.Join(base, "w"), Upper: filepath.Join(upper, "u"), Work: filepath.Join(upper, "k")}
	for _, dir := range []string{l.Lower, l.Upper, l.Work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		deed{op: "mkdir", a: filepath.Join("t", strconv.Itoa(i), "d")}.do(l.Lower)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(l.Work, "work"), 0o700) }) // the kernel's own
	said, says, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, answer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			var d deed
			if _, err := fmt.Sscanf(lines.Text(), "%q %q %q", &d.op, &d.a, &d.b); err != nil {
				t.Error(err)
			}
			d.do(l.Lower)
			_, _ = io.WriteString(answer, "\n")
		}
	}()
	code, err := overlay.Run(t.Context(), overlay.Spec{Layers: []overlay.Layer{l}, Dir: l.Lower, Shown: true,
		Argv: []string{"/proc/self/exe", play, l.Lower, name}, Env: os.Environ()}, answers, says, os.Stderr)
	_ = says.Close()
	<-done
	for _, f := range []*os.File{said, answers, answer} {
		_ = f.Close()
	}
	if errors.Is(err, overlay.ErrImpossible) {
		t.Skip(err)
	}
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v", code, err)
	}
}

// TestARememberedOverlayIsTheOverlay: whatever is done over an overlay, and by others below
// it, a look with memory finds what one without finds.
func TestARememberedOverlayIsTheOverlay(t *testing.T) {
	t.Run("one file system", func(t *testing.T) { t.Parallel(); played(t, "histories", "") })
	t.Run("two", func(t *testing.T) {
		t.Parallel()
		upper, err := os.MkdirTemp("/dev/shm", "kerf")
		if err != nil {
			upper = "" // then it is the same again
		} else {
			t.Cleanup(func() { _ = os.RemoveAll(upper) })
		}
		played(t, "histories", upper)
	})
}

func histories(p *player) error {
	n := 0
	m := remembering(&n)
	m.layers = p.layers
	seed := uint64(21)
	if s, err := strconv.ParseUint(os.Getenv("KERF_TRUST_FIRST"), 10, 64); err == nil {
		seed = s
	}
	r := rand.New(rand.NewPCG(seed, 1))
	names := []string{".git", ".GIT", ".kerf", "node_modules", "HEAD", "objects", "refs", "a", "b", "c"}
	dir := func() string {
		at := "."
		for range r.IntN(4) {
			at = filepath.Join(at, string(rune('a'+r.IntN(3))))
		}
		return at
	}
	var did []string
	for range 120 {
		tick()
		at := dir()
		d := deed{a: filepath.Join(at, names[r.IntN(len(names))])}
		switch r.IntN(5) {
		case 0, 1:
			d.op = "mkdir"
		case 2:
			d.op = "write"
		case 3:
			d.op, d.b = "move", filepath.Join(dir(), names[r.IntN(len(names))])
		case 4:
			d.op = "remove"
		}
		others := r.IntN(2) == 0
		did = append(did, fmt.Sprint(others, d))
		if err := errors.Join(p.both(others, d), p.both(others, deed{op: "old", a: at})); err != nil {
			return err
		}
		tick()
		for _, thorough := range []bool{false, true} {
			want := (*Memory)(nil).Find(p.root, thorough)
			if got := m.Find(p.root, thorough); !slices.Equal(got, want) {
				return fmt.Errorf("seed %d, thorough %v:\n%q\nwant\n%q\nafter (true: by others) %s", seed, thorough, got, want,
					strings.Join(did, "\n"))
			}
		}
	}
	return nil
}

// TestAnUnchangedOverlayIsNotReadAgain, and what was changed in one layer is read once.
func TestAnUnchangedOverlayIsNotReadAgain(t *testing.T) {
	if _, ok := New().stamp(t.TempDir()); !ok {
		t.Skip("SKIP the file system of the tests is not known to keep times")
	}
	played(t, "reads", "")
}

func reads(p *player) error {
	n := 0
	m := remembering(&n)
	m.layers = p.layers
	if len(p.layers) == 0 {
		return nil // the kernel shows none
	}
	steps := []struct {
		what   string
		others bool
		did    deed
		want   int
	}{
		{"the first look", false, deed{}, 82},
		{"nothing", false, deed{}, 0},
		{"a change in the upper layer", false, deed{"write", "t/7/f", ""}, 3}, // 7, and those above it are there, too
		{"nothing, with both layers", false, deed{}, 0},
		{"a change in the upper layer, again", false, deed{"write", "t/7/g", ""}, 1},
		{"a change in the lower layer, where both have it", true, deed{"write", "t/7/h", ""}, 1},
		{"a change in the lower layer", true, deed{"write", "t/8/f", ""}, 1},
		{"a new directory above", false, deed{"mkdir", "t/8/e", ""}, 3},
		{"a new directory below", true, deed{"mkdir", "t/9/e", ""}, 2},
		{"nothing, at the end", false, deed{}, 0},
	}
	for _, s := range steps {
		tick()
		if err := p.both(s.others, s.did); err != nil {
			return err
		}
		tick()
		n = 0
		if m.Find(p.root, false); n != s.want {
			return fmt.Errorf("after %s %d directories were read, want %d", s.what, n, s.want)
		}
	}
	return nil
}

// TestARepositoryInALayerIsFound however it came into one.
func TestARepositoryInALayerIsFound(t *testing.T) { played(t, "stories", "") }

func stories(p *player) error {
	n := 0
	m := remembering(&n)
	m.layers = p.layers
	for _, others := range []bool{false, true} {
		for i, both := range []bool{false, true} {
			dir := fmt.Sprintf("t/%d", 20+i)
			if others {
				dir = fmt.Sprintf("t/%d", 30+i)
			}
			if both {
				deed{"write", dir + "/f", ""}.do(p.root) // so both layers have it
			}
			moved := "t/moved" + filepath.Base(filepath.Dir(dir))
			for _, s := range []struct {
				what  string
				deeds []deed
				want  string // a path, relative
			}{
				{"nothing", nil, ""},
				{"made", []deed{{"mkdir", dir + "/.git", ""}}, dir + "/.git"},
				{"gone", []deed{{"remove", dir + "/.git", ""}}, ""},
				{"a file", []deed{{"write", dir + "/.git", "gitdir: ../x"}}, dir + "/.git"},
				{"renamed", []deed{{"move", dir + "/.git", dir + "/.Git"}}, dir + "/.Git"},
				{"away", []deed{{"remove", dir + "/.Git", ""}}, ""},
				{"moved in", []deed{{"mkdir", moved + "/.git", ""}, {"move", moved, dir + "/in"}}, dir + "/in/.git"},
				{"away again", []deed{{"remove", dir + "/in", ""}}, ""},
				{"bare", []deed{{"mkdir", dir + "/b/objects", ""}, {"mkdir", dir + "/b/refs", ""}, {"write", dir + "/b/HEAD", ""}},
					dir + "/b"},
				{"at the end", []deed{{"remove", dir + "/b", ""}}, ""},
			} {
				tick()
				m.Find(p.root, false) // so that it is remembered
				for _, d := range s.deeds {
					if err := errors.Join(p.both(others, d), p.both(others, deed{op: "old", a: filepath.Dir(d.a)})); err != nil {
						return err
					}
				}
				tick()
				var want []string
				if s.want != "" {
					want = []string{filepath.Join(p.root, s.want)}
				}
				if got := m.Find(p.root, false); !slices.Equal(got, want) {
					return fmt.Errorf("%s in %s, by others %v, both layers %v: %q, want %q", s.what, dir, others, both, got, want)
				}
			}
		}
	}
	return nil
}

// TestADirectoryThatWasReplacedBelow: the overlay goes on showing it, and what is done in it
// where it is now.
func TestADirectoryThatWasReplacedBelow(t *testing.T) { played(t, "replaced", "") }

func replaced(p *player) error {
	n := 0
	m := remembering(&n)
	m.layers = p.layers
	deed{"write", "t/20/f", ""}.do(p.root)
	m.Find(p.root, false)
	for _, d := range []deed{{"move", "t/20", "t/was"}, {"mkdir", "t/20/new", ""}, {"mkdir", "t/was/.git", ""},
		{"move", "t/was/.git", "t/was/.Git"}, {"mkdir", "t/20/.git", ""}, {"remove", "t/was", ""}} {
		tick()
		if err := p.others(d); err != nil {
			return err
		}
		tick()
		want := (*Memory)(nil).Find(p.root, false)
		for range 2 {
			if got := m.Find(p.root, false); !slices.Equal(got, want) {
				return fmt.Errorf("after others did %v: %q, want %q", d, got, want)
			}
		}
	}
	return nil
}

// TestADirectoryBehindALink: a link of the lower layer leads to a directory that both layers have.
func TestADirectoryBehindALink(t *testing.T) { played(t, "linked", "") }

func linked(p *player) error {
	n := 0
	m := remembering(&n)
	m.layers = p.layers
	if err := p.others(deed{"link", "t/link", "20"}); err != nil {
		return err
	}
	deed{"write", "t/20/f", ""}.do(p.root)
	behind := filepath.Join(p.root, "t/link")
	for _, d := range []deed{{"mkdir", "t/20/.git", ""}, {"remove", "t/20/.git", ""}, {"write", "t/20/.git", "gitdir: x"}} {
		tick()
		m.Find(behind, false)
		if err := p.others(d); err != nil {
			return err
		}
		tick()
		want := (*Memory)(nil).Find(behind, false)
		if got := m.Find(behind, false); !slices.Equal(got, want) {
			return fmt.Errorf("after others did %v: %q, want %q", d, got, want)
		}
	}
	return nil
}

// TestWhatWasJustChangedBelowIsNotRemembered: within one tick of the clock others can change a
// directory of the lower layer twice, of which the upper layer tells nothing.
func TestWhatWasJustChangedBelowIsNotRemembered(t *testing.T) { played(t, "young", "") }

func young(p *player) error {
	n := 0
	m := remembering(&n)
	if m.layers = p.layers; len(m.layers) == 0 {
		return nil // the kernel shows none
	}
	deed{"write", "t/20/f", ""}.do(p.root)
	time.Sleep(settled) // so that this is old
	if err := p.others(deed{"write", "t/20/h", ""}); err != nil {
		return err
	}
	s, ok := m.stamp(filepath.Join(p.root, "t/20"))
	if !ok || s.below == (version{}) {
		return nil // the file system keeps no times
	}
	m.now = func() time.Time { return time.Unix(0, s.below.ctime).Add(settled / 2) }
	m.Find(p.root, false)
	n = 0
	if m.Find(p.root, false); n == 0 {
		return errors.New("a directory that was changed just now was remembered")
	}
	return nil
}

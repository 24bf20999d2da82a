// Package tries keeps work that is tried out: directories that a session saw as its own to
// change, through an overlay, and that stay as they are until somebody keeps the result.
//
// A try is a directory below TRIES in Kerf's home:
//
//	meta.json    what it is about
//	lock         held while something runs in it
//	0, 1, …      one directory for each root: upper (what was written) and work
//	workspaces   what Kerf records in the try, in the place of Kerf's own records
//
// The file "given" beside them has each number that a try had, so that none is given again: who
// throws a try away by a number that is known from earlier does not meet another one.
//
// Nothing of it is in the roots. To throw a try away is to remove its directory.
package tries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"kerf/internal/atomicfile"
	"kerf/internal/pathname"
	"kerf/internal/text/pattern"
	"kerf/internal/work/boundary/mounts"
	"kerf/internal/work/boundary/nested"
	"kerf/internal/work/homes"
	"kerf/internal/work/overlay"
)

const (
	// Env names the try that a process runs in.
	Env = "KERF_TRY"
	// Tool is the ledger's name for what keeps a try.
	Tool = "keep"
)

// Try is one try. It is for one goroutine.
type Try struct {
	ID   int
	Dir  string
	Meta Meta

	lock *os.File
}

// Meta is what a try is about.
type Meta struct {
	V       int       `json:"v"`
	Roots   []string  `json:"-"`               // real paths; the first is the working directory
	Modes   []uint32  `json:"modes,omitempty"` // the permission bits of each when the try began
	Started time.Time `json:"started"`
	Request string    `json:"request,omitempty"`
	Copied  bool      `json:"copied,omitempty"` // there is no overlay, but a copy
}

// metaFile is Meta in JSON, where names are bytes.
type metaFile struct {
	Meta
	Roots []pathname.Path `json:"roots"`
}

var (
	// ErrRunning says that something runs in the try.
	ErrRunning = errors.New("it is still running")
	// ErrNone says that there is no such try.
	ErrNone = errors.New("there is no such try; see kerf tries")
)

func place(home string) string { return filepath.Join(home, "tries") }

// New makes a try of the roots, locked.
func New(home string, roots []string, request string) (*Try, error) {
	real, err := separate(home, roots)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(place(home), 0o700); err != nil {
		return nil, fmt.Errorf("make a try: %w", err)
	}
	all, err := List(home)
	if err != nil {
		return nil, err
	}
	id := given(home) + 1
	if len(all) > 0 {
		id = max(id, all[len(all)-1].ID+1)
	}
	t := &Try{Meta: Meta{V: 1, Roots: real, Started: time.Now().UTC(), Request: request}}
	for { // another Kerf may make one at the same time
		t.ID, t.Dir = id, filepath.Join(place(home), strconv.Itoa(id))
		if err := give(home, id); err != nil {
			return nil, fmt.Errorf("make a try: %w", err)
		}
		err := os.Mkdir(t.Dir, 0o700)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make a try: %w", err)
		}
		id++
	}
	if err := t.fill(); err != nil {
		return nil, errors.Join(fmt.Errorf("make a try: %w", err), t.Remove())
	}
	return t, nil
}

// fill makes what is in the directory of a new try.
func (t *Try) fill() error {
	if err := t.Lock(); err != nil {
		return err
	}
	for i := range t.Meta.Roots {
		l := t.layer(i)
		for _, dir := range []string{l.Upper, l.Work} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		// The root of an overlay has the mode of the upper one.
		st, err := os.Stat(l.Lower)
		if err != nil {
			return err
		}
		if err := os.Chmod(l.Upper, st.Mode()&^fs.ModeType); err != nil {
			return err
		}
		t.Meta.Modes = append(t.Meta.Modes, uint32(st.Mode().Perm()))
	}
	if err := os.Mkdir(homes.All(t.Dir), 0o700); err != nil {
		return err
	}
	return t.describe()
}

// describe writes down what the try is about.
func (t *Try) describe() error {
	text, err := json.Marshal(metaFile{t.Meta, pathname.Paths(t.Meta.Roots)})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(t.Dir, "meta.json"), append(text, '\n'), 0o600)
}

// Copy copies the roots, which are shown in their place when something runs in the try. It
// must be new: nothing was written in it yet.
func (t *Try) Copy() (overlay.Copied, error) {
	var sum overlay.Copied
	for i := range t.Meta.Roots {
		c, err := t.layer(i).Copy()
		sum = overlay.Copied{Files: sum.Files + c.Files, Bytes: sum.Bytes + c.Bytes, Shared: sum.Shared + c.Shared,
			Left: sum.Left + c.Left}
		if err != nil {
			return sum, err
		}
	}
	t.Meta.Copied = true
	return sum, t.describe()
}

// Weigh is what a copy of the roots would take.
func (t *Try) Weigh() (overlay.Weight, error) {
	var sum overlay.Weight
	for i := range t.Meta.Roots {
		w, err := t.layer(i).Weigh()
		if err != nil {
			return sum, err
		}
		sum = overlay.Weight{Files: sum.Files + w.Files, Bytes: sum.Bytes + w.Bytes}
	}
	return sum, nil
}

// separate are the real paths of the roots without those inside of others. An overlay
// needs roots that have nothing mounted below them and that do not hold Kerf's home.
func separate(home string, roots []string) ([]string, error) {
	if err := os.MkdirAll(home, 0o700); err != nil { // the first thing that Kerf does here may be a try
		return nil, fmt.Errorf("make a try: %w", err)
	}
	realHome, err := filepath.EvalSymlinks(home)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, root := range roots {
		real, err := filepath.EvalSymlinks(root)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, real) {
			list = append(list, real)
		}
	}
	inOther := func(r string) bool {
		return slices.ContainsFunc(list, func(o string) bool { return o != r && pathname.Under(o, r) })
	}
	if len(list) > 0 && inOther(list[0]) {
		return nil, fmt.Errorf("%s is inside of another writable directory; start in that one", list[0])
	}
	list = slices.DeleteFunc(list, inOther)
	for _, root := range list {
		if pathname.Under(root, realHome) {
			return nil, fmt.Errorf("%s holds Kerf's home, %s; a try needs a directory below it", root, realHome)
		}
		for _, m := range mounts.Table() {
			if m.Path != root && pathname.Under(root, m.Path) {
				return nil, fmt.Errorf("%s is mounted inside of %s; a try would not see it", m.Path, root)
			}
		}
	}
	return list, nil
}

// List are all tries, oldest first. What is no whole try is left out.
func List(home string) ([]*Try, error) {
	names, err := os.ReadDir(place(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tries: %w", err)
	}
	var list []*Try
	for _, d := range names {
		if t, err := Get(home, d.Name()); err == nil {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *Try) int { return a.ID - b.ID })
	return list, nil
}

// Get is the try with a number.
func Get(home, number string) (*Try, error) {
	id, err := strconv.Atoi(number)
	if err != nil || id < 1 || strconv.Itoa(id) != number {
		return nil, ErrNone
	}
	t := &Try{ID: id, Dir: filepath.Join(place(home), number)}
	text, err := os.ReadFile(filepath.Join(t.Dir, "meta.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	var m metaFile
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	t.Meta = m.Meta
	for _, root := range m.Roots {
		t.Meta.Roots = append(t.Meta.Roots, string(root))
	}
	if err == nil && (t.Meta.V != 1 || len(t.Meta.Roots) == 0) {
		err = errors.New("made by another version of Kerf")
	}
	if err != nil {
		return nil, fmt.Errorf("try %s: %w", number, err)
	}
	return t, nil
}

// Here are the tries of a directory, or of one that it is in.
func Here(home, cwd string) ([]*Try, error) {
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return nil, err
	}
	all, err := List(home)
	return slices.DeleteFunc(all, func(t *Try) bool { return !pathname.Under(t.Meta.Roots[0], real) }), err
}

// Is reports whether dir is the working directory of the try.
func (t *Try) Is(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == t.Meta.Roots[0]
}

// Name is a path of a command line, from cwd, as the try names it.
func (t *Try) Name(cwd, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && path != filepath.Dir(path) {
		path = filepath.Join(real, filepath.Base(path))
	}
	return path
}

// Lock takes the try for this process, until Unlock or the end of the process. It wraps
// ErrRunning when another one has it.
func (t *Try) Lock() error {
	if t.lock != nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(t.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := lock(f); err != nil {
		return errors.Join(fmt.Errorf("try %d: %w", t.ID, ErrRunning), f.Close())
	}
	t.lock = f
	return nil
}

// Unlock gives it back.
func (t *Try) Unlock() {
	if t.lock != nil {
		_ = t.lock.Close()
		t.lock = nil
	}
}

// Running reports whether something runs in the try.
func (t *Try) Running() bool {
	if t.lock != nil {
		return false
	}
	err := t.Lock()
	t.Unlock()
	return errors.Is(err, ErrRunning)
}

// Remove throws the try away. It must be locked, or new. The description goes first: what
// is left when this is cut off is no try any more.
func (t *Try) Remove() error {
	if err := os.Remove(filepath.Join(t.Dir, "meta.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := removeAll(t.Dir)
	t.Unlock()
	return err
}

// removeAll removes directories also where their modes keep their owner out, as in the
// work directory of an overlay.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
			if err != nil { // it could not be read before
				_ = removeAll(path)
			}
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func (t *Try) layer(i int) overlay.Layer {
	dir := filepath.Join(t.Dir, strconv.Itoa(i))
	return overlay.Layer{Lower: t.Meta.Roots[i], Upper: filepath.Join(dir, "upper"), Work: filepath.Join(dir, "work"),
		Copied: t.Meta.Copied}
}

// Run runs a program in the try, see [overlay.Run]. Home is Kerf's.
func (t *Try) Run(ctx context.Context, home string, c Command) (int, error) {
	s, err := t.spec(home)
	if err != nil {
		return 0, err
	}
	s.Dir, s.Argv, s.Env = c.Dir, c.Argv, append(slices.Clone(c.Env), fmt.Sprintf("%s=%d", Env, t.ID))
	s.Shown = c.Kerf
	return overlay.Run(ctx, s, c.Stdin, c.Stdout, c.Stderr)
}

// Fresh reports whether nothing ran in the try yet.
func (t *Try) Fresh() bool {
	names, err := os.ReadDir(t.layer(0).Work)
	return err == nil && len(names) == 0 && !t.Meta.Copied
}

// Refused reports whether an error of Run says that there can be no overlay, while a copy
// could be shown.
func Refused(err error) bool { return errors.Is(err, overlay.ErrMount) }

// Command is a program with its streams.
type Command struct {
	Dir                   string
	Argv, Env             []string
	Stdin, Stdout, Stderr *os.File
	// Kerf says that the program is Kerf, which takes the layers that it is shown: see [Layers].
	Kerf bool
}

// Layer is an overlay that this process runs over.
type Layer = nested.Layer

// Layers takes the layers that this process runs over out of its environment. It is called
// once, before anything is started.
func Layers(env []string) ([]Layer, []string) {
	shown, env := overlay.Take(env)
	var list []Layer
	for _, s := range shown {
		list = append(list, Layer(s))
	}
	return list, env
}

// HoldFlag, as the only argument, makes the binary what holds a try; Hold is that.
const HoldFlag = overlay.Flag

// Hold mounts, and runs the program of the try, see [overlay.Hold].
func Hold() int { return overlay.Hold() }

// copies is where the copies of roots are.
var copies = pattern.Lazy(`/tries/\d+/\d+/upper$`)

// Inside reports whether this process sees dir through a try: one is mounted at it.
func Inside(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(mounts.Table(), func(m mounts.Point) bool {
		return m.Path == real && (overlay.Over(real) || copies().MatchString(m.Root))
	})
}

// spec is what has to be mounted for a program that runs in the try.
func (t *Try) spec(home string) (overlay.Spec, error) {
	var s overlay.Spec
	for i := range t.Meta.Roots {
		s.Layers = append(s.Layers, t.layer(i))
	}
	all := homes.All(home)
	if err := os.MkdirAll(all, 0o700); err != nil {
		return s, err
	}
	s.Binds = []overlay.Bind{{From: homes.All(t.Dir), To: all}}
	return s, nil
}

// Size is how many bytes of disk the try takes, about.
func (t *Try) Size() (n int64) {
	_ = filepath.WalkDir(t.Dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

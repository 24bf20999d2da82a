package cgroup

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// model is a kernel as cgroups(7) and the kernel's cgroup-v2.rst describe it: controllers
// come from above, a group with processes gives none to its children, and a group with
// processes or children stays.
type model struct {
	files    map[string]string // the others, such as /proc/self/cgroup
	groups   map[string]*modelGroup
	parents  map[int]int
	readOnly bool
	handed   bool // delegated
}

type modelGroup struct {
	have, give []string
	procs      []string
	set        map[string]string
	root       bool
}

const top = "/sys/fs/cgroup"

// newModel has one group with controllers, in which procs are. root says that it is the
// kernel's own, which may hold processes and give.
func newModel(root bool, controllers string, procs ...string) *model {
	g := &modelGroup{have: strings.Fields(controllers), procs: procs, set: map[string]string{}, root: root}
	m := &model{groups: map[string]*modelGroup{}, parents: map[int]int{100: 1, 101: 100, 102: 101, 50: 1}}
	m.files = map[string]string{"/proc/self/cgroup": "4:memory:/x\n0::/app/kerf.scope\n",
		"/proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n31 20 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw\n"}
	m.groups[top+"/app/kerf.scope"] = g
	return m
}

func (m *model) find() (*Parent, error) { return find(m, 100) }

func (m *model) read(name string) (string, error) {
	if text, ok := m.files[name]; ok {
		return text, nil
	}
	g := m.groups[path.Dir(name)]
	if g == nil {
		return "", fs.ErrNotExist
	}
	switch path.Base(name) {
	case "cgroup.controllers":
		return strings.Join(g.have, " ") + "\n", nil
	case "cgroup.subtree_control":
		return strings.Join(g.give, " ") + "\n", nil
	case "cgroup.procs":
		return strings.Join(g.procs, "\n"), nil
	case "cgroup.events":
		if len(g.procs) > 0 {
			return "populated 1\nfrozen 0\n", nil
		}
		return "populated 0\nfrozen 0\n", nil
	}
	if text, ok := g.set[path.Base(name)]; ok {
		return text, nil
	}
	return "", fs.ErrNotExist
}

func (m *model) write(name, text string) error {
	g := m.groups[path.Dir(name)]
	if g == nil {
		return fs.ErrNotExist
	}
	if m.readOnly {
		return syscall.EROFS
	}
	switch base := path.Base(name); base {
	case "cgroup.subtree_control":
		if len(g.procs) > 0 && !g.root {
			return syscall.EBUSY
		}
		g.give = append(g.give, strings.TrimPrefix(text, "+"))
	case "cgroup.procs":
		if len(g.give) > 0 {
			return syscall.EBUSY
		}
		for _, other := range m.groups {
			other.procs = slices.DeleteFunc(other.procs, func(p string) bool { return p == text })
		}
		g.procs = append(g.procs, text)
	case "cgroup.kill":
		g.procs = nil
	default:
		controller, _, _ := strings.Cut(base, ".")
		if !slices.Contains(g.have, controller) {
			return fs.ErrNotExist
		}
		g.set[base] = text
	}
	return nil
}

func (m *model) mkdir(name string) error {
	up := m.groups[path.Dir(name)]
	switch {
	case m.readOnly:
		return syscall.EROFS
	case up == nil:
		return fs.ErrNotExist
	case m.groups[name] != nil:
		return fs.ErrExist
	}
	m.groups[name] = &modelGroup{have: slices.Clone(up.give), set: map[string]string{}}
	return nil
}

func (m *model) rmdir(name string) error {
	g := m.groups[name]
	if g == nil {
		return fs.ErrNotExist
	}
	names, _ := m.list(name)
	if len(g.procs) > 0 || len(names) > 0 {
		return syscall.EBUSY
	}
	delete(m.groups, name)
	return nil
}

func (m *model) list(name string) (names []string, err error) {
	for other := range m.groups {
		if path.Dir(other) == name {
			names = append(names, path.Base(other))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (m *model) delegated(string) bool         { return m.handed }
func (m *model) open(string) (*os.File, error) { return os.Open(os.DevNull) }
func (m *model) parent(pid int) int            { return m.parents[pid] }

// below are the groups below Kerf's own.
func (m *model) below() []string {
	names, _ := m.list(top + "/app/kerf.scope")
	return names
}

const all = "cpuset cpu io memory pids"

// A delegated group in which only Kerf and its children are is divided: Kerf goes aside,
// and a command's group has its limits.
func TestADelegatedGroupIsDivided(t *testing.T) {
	m := newModel(false, all, "100", "101", "102")
	m.handed = true
	p, err := m.find()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Controllers(), " "); got != "memory pids cpu" {
		t.Errorf("controllers %q", got)
	}
	if got := m.below(); !slices.Equal(got, []string{"kerf-100"}) {
		t.Fatalf("groups %q", got)
	}
	if got := m.groups[top+"/app/kerf.scope/kerf-100"].procs; !slices.Equal(got, []string{"100", "101", "102"}) {
		t.Errorf("aside are %q", got)
	}
	g, err := p.Make(Limits{MemoryBytes: 1 << 30, Processes: 77})
	if err != nil {
		t.Fatal(err)
	}
	set := m.groups[g.dir].set
	for name, want := range map[string]string{"memory.max": "1073741824", "memory.oom.group": "1", "pids.max": "77", "cpu.weight": "50"} {
		if set[name] != want {
			t.Errorf("%s is %q, not %q", name, set[name], want)
		}
	}
	if memory, processes := g.Bounds(); memory || processes {
		t.Error("it bounds nobody yet")
	}
	m.groups[g.dir].procs = []string{"200"}
	if memory, processes := g.Bounds(); !memory || !processes {
		t.Error("it does not bound who is in it")
	}
	set["memory.events"] = "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\noom_group_kill 1\n"
	if !g.End() {
		t.Error("out of memory, and not told")
	}
	if got := m.below(); !slices.Equal(got, []string{"kerf-100"}) {
		t.Errorf("left %q", got)
	}
	if g.End() {
		t.Error("the second end tells again")
	}
}

// Where others are in the group, where nobody delegated it, where it is not writable, and
// where there is none, nothing is moved and nothing stays.
func TestWhatIsNotOursStays(t *testing.T) {
	cases := map[string]func() *model{
		"a stranger is there": func() *model { m := newModel(false, all, "100", "50"); m.handed = true; return m },
		"not delegated":       func() *model { return newModel(false, all, "100") },
		"read-only":           func() *model { m := newModel(true, all, "100"); m.readOnly = true; return m },
		"other controllers":   func() *model { return newModel(true, "hugetlb io", "100") },
		"no version 2": func() *model {
			m := newModel(true, all, "100")
			m.files["/proc/self/cgroup"] = "4:memory:/x\n"
			return m
		},
		"outside of the mount": func() *model {
			m := newModel(true, all, "100")
			m.files["/proc/self/cgroup"] = "0::/../x\n"
			return m
		},
		"mounted at another part": func() *model {
			m := newModel(true, all, "100")
			m.files["/proc/self/mountinfo"] = "30 20 0:26 /other /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
			return m
		},
	}
	for name, make := range cases {
		m := make()
		p, err := m.find()
		if !errors.Is(err, ErrNone) || p != nil {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if got := m.groups[top+"/app/kerf.scope"].procs; !slices.Contains(got, "100") || len(m.below()) != 0 {
			t.Errorf("%s: in the group are %q, below it %q", name, got, m.below())
		}
	}
}

// The root of the hierarchy may hold processes and divide: nobody is moved.
func TestTheRootIsDividedAsItIs(t *testing.T) {
	m := newModel(true, "pids", "1", "50", "100")
	p, err := m.find()
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Controllers(); !slices.Equal(got, []string{"pids"}) || len(m.below()) != 0 {
		t.Errorf("controllers %q, below %q", got, m.below())
	}
	g, err := p.Make(Limits{MemoryBytes: 1, Processes: 9})
	if err != nil {
		t.Fatal(err)
	}
	m.groups[g.dir].procs = []string{"200"}
	if memory, processes := g.Bounds(); memory || !processes {
		t.Error("memory is bounded without its controller, or processes are not")
	}
	if g.End() || len(m.below()) != 0 {
		t.Errorf("left %q", m.below())
	}
}

// A killed Kerf's empty groups are removed; those of a living one stay, and so does what
// somebody else made.
func TestWhatAKilledKerfLeft(t *testing.T) {
	m := newModel(true, all, "100")
	names := []string{"kerf-50-ab", "kerf-77", "kerf-77-cd", "kerf-78-ef", "other"}
	m.groups[top+"/app/kerf.scope"].give = []string{"pids"}
	for _, name := range names {
		if err := m.mkdir(top + "/app/kerf.scope/" + name); err != nil {
			t.Fatal(err)
		}
	}
	m.groups[top+"/app/kerf.scope/kerf-78-ef"].procs = []string{strconv.Itoa(300)}
	if _, err := m.find(); err != nil {
		t.Fatal(err)
	}
	if got := m.below(); !slices.Equal(got, []string{"kerf-50-ab", "kerf-78-ef", "other"}) {
		t.Errorf("left %q", got)
	}
}

// A limit that the kernel refuses is an error, and the group goes.
func TestALimitThatCannotBeSet(t *testing.T) {
	m := newModel(true, all, "100")
	p, err := m.find()
	if err != nil {
		t.Fatal(err)
	}
	m.groups[top+"/app/kerf.scope"].give = []string{"cpu", "pids"} // memory was taken away meanwhile
	if g, err := p.Make(Limits{MemoryBytes: 1}); err == nil || len(m.below()) != 0 {
		t.Errorf("%+v, %v, left %q", g, err, m.below())
	}
}

// TestTheGroupIsFoundByItsMount: the one of version 2, at whatever place a part of it is mounted.
func TestTheGroupIsFoundByItsMount(t *testing.T) {
	const rest = "/x rw - cgroup2 cgroup2 rw\n"
	for mountinfo, want := range map[string]string{
		"30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n":                                                             top + "/app/kerf.scope",
		"30 20 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw\n31 20 0:27 / /c rw,nosuid shared:9 - cgroup2 c rw,nsdelegate\n": "/c/app/kerf.scope",
		"30 20 0:26 /app /mnt rw - cgroup2 cgroup2 rw\n":                                                                    "/mnt/kerf.scope",
		"30 20 0:26 /app/kerf.scope /mnt rw - cgroup2 cgroup2 rw\n":                                                         "/mnt",
		"30 20 0:26 /ap /mnt rw - cgroup2 cgroup2 rw\n":                                                                     "",
		"30 20 0:26 /app/kerf /mnt rw - cgroup2 cgroup2 rw\n":                                                               "",
		`30 20 0:26 / /a\040b rw - cgroup2 cgroup2 rw` + "\n":                                                               "",
		`30 20 0:26 /app\134 /mnt rw - cgroup2 cgroup2 rw` + "\n":                                                           "",
		"30 20 0:26 /" + "\n":                    "",
		"30 20 0:26 - cgroup2 cgroup2 rw\n":      "",
		"30 20 0:26 / - cgroup2 cgroup2 rw\n":    "",
		"30 20 0:26 / /b - cgroup2 cgroup2 rw\n": "/b/app/kerf.scope",
		"half a line\n30 20 0:26 / " + rest:      "/x/app/kerf.scope",
		"30 20 0:26 / /a rw - cgroup2fs x rw\n":  "",
	} {
		m := newModel(true, all, "100")
		m.files["/proc/self/mountinfo"] = mountinfo
		got, err := own(m)
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, ErrNone) {
			t.Errorf("%q: %q, %v, want %q", mountinfo, got, err, want)
		}
	}
	for text, want := range map[string]string{"0::/\n": top, "0::/a\n": top + "/a", "1:name=x:/\n": "", "": "", "0::/..\n": "", "0::/../b\n": ""} {
		m := newModel(true, all, "100")
		m.files["/proc/self/cgroup"] = text
		if got, err := own(m); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// crowd is a model in which somebody new is in the group at each look, so many times.
type crowd struct {
	*model
	more int
	pid  string
}

func (c *crowd) read(name string) (string, error) {
	text, err := c.model.read(name)
	if path.Base(name) == "cgroup.procs" && path.Base(path.Dir(name)) == "kerf.scope" && c.more > 0 && text == "" {
		c.more--
		g := c.groups[path.Dir(name)]
		g.procs = append(g.procs, c.pid)
	}
	return text, err
}

func (c *crowd) write(name, text string) error {
	err := c.model.write(name, text)
	if path.Base(name) == "cgroup.procs" && c.more > 0 { // somebody is started meanwhile
		c.more--
		c.groups[top+"/app/kerf.scope"].procs = []string{c.pid}
	}
	return err
}

// TestWhoIsStartedMeanwhileGoesToo, and one that nobody can catch up with leaves all as it is.
func TestWhoIsStartedMeanwhileGoesToo(t *testing.T) {
	for more, want := range map[int]bool{0: true, 3: true, 100: false} {
		c := &crowd{newModel(false, all, "100"), more, "101"}
		c.handed = true
		_, err := find(c, 100)
		if (err == nil) != want {
			t.Errorf("%d are started meanwhile: %v", more, err)
		}
	}
	c := &crowd{newModel(false, all, "100"), 1, "50"} // a stranger comes
	c.handed = true
	if _, err := find(c, 100); !errors.Is(err, ErrNone) {
		t.Errorf("with a stranger: %v", err)
	}
	if got := c.groups[top+"/app/kerf.scope"].procs; !slices.Contains(got, "50") {
		t.Errorf("the stranger was moved: %q are there", got)
	}
}

// TestWhoseAProcessIs: this one's and its descendants', however many generations.
func TestWhoseAProcessIs(t *testing.T) {
	m := newModel(true, all)
	for pid := 1000; pid < 1100; pid++ {
		m.parents[pid] = pid - 1
	}
	m.parents[1000] = 102
	p := &Parent{disk: m, self: 100}
	for pid, want := range map[int]bool{100: true, 101: true, 102: true, 1000: true, 1050: true, 50: false, 1: false, 0: false, 9999: false, 1099: false} {
		if got := p.ours(pid); got != want {
			t.Errorf("%d: %v", pid, got)
		}
	}
}

// counted is a model that counts how often a group is to be removed.
type counted struct {
	*model
	removals int
}

func (c *counted) rmdir(name string) error {
	c.removals++
	return c.model.rmdir(name)
}

// TestWhoIsLeftIsKilled when a command ends, and a group that is gone is not waited for.
func TestWhoIsLeftIsKilled(t *testing.T) {
	m := newModel(true, all, "100")
	p, err := m.find()
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Make(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if memory, processes := g.Bounds(); memory || processes {
		t.Error("nothing bounds it")
	}
	m.groups[g.dir].procs = []string{"200", "201"}
	m.groups[g.dir].set["memory.max"], m.groups[g.dir].set["pids.max"] = "max\n", "max\n"
	if memory, processes := g.Bounds(); memory || processes {
		t.Error("what is not bounded is said to be")
	}
	m.groups[g.dir].set["memory.events"] = "oom 3\noom_kill 0\noom_group_kill 2\n"
	if g.File() == nil || g.End() || len(m.below()) != 0 || g.File() != nil {
		t.Errorf("left %q, %v", m.below(), g.File())
	}
	if set := m.groups[top+"/app/kerf.scope"].set; len(set) != 0 {
		t.Errorf("the parent was set: %v", set)
	}
	var none *Group
	if memory, processes := none.Bounds(); memory || processes || none.End() {
		t.Error("no group bounds somebody")
	}
	other, err := p.Make(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	delete(m.groups, other.dir) // another Kerf tidied
	c := &counted{model: m}
	other.disk = c
	if other.End() || c.removals != 1 {
		t.Errorf("it was to be removed %d times", c.removals)
	}
}

// written is a model that tells which files were written.
type written struct {
	*model
	names []string
}

func (w *written) write(name, text string) error {
	w.names = append(w.names, path.Base(name)+" "+text)
	return w.model.write(name, text)
}

// TestWhatChildrenHaveIsNotGivenAgain: a group that gives already is left as it is.
func TestWhatChildrenHaveIsNotGivenAgain(t *testing.T) {
	w := &written{model: newModel(false, all)}
	w.groups[top+"/app/kerf.scope"].give = []string{"memory", "pids"}
	p, err := find(w, 100)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Controllers(), " "); got != "memory pids cpu" {
		t.Errorf("controllers %q", got)
	}
	given := slices.DeleteFunc(w.names, func(name string) bool { return !strings.HasPrefix(name, "cgroup.subtree_control") })
	if !slices.Equal(given, []string{"cgroup.subtree_control +cpu"}) {
		t.Errorf("written %q", given)
	}
	// A path that the kernel wrote down with escapes is not the same letters elsewhere.
	m := newModel(true, all, "100")
	m.files["/proc/self/cgroup"] = `0::/app\134/kerf.scope` + "\n"
	m.files["/proc/self/mountinfo"] = `30 20 0:26 /app\134 /mnt rw - cgroup2 cgroup2 rw` + "\n"
	if got, err := own(m); err == nil {
		t.Errorf("found %q", got)
	}
}

// closed is a model in which nobody can be moved.
type closed struct {
	*model
	tries int
}

func (c *closed) write(name, text string) error {
	if path.Base(name) == "cgroup.procs" {
		c.tries++
		return syscall.EACCES
	}
	return c.model.write(name, text)
}

// TestNothingIsTriedInVain: who cannot be moved is not tried again, and without a group of its own Kerf looks at
// no files of the directory that it is started in.
func TestNothingIsTriedInVain(t *testing.T) {
	c := &closed{model: newModel(false, "memory", "100", "101")}
	c.handed = true
	if _, err := find(c, 100); !errors.Is(err, ErrNone) || c.tries != 1 {
		t.Errorf("%v, tried %d times", err, c.tries)
	}
	m := newModel(true, all, "100")
	delete(m.files, "/proc/self/cgroup")
	m.groups["."] = &modelGroup{have: wanted, give: wanted, set: map[string]string{}, root: true}
	if p, err := m.find(); !errors.Is(err, ErrNone) || p != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestWhyThereIsNone is told: what could not be read, or made.
func TestWhyThereIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*model)
		want  error
	}{
		"where Kerf is":    {func(m *model) { delete(m.files, "/proc/self/cgroup") }, fs.ErrNotExist},
		"no such group":    {func(m *model) { delete(m.groups, top+"/app/kerf.scope") }, fs.ErrNotExist},
		"no group is made": {func(m *model) { m.groups[top+"/app/kerf.scope"].give = wanted; m.readOnly = true }, syscall.EROFS},
	} {
		m := newModel(true, all, "100")
		c.spoil(m)
		if p, err := m.find(); p != nil || !errors.Is(err, ErrNone) || !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// slow is a model in which who is killed takes a while to go.
type slow struct {
	*model
	takes  time.Duration
	killed time.Time
	looks  int
}

func (s *slow) write(name, text string) error {
	if path.Base(name) == "cgroup.kill" && s.killed.IsZero() {
		s.killed = time.Now()
	}
	if path.Base(name) == "cgroup.kill" {
		return nil
	}
	return s.model.write(name, text)
}

func (s *slow) rmdir(name string) error {
	if s.looks++; s.looks > 10000 {
		panic("nobody waits")
	}
	if !s.killed.IsZero() && time.Since(s.killed) >= s.takes {
		s.groups[name].procs = nil
	}
	return s.model.rmdir(name)
}

// TestTheEndWaitsForThem who were killed, and not for ever.
func TestTheEndWaitsForThem(t *testing.T) {
	for takes, want := range map[time.Duration]time.Duration{20 * time.Millisecond: 20 * time.Millisecond, time.Hour: goneLimit} {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{model: newModel(true, all, "100"), takes: takes}
			p, err := find(s, 100)
			if err != nil {
				t.Fatal(err)
			}
			g, err := p.Make(Limits{})
			if err != nil {
				t.Fatal(err)
			}
			s.groups[g.dir].procs = []string{"200"}
			began := time.Now()
			g.End()
			if took := time.Since(began); took != want || (len(s.below()) == 0) != (takes < goneLimit) {
				t.Errorf("it takes %v, and they went after %v; left %q", took, takes, s.below())
			}
		})
	}
}

// TestAGroupHasTheLimitsThatWereAskedFor, where it has the controllers for them, and no others.
func TestAGroupHasTheLimitsThatWereAskedFor(t *testing.T) {
	for _, c := range []struct {
		controllers string
		limits      Limits
		want        map[string]string
	}{
		{all, Limits{}, map[string]string{"cpu.weight": "50"}},
		{all, Limits{Processes: 1}, map[string]string{"cpu.weight": "50", "pids.max": "1"}},
		{all, Limits{MemoryBytes: 1}, map[string]string{"cpu.weight": "50", "memory.max": "1", "memory.oom.group": "1"}},
		{"pids", Limits{MemoryBytes: 1, Processes: 2}, map[string]string{"pids.max": "2"}},
		{"pids", Limits{MemoryBytes: 1}, map[string]string{}},
		{"memory", Limits{MemoryBytes: 1, Processes: 2}, map[string]string{"memory.max": "1", "memory.oom.group": "1"}},
		{"memory", Limits{Processes: 2}, map[string]string{}},
	} {
		m := newModel(true, c.controllers, "100")
		p, err := m.find()
		if err != nil {
			t.Fatal(err)
		}
		g, err := p.Make(c.limits)
		if err != nil {
			t.Errorf("%s, %+v: %v", c.controllers, c.limits, err)
			continue
		}
		if got := m.groups[g.dir].set; !maps.Equal(got, c.want) {
			t.Errorf("%s, %+v: set is %v, want %v", c.controllers, c.limits, got, c.want)
		}
		g.End()
	}
}

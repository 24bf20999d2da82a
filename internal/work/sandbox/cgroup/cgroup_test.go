package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
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

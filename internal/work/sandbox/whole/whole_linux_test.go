package whole

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/cgroup"
)

// fake is a group that bounds what it is told to.
type fake struct {
	file              *os.File
	memory, processes bool
	outOfMemory       bool
	ended             int
}

func (f *fake) File() *os.File                   { return f.file }
func (f *fake) Bounds() (memory, processes bool) { return f.memory, f.processes }
func (f *fake) End() bool                        { f.ended++; return f.outOfMemory }

const (
	tooMuch = "the command took more than 3 MiB, so it was ended"
	tooMany = "the command had more than 1, so it was ended"
)

// TestWhatTheKernelDoesNotHoldIsLookedAfter: the memory, and for root the processes, each unless the group of the
// command bounds it.
func TestWhatTheKernelDoesNotHoldIsLookedAfter(t *testing.T) {
	root := os.Geteuid() == 0
	ask := func(yes bool, path, what string) []boundary.Finding {
		if !yes {
			return nil
		}
		return []boundary.Finding{{Path: path, What: what}}
	}
	both := boundary.Limits{MemoryBytes: 3 << 20, Processes: 1}
	for name, c := range map[string]struct {
		limits boundary.Limits
		group  group
		want   []boundary.Finding
	}{
		"no group":                    {both, (*cgroup.Group)(nil), ask(true, "memory", tooMuch)},
		"no group, processes alone":   {boundary.Limits{Processes: 1}, (*cgroup.Group)(nil), ask(root, "processes", tooMany)},
		"no group, no limits":         {boundary.Limits{FileBytes: 1}, (*cgroup.Group)(nil), nil},
		"one that bounds nothing":     {both, &fake{}, ask(true, "memory", tooMuch)},
		"one that bounds memory":      {both, &fake{memory: true}, ask(root, "processes", tooMany)},
		"one that bounds processes":   {boundary.Limits{MemoryBytes: 3 << 20, Processes: 1}, &fake{processes: true}, ask(true, "memory", tooMuch)},
		"processes within processes":  {boundary.Limits{Processes: 1}, &fake{processes: true}, nil},
		"one that bounds both":        {both, &fake{memory: true, processes: true}, nil},
		"one that ran out of memory":  {both, &fake{memory: true, processes: true, outOfMemory: true}, ask(true, "memory", tooMuch)},
		"which is told first of what": {both, &fake{memory: true, outOfMemory: true}, ask(true, "memory", tooMuch)},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Bound{limits: c.limits, group: c.group}
			killed := make(chan bool, 8)
			b.Started(os.Getpid(), func() { killed <- true })
			of, _ := c.group.(*fake)
			outOfMemory := of != nil && of.outOfMemory
			looked := c.want != nil && !outOfMemory || outOfMemory && root && !of.processes
			if (b.watch != nil) != looked {
				t.Fatalf("looked after: %v, want %v", b.watch != nil, looked)
			}
			if looked {
				<-killed
			}
			if got := b.End(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			if again := b.End(); again != nil || b.Cgroup() != nil {
				t.Errorf("told again: %v; its group is %v", again, b.Cgroup())
			}
			if of != nil && of.ended != 1 {
				t.Errorf("the group was ended %d times", of.ended)
			}
		})
	}
}

// TestACommandStartsInItsGroup, if there is one.
func TestACommandStartsInItsGroup(t *testing.T) {
	f := &fake{file: os.Stdin}
	if got := (&Bound{group: f}).Cgroup(); got != os.Stdin {
		t.Errorf("it starts in %v", got)
	}
	var none *Bound
	none.Started(os.Getpid(), func() { t.Error("nothing bounds it") })
	if none.Cgroup() != nil || none.End() != nil {
		t.Error("nothing bounds it")
	}
}

// TestThisMachinesWay is the one that commands are held to their limits by.
func TestThisMachinesWay(t *testing.T) {
	b := Prepare(boundary.Limits{MemoryBytes: 1 << 40, Processes: 1 << 20})
	defer b.End()
	parent, err := cgroup.Own()
	want := "cgroup of its own, with "
	if err != nil {
		want = "can make no cgroup: " + err.Error()
	} else {
		want += strings.Join(parent.Controllers(), ", ")
	}
	if got := Way(); !strings.HasSuffix(got, want) || (b.Cgroup() != nil) != (err == nil) {
		t.Errorf("%q, want %q; the group is %v", got, want, b.Cgroup())
	}
	b.Started(os.Getpid(), func() { t.Error("it is not too much") })
	if got := b.End(); got != nil {
		t.Error(got)
	}
}

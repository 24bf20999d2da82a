// Package cgroup bounds all processes of a command together: each command gets a cgroup
// (version 2) of its own, where Kerf may make one.
//
// Kerf may where its own cgroup is its to divide: the root of a machine without a service
// manager, or one that systemd delegated, as `systemd-run --user --scope -p Delegate=yes
// kerf` does. The kernel gives limits to the children of a cgroup only when it holds no
// processes itself, so Kerf first goes into a child of its own. It does that in a delegated
// cgroup in which nobody else is, and nowhere else.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits bound a command as a whole. Zero means no limit.
type Limits struct {
	// MemoryBytes is what its processes, and what they keep in memory files, may take
	// together. Swap is not counted.
	MemoryBytes uint64
	// Processes is how many processes and threads there may be at once.
	Processes uint64
}

// wanted are the controllers that are used where they can be had.
var wanted = []string{"memory", "pids", "cpu"}

// weight is the share of processor time that a command gets where others want some too.
// What has no group of its own has 100.
const weight = "50"

// prefix begins the names of the groups that Kerf makes.
const prefix = "kerf-"

// disk is how the kernel is asked, so that tests can be the kernel.
type disk interface {
	read(name string) (string, error)
	write(name, text string) error
	mkdir(name string) error
	rmdir(name string) error
	list(name string) ([]string, error) // directories in it
	delegated(name string) bool
	open(name string) (*os.File, error)
	parent(pid int) int // of a process; 0 if it is gone
}

// Parent is a cgroup below which commands get theirs. Its methods may be called by
// several goroutines.
type Parent struct {
	disk        disk
	dir         string
	self        int // this process
	controllers []string
}

// Controllers are the names of what can be bounded, such as memory, pids and cpu.
func (p *Parent) Controllers() []string { return slices.Clone(p.controllers) }

// ErrNone says that no cgroup can be made here.
var ErrNone = errors.New("no cgroup of version 2 is Kerf's to divide")

// find looks for a parent. self is the number of this process.
func find(d disk, self int) (*Parent, error) {
	dir, err := own(d)
	if err != nil {
		return nil, err
	}
	p := &Parent{disk: d, dir: dir, self: self}
	there, err := d.read(path.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	for _, c := range wanted {
		if !slices.Contains(strings.Fields(there), c) {
			continue
		}
		if err := p.enable(c); err == nil {
			p.controllers = append(p.controllers, c)
		}
	}
	if len(p.controllers) == 0 {
		return nil, ErrNone
	}
	// A group proves that the directory is ours to write.
	g, err := p.Make(Limits{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	g.End()
	p.tidy()
	return p, nil
}

// own is the directory of the cgroup of this process.
func own(d disk) (string, error) {
	mine, err := d.read("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNone, err)
	}
	place := ""
	for line := range strings.Lines(mine) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::/"); ok {
			place = "/" + rest
		}
	}
	mounts, err := d.read("/proc/self/mountinfo")
	if err != nil || place == "" || strings.HasPrefix(place, "/..") {
		return "", ErrNone
	}
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if !ok || len(f) < 5 || !strings.HasPrefix(after, "cgroup2 ") || strings.Contains(f[3]+f[4], `\`) {
			continue
		}
		if below, ok := strings.CutPrefix(place+"/", strings.TrimSuffix(f[3], "/")+"/"); ok {
			return path.Join(f[4], below), nil
		}
	}
	return "", ErrNone
}

// enable lets the children of the group have a controller.
func (p *Parent) enable(controller string) error {
	control := path.Join(p.dir, "cgroup.subtree_control")
	on, err := p.disk.read(control)
	if err != nil || slices.Contains(strings.Fields(on), controller) {
		return err
	}
	err = p.disk.write(control, "+"+controller)
	if !errors.Is(err, syscall.EBUSY) || !p.disk.delegated(p.dir) {
		return err
	}
	if err := p.vacate(); err != nil {
		return err
	}
	return p.disk.write(control, "+"+controller)
}

// vacate moves this process, and all it has started, to a child of the group, if nobody
// else is there.
func (p *Parent) vacate() error {
	const looks = 8 // who is started meanwhile needs another
	leaf := path.Join(p.dir, prefix+strconv.Itoa(p.self))
	for range looks {
		text, _ := p.disk.read(path.Join(p.dir, "cgroup.procs")) // of a threaded group it cannot be read
		pids := strings.Fields(text)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if n, err := strconv.Atoi(pid); err != nil || !p.ours(n) {
				return ErrNone
			}
		}
		if err := p.disk.mkdir(leaf); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		for _, pid := range pids {
			err := p.disk.write(path.Join(leaf, "cgroup.procs"), pid)
			if err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
	}
	return ErrNone
}

func (p *Parent) ours(pid int) bool {
	for range 64 {
		if pid == p.self {
			return true
		}
		pid = p.disk.parent(pid)
	}
	return false
}

// tidy removes what a Kerf that was killed left: groups in which nobody is.
func (p *Parent) tidy() {
	names, _ := p.disk.list(p.dir)
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, prefix)
		maker, _, _ := strings.Cut(rest, "-")
		// One that lives may be about to start a command there.
		if pid, err := strconv.Atoi(maker); ok && err == nil && p.disk.parent(pid) == 0 {
			_ = p.disk.rmdir(path.Join(p.dir, name)) // the kernel keeps those with processes
		}
	}
}

// Group is the cgroup of one command.
type Group struct {
	disk   disk
	dir    string
	limits Limits
	file   *os.File
}

// Make makes a group under limits. A limit that cannot be set is an error, if the group
// has the controller for it. End must be called.
func (p *Parent) Make(l Limits) (*Group, error) {
	g := &Group{disk: p.disk, limits: l}
	var err error
	g.dir = path.Join(p.dir, prefix+strconv.Itoa(p.self)+"-"+name())
	if err = p.disk.mkdir(g.dir); err != nil {
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	if err = g.set(p.controllers); err == nil {
		g.file, err = p.disk.open(g.dir)
	}
	if err != nil {
		_ = p.disk.rmdir(g.dir)
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	return g, nil
}

func (g *Group) set(controllers []string) error {
	for _, c := range controllers {
		var err error
		switch {
		case c == "cpu":
			err = g.write("cpu.weight", weight)
		case c == "pids" && g.limits.Processes > 0:
			err = g.write("pids.max", strconv.FormatUint(g.limits.Processes, 10))
		case c == "memory" && g.limits.MemoryBytes > 0:
			if err = g.write("memory.max", strconv.FormatUint(g.limits.MemoryBytes, 10)); err == nil {
				// All of the command goes, not one process of it. Linux has this since 4.19.
				_ = g.write("memory.oom.group", "1")
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *Group) write(name, text string) error { return g.disk.write(path.Join(g.dir, name), text) }

// File is the open directory, for a process to be started in it. It is closed by End. A nil
// Group has none.
func (g *Group) File() *os.File {
	if g == nil {
		return nil
	}
	return g.file
}

// Bounds tells which limits hold somebody now: those that the group has, if it is not
// empty. A nil Group holds nobody.
func (g *Group) Bounds() (memory, processes bool) {
	if g == nil || !g.populated() {
		return false, false
	}
	return g.has("memory.max"), g.has("pids.max")
}

func (g *Group) has(limit string) bool {
	most, err := g.disk.read(path.Join(g.dir, limit))
	return err == nil && strings.TrimSpace(most) != "max"
}

func (g *Group) populated() bool {
	events, _ := g.disk.read(path.Join(g.dir, "cgroup.events"))
	return strings.Contains(events, "populated 1")
}

// goneLimit bounds the wait for processes that do not end at once.
const goneLimit = 2 * time.Second

// End kills who is left in the group and removes it. It reports whether the kernel ended
// a process because there was no more memory for the group. A nil Group has no end.
func (g *Group) End() (outOfMemory bool) {
	if g == nil || g.file == nil {
		return false
	}
	g.file.Close()
	g.file = nil
	events, _ := g.disk.read(path.Join(g.dir, "memory.events")) // none without the controller
	for line := range strings.Lines(events) {
		n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill ")
		outOfMemory = outOfMemory || ok && n != "0"
	}
	for deadline := time.Now().Add(goneLimit); g.disk.rmdir(g.dir) != nil && time.Now().Before(deadline); {
		if _, err := g.disk.read(path.Join(g.dir, "cgroup.events")); errors.Is(err, fs.ErrNotExist) {
			break // another Kerf tidied
		}
		_ = g.write("cgroup.kill", "1") // since Linux 5.14
		time.Sleep(time.Millisecond)
	}
	return outOfMemory
}

package command

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"kerf/internal/agent/executor/outputlog"
	"kerf/internal/agent/tool"
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
)

// process is a command with its sandbox and where its output goes.
type process struct {
	spec          proc.Spec
	box           *sandbox.Box
	*proc.Process        // once it was started
	leader        int    // of one that was started ahead
	endNow        func() // ends that at once
	out           *outputlog.Log
	questions     *Questions

	mu      sync.Mutex // guards what follows
	refused []string   // what the network filter refused
	more    int
}

// maxRefused bounds what is told of refused requests.
const maxRefused = 5

// prepare makes the sandbox of a command. Where it can, it starts the launcher meanwhile, and
// the command with that.
func (r *Runner) prepare(ctx context.Context, a tool.Command, o RunOptions) (*process, error) {
	plan := r.o.Sandbox(o.Settings.Mode().Command(o.Unsandboxed))
	plan.Cwd = a.Dir
	p := &process{out: r.o.Outputs.New(), questions: o.Questions}
	plan.Ask = func(host string, port int) bool { return r.hosts.mayReach(a, o, host, port) }
	plan.Log = p.log
	if o.Watch != nil {
		plan.Witness = o.Watch.Socket()
	}
	argv, env := r.o.Shell.Command(a)
	p.spec = proc.Spec{Dir: a.Dir, Env: env, TTY: a.TTY, Stdin: a.TTY, Log: p.out, OnOutput: func(b []byte) {
		if o.Show != nil {
			o.Show(string(b))
		}
	}}
	ahead := r.ahead(ctx, plan, p)
	var err error
	if p.box, err = ahead.Prepare(ctx, plan, a.TTY, argv); err != nil {
		if ahead != nil {
			ahead.Close()
			p.Kill()
		}
		o.Questions.Close()
		return nil, err
	}
	if o.Watch != nil {
		o.Watch.Ignore(p.box.Placeholders())
		if p.box.OneRoot {
			o.Watch.OneRoot()
		}
	}
	if ahead != nil {
		p.box.Started(p.leader, p.endNow)
		return p, nil
	}
	p.spec.Argv, p.spec.ExtraFiles, p.spec.Cgroup, p.spec.Started = p.box.Argv, p.box.Files, p.box.Cgroup, p.box.Started
	p.spec.Confined, p.spec.Linger = p.box.Confined, !p.box.Confined
	return p, nil
}

// ahead starts the launcher of a command whose plan is not known yet. It is nil where it has to
// be started later.
func (r *Runner) ahead(ctx context.Context, policy boundary.Policy, p *process) *sandbox.Ahead {
	a := sandbox.Begin(ctx, policy)
	if a == nil {
		return nil
	}
	spec := p.spec
	spec.Argv, spec.ExtraFiles, spec.Cgroup, spec.Confined = a.Argv, a.Files, a.Cgroup, true
	spec.Started = func(leader int, kill func()) { p.leader, p.endNow = leader, kill }
	var err error
	if p.Process, err = r.table.Start(context.WithoutCancel(ctx), spec); err != nil {
		a.Close() // the other way tells why
		return nil
	}
	return a
}

// end gives up what the command needed, once it has ended, and returns what the
// model and the user have to know. It may be called again.
func (p *process) end() (notes []string) {
	p.questions.Close()
	found := p.box.Close()
	if path := p.box.Broken(); path != "" {
		notes = append(notes, fmt.Sprintf("The command was ended: %s, which is protected while commands run, was removed "+
			"or replaced from outside. Run it again.", path))
	}
	for _, f := range found {
		done := ""
		if f.Removed && !strings.Contains(f.What, " now ") {
			done = "; it was removed"
		}
		notes = append(notes, fmt.Sprintf("sandbox: %s: %s%s", f.Path, f.What, done))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.refused {
		notes = append(notes, "network filter: "+line)
	}
	if p.more > 0 {
		notes = append(notes, fmt.Sprintf("network filter: %d more requests were blocked", p.more))
	}
	return notes
}

func (p *process) log(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) < maxRefused {
		p.refused = append(p.refused, line)
	} else {
		p.more++
	}
}

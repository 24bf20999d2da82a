package habits

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/habits/timetable"
	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/atomicfile"
	"kerf/internal/config"
	"kerf/internal/text/visible"
)

const scheduleAbout = `Runs a request again and again without a window: it writes a timer of systemd, or a line of your
crontab, that starts kerf exec in this directory. It shows what it would write, and writes nothing
without your yes.

  kerf schedule add deps --at 07:30 --days mon-fri -s workspace-write "update the dependencies"
  kerf schedule add ci --every 30m --with cron "look whether CI is red, and say why"
  kerf schedule list
  kerf schedule remove deps

A timer does not get the variables of your shell: keep keys with kerf login. What a run said is in
kerf sessions list.`

func scheduleCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "schedule", Short: "Run requests at set times", Long: scheduleAbout, Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(scheduleAdd(p), scheduleList(p), scheduleRemove(p))
	return cmd
}

// passed are flags that the run is started with.
var passed = []struct{ name, short, value, help string }{
	{"sandbox", "s", "mode", "what commands may do: read-only, workspace-write or danger-full-access (`mode`)"},
	{"model", "m", "model", "the `model` to ask"},
	{"goal", "", "text", "what has to be reached (`text`)"},
	{"check", "", "command", "the shell `command` that decides whether the goal is reached"},
	{"max-turns", "", "n", "end a run after `n` model requests"},
	{"timeout", "", "time", "end a run after this `time`, such as 10m"},
}

func scheduleAdd(p *program.Program) *cobra.Command {
	var t timetable.Task
	var days, with string
	var yes bool
	cmd := &cobra.Command{Use: "add NAME PROMPT", Short: "Set up a request", Args: program.Between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if t.Dir, err = p.Cwd(); err != nil {
				return err
			}
			if days != "" {
				if t.When.Days, err = timetable.Days(days); err != nil {
					return program.Misuse("--days: %v", err)
				}
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			t.Name, t.Argv = args[0], []string{self, "exec"}
			for _, f := range passed {
				if v := cmd.Flags().Lookup(f.name).Value.String(); v != "" {
					t.Argv = append(t.Argv, "--"+f.name+"="+v)
				}
			}
			t.Argv = append(t.Argv, "--", args[1])
			if p.Getenv("KERF_HOME") != "" {
				home, err := config.HomeDir(p.Getenv)
				if err != nil {
					return err
				}
				t.Env = append(t.Env, "KERF_HOME="+home)
			}
			if err := t.Check(); err != nil {
				return program.Misuse("%v", err)
			}
			clock, err := clockOf(p, with)
			if err != nil {
				return err
			}
			return setUp(cmd.Context(), p, clock, t, yes)
		}}
	f := cmd.Flags()
	f.DurationVar(&t.When.Every, "every", 0, "how often: a `time` such as 30m or 12h")
	f.StringVar(&t.When.At, "at", "", "at which `time` of the day, such as 07:30")
	f.StringVar(&days, "days", "", "on which `days`, such as mon-fri; all, if not given")
	f.StringVar(&with, "with", "", "systemd or cron (`program`); what there is, if not given")
	f.BoolVar(&yes, "yes", false, "write it without asking")
	for _, x := range passed {
		f.StringP(x.name, x.short, "", x.help)
	}
	return cmd
}

// clock is a program that starts others at set times.
type clock interface {
	// shown is what add would write, in words.
	shown(t timetable.Task) (string, error)
	add(ctx context.Context, t timetable.Task) error
	// remove reports whether there was such a task.
	remove(ctx context.Context, name string) (bool, error)
	list(ctx context.Context) ([]timetable.Entry, error)
}

// clockOf is the clock of a name, or the one that there is.
func clockOf(p *program.Program, name string) (clock, error) {
	units, err := unitsOf(p)
	if err != nil {
		return nil, err
	}
	_, systemd := exec.LookPath("systemctl")
	_, cron := exec.LookPath("crontab")
	switch {
	case name == "systemd" || name == "" && systemd == nil:
		return units, nil
	case name == "cron" || name == "" && cron == nil:
		return crontab{}, nil
	case name == "":
		return nil, errors.New("there is neither systemctl nor crontab here; --with systemd shows the units")
	}
	return nil, program.Misuse("--with %q: use systemd or cron", name)
}

func setUp(ctx context.Context, p *program.Program, c clock, t timetable.Task, yes bool) error {
	text, err := c.shown(t)
	if err != nil {
		return err
	}
	list, err := c.list(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(p.Stdout, visible.String(text))
	if slices.ContainsFunc(list, func(e timetable.Entry) bool { return e.Name == t.Name }) {
		fmt.Fprintf(p.Stdout, "\nthis takes the place of the %s that there is\n", t.Name)
	}
	if !yes {
		if !p.OnTerminal() {
			fmt.Fprintln(p.Stdout, "\nnothing was written; add --yes to write it")
			return nil
		}
		if !p.Agrees(p.Stdout, "\nWrite it?") {
			fmt.Fprintln(p.Stdout, "nothing was written")
			return nil
		}
	}
	if err := c.add(ctx, t); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "\nset up; kerf schedule remove %s takes it away\n", t.Name)
	return nil
}

// both are the clocks that may have tasks.
func both(p *program.Program) ([]clock, error) {
	units, err := unitsOf(p)
	if err != nil {
		return nil, err
	}
	list := []clock{units}
	if _, err := exec.LookPath("crontab"); err == nil {
		list = append(list, crontab{})
	}
	return list, nil
}

// Scheduled are the requests that are set up.
func Scheduled(ctx context.Context, p *program.Program) ([]timetable.Entry, error) {
	clocks, err := both(p)
	if err != nil {
		return nil, err
	}
	all := []timetable.Entry{}
	for _, c := range clocks {
		list, err := c.list(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

func scheduleList(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List the requests that are set up", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := Scheduled(cmd.Context(), p)
			if err != nil {
				return err
			}
			if asJSON {
				return print.JSON(p.Stdout, all)
			}
			if len(all) == 0 {
				fmt.Fprintln(p.Stdout, "nothing is set up")
			}
			for _, e := range all {
				fmt.Fprintf(p.Stdout, "%-16s %-20s %s\n%-16s %s\n", visible.Plain(e.Name), visible.Plain(e.When),
					visible.Plain(e.Command), "", visible.Plain(e.Where))
			}
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func scheduleRemove(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "remove NAME", Short: "Take a request away", Args: program.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			clocks, err := both(p)
			if err != nil {
				return err
			}
			removed := false
			for _, c := range clocks {
				was, err := c.remove(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				removed = removed || was
			}
			if !removed {
				return fmt.Errorf("nothing is set up under the name %q; kerf schedule list shows what is", args[0])
			}
			fmt.Fprintf(p.Stdout, "removed %s\n", args[0])
			return nil
		}}
}

// units are those of systemd in the user's home.
type units struct{ dir string }

func unitsOf(p *program.Program) (units, error) {
	dir := p.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := p.Getenv("HOME")
		if !filepath.IsAbs(home) {
			return units{}, errors.New("HOME names no directory")
		}
		dir = filepath.Join(home, ".config")
	}
	return units{filepath.Join(dir, "systemd", "user")}, nil
}

func (u units) file(name, kind string) string { return filepath.Join(u.dir, "kerf-"+name+"."+kind) }

func (u units) shown(t timetable.Task) (string, error) {
	return fmt.Sprintf("%s\n\n%s\n%s\n\n%s\nthen: systemctl --user enable --now %s.timer\n", u.file(t.Name, "service"),
		t.Service(), u.file(t.Name, "timer"), t.Timer(), t.Unit()), nil
}

func (u units) add(ctx context.Context, t timetable.Task) error {
	for _, x := range []struct{ kind, text string }{{"service", t.Service()}, {"timer", t.Timer()}} {
		path := u.file(t.Name, x.kind)
		if old, err := os.ReadFile(path); err == nil && !strings.HasPrefix(string(old), timetable.Mark+t.Name+"\n") {
			return fmt.Errorf("%s is there and was not written by kerf schedule; choose another name", path)
		}
		if err := os.MkdirAll(u.dir, 0o755); err != nil {
			return err
		}
		if err := atomicfile.Write(path, []byte(x.text), 0o644); err != nil {
			return err
		}
	}
	if err := run(ctx, nil, "systemctl", "--user", "daemon-reload"); err != nil {
		return fmt.Errorf("the units are written; %w", err)
	}
	return run(ctx, nil, "systemctl", "--user", "enable", "--now", t.Unit()+".timer")
}

func (u units) remove(ctx context.Context, name string) (bool, error) {
	list, err := u.list(ctx)
	if err != nil || !slices.ContainsFunc(list, func(e timetable.Entry) bool { return e.Name == name }) {
		return false, err
	}
	stopped := run(ctx, nil, "systemctl", "--user", "disable", "--now", "kerf-"+name+".timer")
	for _, kind := range []string{"timer", "service"} {
		if err := os.Remove(u.file(name, kind)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	if stopped != nil {
		return true, fmt.Errorf("the units are removed; %w", stopped)
	}
	return true, run(ctx, nil, "systemctl", "--user", "daemon-reload")
}

func (u units) list(context.Context) (list []timetable.Entry, err error) {
	entries, err := os.ReadDir(u.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".timer")
		if !ok || !strings.HasPrefix(name, "kerf-") || !e.Type().IsRegular() {
			continue
		}
		file := filepath.Join(u.dir, e.Name())
		timer, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		service, _ := os.ReadFile(filepath.Join(u.dir, name+".service")) // without it the command is unknown
		if x, ok := timetable.InUnits(filepath.ToSlash(file), string(timer), string(service)); ok {
			list = append(list, x)
		}
	}
	return list, err
}

// crontab is the user's.
type crontab struct{}

func (crontab) shown(t timetable.Task) (string, error) {
	line, err := t.Line()
	return "in your crontab:\n\n" + line, err
}

func (c crontab) add(ctx context.Context, t timetable.Task) error {
	line, err := t.Line()
	if err != nil {
		return err
	}
	text, err := c.read(ctx)
	if err != nil {
		return err
	}
	text, _ = timetable.Without(text, t.Name)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return run(ctx, strings.NewReader(text+line), "crontab", "-")
}

func (c crontab) remove(ctx context.Context, name string) (bool, error) {
	text, err := c.read(ctx)
	if err != nil {
		return false, err
	}
	text, found := timetable.Without(text, name)
	if !found {
		return false, nil
	}
	return true, run(ctx, strings.NewReader(text), "crontab", "-")
}

func (c crontab) list(ctx context.Context) ([]timetable.Entry, error) {
	text, err := c.read(ctx)
	return timetable.InCrontab(text), err
}

// read reads the crontab; a user without one has an empty one.
func (crontab) read(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "crontab", "-l")
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && !strings.Contains(errs.String(), "no crontab") {
		return "", fmt.Errorf("crontab -l: %w: %s", err, strings.TrimSpace(visible.Plain(errs.String())))
	}
	return out.String(), nil
}

// run runs a program of the system.
func run(ctx context.Context, stdin *strings.Reader, argv ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, visible.OneLine(strings.TrimSpace(string(out)), 300))
	}
	return nil
}

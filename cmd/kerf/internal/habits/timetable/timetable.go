// Package timetable writes down when a command shall run, as units of systemd and as lines of
// a crontab.
package timetable

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"kerf/internal/text/pattern"
)

// Task is a command with its times.
type Task struct {
	Name string
	Dir  string   // in which it runs
	Argv []string // the first is absolute
	Env  []string // NAME=value
	When When
}

// When says when: every so often, or at a time of the day, on some days or on all.
type When struct {
	Every time.Duration
	At    string // HH:MM
	Days  []string
}

// Mark begins the line that tells Kerf's own units and crontab lines from others.
const Mark = "# kerf schedule "

// names are names of tasks.
var names = pattern.Lazy(`^[a-z0-9][a-z0-9-]{0,39}$`)

// days are the days of a week as both know them.
var days = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// Days are the days in a list such as "mon,wed" or "mon-fri".
func Days(list string) (all []string, err error) {
	for word := range strings.SplitSeq(strings.ToLower(list), ",") {
		from, to, span := strings.Cut(strings.TrimSpace(word), "-")
		i, j := slices.Index(days, from), slices.Index(days, from)
		if span {
			j = slices.Index(days, to)
		}
		if i < 0 || j < i {
			return nil, fmt.Errorf("%q is no day: use mon, tue, wed, thu, fri, sat and sun, such as mon,wed or mon-fri", word)
		}
		all = append(all, days[i:j+1]...)
	}
	return all, nil
}

// Check says what is wrong with a task.
func (t Task) Check() error {
	switch {
	case !names().MatchString(t.Name):
		return fmt.Errorf("%q is no name: use up to 40 lower-case letters, digits and -", t.Name)
	case (t.When.Every == 0) == (t.When.At == ""):
		return fmt.Errorf("when? give --every TIME, such as 30m or 12h, or --at HH:MM")
	case t.When.Every != 0 && len(t.When.Days) > 0:
		return fmt.Errorf("--days goes with --at")
	case t.When.Every != 0 && (t.When.Every < time.Minute || t.When.Every%time.Minute != 0):
		return fmt.Errorf("--every %s: give whole minutes, 1m or more", t.When.Every)
	}
	if t.When.At != "" {
		if _, err := time.Parse("15:04", t.When.At); err != nil {
			return fmt.Errorf("--at %s: give a time such as 07:30", t.When.At)
		}
	}
	if slices.ContainsFunc(slices.Concat(t.Argv, t.Env, []string{t.Dir}), func(s string) bool {
		return strings.ContainsAny(s, "\n\r\x00")
	}) {
		return fmt.Errorf("the request has more than one line; write it into a file or a command of yours, and name that")
	}
	return nil
}

// Unit is the name of the task's units.
func (t Task) Unit() string { return "kerf-" + t.Name }

// Service is the unit that runs the task once.
func (t Task) Service() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n[Unit]\nDescription=Kerf: %[2]s\n\n[Service]\nType=oneshot\nWorkingDirectory=%s\n", Mark,
		t.Name, strings.ReplaceAll(t.Dir, "%", "%%"))
	for _, v := range t.Env {
		fmt.Fprintf(&b, "Environment=%s\n", unitWord(v, false))
	}
	words := make([]string, len(t.Argv))
	for i, w := range t.Argv {
		words[i] = unitWord(w, true)
	}
	fmt.Fprintf(&b, "ExecStart=%s\n", strings.Join(words, " "))
	return b.String()
}

// Timer is the unit that says when.
func (t Task) Timer() string {
	when := fmt.Sprintf("OnBootSec=%s\nOnUnitActiveSec=%[1]s", minutes(t.When.Every))
	if t.When.At != "" {
		day := strings.TrimSpace(strings.Join(t.When.Days, ",") + " " + t.When.At)
		when = "OnCalendar=" + day + ":00\nPersistent=true"
	}
	return fmt.Sprintf("%s%s\n[Unit]\nDescription=Kerf: %[2]s\n\n[Timer]\n%s\n\n[Install]\nWantedBy=timers.target\n", Mark,
		t.Name, when)
}

func minutes(d time.Duration) string { return strconv.Itoa(int(d.Minutes())) + "min" }

// unitWord is a word as systemd reads it. Of a command line $ stands for variables.
func unitWord(s string, command bool) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "\t", `\t`).Replace(s)
	if command {
		s = strings.ReplaceAll(s, "$", "$$")
	}
	return `"` + s + `"`
}

// Line are the two lines of a crontab, or an error: cron knows few times.
func (t Task) Line() (string, error) {
	when, err := t.When.cron()
	if err != nil {
		return "", err
	}
	words := append([]string{"cd", t.Dir, "&&"}, t.Env...)
	words = append(words, t.Argv...)
	for i, w := range words {
		if w == "&&" || i == 0 {
			continue
		}
		if name, value, ok := strings.Cut(w, "="); ok && slices.Contains(t.Env, w) {
			words[i] = name + "=" + shellWord(value)
			continue
		}
		words[i] = shellWord(w)
	}
	return Mark + t.Name + "\n" + when + " " + strings.ReplaceAll(strings.Join(words, " "), "%", `\%`) + "\n", nil
}

func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (w When) cron() (string, error) {
	if w.At != "" {
		at, err := time.Parse("15:04", w.At)
		if err != nil {
			return "", err
		}
		day := "*"
		if len(w.Days) > 0 {
			day = strings.Join(w.Days, ",")
		}
		return fmt.Sprintf("%d %d * * %s", at.Minute(), at.Hour(), day), nil
	}
	switch m := int(w.Every.Minutes()); {
	case m < 60 && 60%m == 0:
		return fmt.Sprintf("*/%d * * * *", m), nil
	case m%60 == 0 && m < 24*60 && 24%(m/60) == 0:
		return fmt.Sprintf("0 */%d * * *", m/60), nil
	case m == 24*60:
		return "0 0 * * *", nil
	}
	return "", fmt.Errorf("cron cannot do something every %s: use a part of an hour or of a day, such as 15m or 6h",
		w.Every)
}

// Without is a crontab without the lines of a task, and whether they were there.
func Without(crontab, name string) (string, bool) {
	var kept []string
	lines := strings.SplitAfter(crontab, "\n")
	found := false
	for i := 0; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == Mark+name {
			found = true
			i++ // and the line below it
			continue
		}
		kept = append(kept, lines[i])
	}
	return strings.Join(kept, ""), found
}

// Entry is a task that is set up.
type Entry struct{ Name, Where, When, Command string }

// InCrontab are the tasks in a crontab.
func InCrontab(crontab string) (list []Entry) {
	lines := strings.Split(crontab, "\n")
	for i, l := range lines {
		name, ok := strings.CutPrefix(strings.TrimSpace(l), strings.TrimSpace(Mark)+" ")
		if !ok || i+1 == len(lines) {
			continue
		}
		fields := strings.SplitN(lines[i+1], " ", 6)
		if len(fields) == 6 {
			list = append(list, Entry{name, "crontab", strings.Join(fields[:5], " "), fields[5]})
		}
	}
	return list
}

// InUnits is the task of two units, if they are Kerf's.
func InUnits(file, timer, service string) (Entry, bool) {
	e := Entry{Name: strings.TrimSuffix(strings.TrimPrefix(path.Base(file), "kerf-"), ".timer"), Where: file}
	if !strings.HasPrefix(timer, Mark+e.Name+"\n") {
		return e, false
	}
	for l := range strings.SplitSeq(timer, "\n") {
		for _, key := range []string{"OnCalendar=", "OnUnitActiveSec="} {
			if v, ok := strings.CutPrefix(l, key); ok {
				e.When = strings.TrimPrefix(key, "On") + v
			}
		}
	}
	e.When = strings.NewReplacer("Calendar=", "", "UnitActiveSec=", "every ").Replace(e.When)
	for l := range strings.SplitSeq(service, "\n") {
		if v, ok := strings.CutPrefix(l, "ExecStart="); ok {
			e.Command = v
		}
	}
	return e, true
}

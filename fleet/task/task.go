// Package task holds the words of the fleet: what is asked for, how it stands, and what
// came of it. Values cross the engine as JSON. The package is pure.
package task

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Task is one piece of work on one revision of one repository.
type Task struct {
	ID string `json:"id"`
	// Repository is a URL that git can clone, or an absolute path on the workers.
	Repository string `json:"repository"`
	// Revision is a commit, a tag or a branch; empty means the default branch.
	Revision string `json:"revision,omitempty"`
	Prompt   string `json:"prompt"`
	// Scenario is the hash of a scenario in the store: the task is played by a scripted
	// model instead of a real one.
	Scenario string   `json:"scenario,omitempty"`
	Settings Settings `json:"settings"`
	// Checks are commands that must end with 0 on the final tree. They run in the sandbox.
	Checks []string `json:"checks,omitempty"`
	// Attempts is how often the model may work until the checks pass; at least 1.
	Attempts int `json:"attempts,omitempty"`
	// Priority is 1 (first) to 5; 0 means 3.
	Priority int `json:"priority,omitempty"`
	// Needs are tags that a worker must have.
	Needs  []string `json:"needs,omitempty"`
	Limits Limits   `json:"limits"`
	// Map is the id of the map that the task belongs to.
	Map string `json:"map,omitempty"`
}

// Settings are those of the session. A task cannot choose a provider: keys belong to workers.
type Settings struct {
	Model    string `json:"model,omitempty"`
	Effort   string `json:"effort,omitempty"`
	Sandbox  string `json:"sandbox,omitempty"`         // read-only or workspace-write, the default
	Approval string `json:"approval_policy,omitempty"` // untrusted, on-request (the default) or never
}

// Limits bound a task. Zero values mean the defaults.
type Limits struct {
	Time   time.Duration `json:"time,omitempty"`   // of one run; default an hour
	Answer time.Duration `json:"answer,omitempty"` // until a question counts as refused; default an hour
	Tokens int           `json:"tokens,omitempty"` // of all runs; default no bound
	Places int           `json:"places,omitempty"` // how many workers may take it up; default 20
}

// The defaults.
const (
	DefaultTime   = time.Hour
	DefaultPlaces = 20
	maxNeeds      = 4
	maxPrompt     = 256 << 10 // bytes; the engine bounds a payload at 2 MB
	maxChecks     = 32
)

var (
	idForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,119}$`)
	tagForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_.=-]{0,39}$`)
	urlForm = regexp.MustCompile(`^(https?|ssh|git|file)://[^\s]+$|^[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:[^\s]+$`)
)

// Check fills in the defaults and says what is wrong.
func (t *Task) Check() error {
	t.defaults()
	switch {
	case !idForm.MatchString(t.ID):
		return fmt.Errorf("task id %q: use 1 to 120 letters, digits and ._:- beginning with a letter or digit", t.ID)
	case !utf8.ValidString(t.Repository + t.Revision + t.Prompt + strings.Join(t.Checks, "")):
		return errors.New("repository, revision, prompt and checks of a task must be UTF-8")
	case t.Repository == "":
		return errors.New("a task needs a repository: --repo URL or PATH")
	case !path.IsAbs(t.Repository) && !urlForm.MatchString(t.Repository):
		return fmt.Errorf("repository %q: give a URL (https, ssh, git, file), user@host:path, or an absolute path", t.Repository)
	case strings.HasPrefix(t.Revision, "-") || strings.ContainsAny(t.Revision, " \t\n\x00:^~?*[\\"):
		return fmt.Errorf("revision %q: give a commit, a tag or a branch", t.Revision)
	case strings.TrimSpace(t.Prompt) == "":
		return errors.New("a task needs a prompt")
	case len(t.Prompt) > maxPrompt:
		return fmt.Errorf("the prompt has %d bytes; the limit is %d", len(t.Prompt), maxPrompt)
	case t.Priority < 1 || t.Priority > 5:
		return fmt.Errorf("priority %d: use 1 (first) to 5", t.Priority)
	case t.Attempts < 1 || t.Attempts > 20:
		return fmt.Errorf("attempts %d: use 1 to 20", t.Attempts)
	case len(t.Checks) > maxChecks:
		return fmt.Errorf("%d checks; the limit is %d", len(t.Checks), maxChecks)
	case t.Limits.Time < 0 || t.Limits.Answer < 0 || t.Limits.Tokens < 0 || t.Limits.Places < 1:
		return errors.New("limits must not be negative")
	}
	return errors.Join(t.Settings.check(), checkNeeds(t.Needs))
}

func (t *Task) defaults() {
	if t.Priority == 0 {
		t.Priority = 3
	}
	if t.Attempts == 0 {
		t.Attempts = 1
	}
	if t.Limits.Time == 0 {
		t.Limits.Time = DefaultTime
	}
	if t.Limits.Answer == 0 {
		t.Limits.Answer = time.Hour
	}
	if t.Limits.Places == 0 {
		t.Limits.Places = DefaultPlaces
	}
	if t.Settings.Sandbox == "" {
		t.Settings.Sandbox = "workspace-write"
	}
	if t.Settings.Approval == "" {
		t.Settings.Approval = "on-request"
	}
}

func (s Settings) check() error {
	if !slices.Contains([]string{"read-only", "workspace-write"}, s.Sandbox) {
		return fmt.Errorf("sandbox %q: use read-only or workspace-write; workers run nothing without a sandbox", s.Sandbox)
	}
	if !slices.Contains([]string{"untrusted", "on-request", "never"}, s.Approval) {
		return fmt.Errorf("approval policy %q: use untrusted, on-request or never", s.Approval)
	}
	return nil
}

func checkNeeds(needs []string) error {
	if len(needs) > maxNeeds {
		return fmt.Errorf("%d tags needed; the limit is %d", len(needs), maxNeeds)
	}
	return CheckTags(needs)
}

// CheckTags says which tag cannot be one.
func CheckTags(tags []string) error {
	for _, tag := range tags {
		if !tagForm.MatchString(tag) {
			return fmt.Errorf("tag %q: use 1 to 40 of a-z, 0-9 and ._=-", tag)
		}
	}
	return nil
}

// Queue is where tasks wait that need these tags.
func Queue(needs []string) string {
	if len(needs) == 0 {
		return "kerf"
	}
	sorted := slices.Clone(needs)
	slices.Sort(sorted)
	return "kerf+" + strings.Join(slices.Compact(sorted), "+")
}

// Queues are those that a worker with these tags takes tasks from: one for each set of at
// most four of its tags.
func Queues(tags []string) []string {
	sorted := slices.Clone(tags)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	sets := [][]string{nil}
	for _, tag := range sorted {
		for _, set := range sets[:len(sets):len(sets)] {
			if len(set) < maxNeeds {
				sets = append(sets, append(slices.Clone(set), tag))
			}
		}
	}
	queues := make([]string, len(sets))
	for i, set := range sets {
		queues[i] = Queue(set)
	}
	return queues
}

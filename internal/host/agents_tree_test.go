package host

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/testkit/race"
)

// actor is the model of one sub-agent that edits shared files. In each step it makes
// one call; every edit puts in a line that nobody else writes.
type actor struct {
	name string
	rng  *rand.Rand
	turn chan bool         // whether it goes on
	idle chan bool         // told before it waits for its turn
	told map[string]string // what it believes files to hold
	open struct{ file, token string }

	mu       sync.Mutex
	kept     map[string]string // tokens that were committed, by file
	refused  int
	merged   int
	finished int
}

var lineNumber = regexp.MustCompile(`(?m)^\d+\t`)

// heard takes in what the last call came to.
func (a *actor) heard(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finished++
	file, token := a.open.file, a.open.token
	switch {
	case token == "":
		body, _, _ := strings.Cut(text, "\nversionInfo")
		a.told[file] = strings.TrimRight(lineNumber.ReplaceAllString(body, ""), "\n") + "\n"
	case refusedText(text):
		a.refused++
		delete(a.told, file) // it reads again
	default:
		a.kept[token] = file
		if strings.Contains(text, "merged") {
			a.merged++
		}
		delete(a.told, file)
	}
}

func refusedText(text string) bool {
	code, _, ok := strings.Cut(text, ": ")
	return ok && code == strings.ToUpper(code) && !strings.ContainsAny(code, " \n")
}

// next is the call of a step.
func (a *actor) next(step int) []*model.Item {
	file := fmt.Sprintf("f%d.txt", a.rng.IntN(3))
	known, read := a.told[file]
	if !read {
		a.open.file, a.open.token = file, ""
		return callsOf([2]string{"read_file", fmt.Sprintf(`{"file_path": %q, "limit": 5000}`, file)})
	}
	token := fmt.Sprintf("%s-%d", a.name, step)
	a.open.file, a.open.token = file, token
	lines := strings.SplitAfter(known, "\n")
	at := a.rng.IntN(len(lines))
	if a.rng.IntN(2) == 0 { // the whole file, as it was when it was read
		content, _ := json.Marshal(strings.Join(slices.Insert(slices.Clone(lines), at, token+"\n"), ""))
		return callsOf([2]string{"write_file", fmt.Sprintf(`{"file_path": %q, "content": %s}`, file, content)})
	}
	anchor := strings.TrimSuffix(lines[max(0, min(at, len(lines)-2))], "\n")
	args, _ := json.Marshal(map[string]string{"file_path": file, "old_string": anchor + "\n", "new_string": anchor +
		"\n" + token + "\n"})
	return callsOf([2]string{"edit_file", string(args)})
}

// TestTwoAgentsAndAUserEditOneTree: what was told as committed is there at the end,
// whatever the others did at the same moment; what is not there was refused.
// Files stay so small that they are read whole: 10,000 steps, with KERF_LONG, are twenty trees.
func TestTwoAgentsAndAUserEditOneTree(t *testing.T) {
	steps, trees := 500, 1
	if race.Watched {
		steps = 200
	}
	if os.Getenv("KERF_LONG") != "" {
		trees = 20
	}
	for tree := range trees {
		t.Run(fmt.Sprint(tree), func(t *testing.T) { editOneTree(t, steps, uint64(tree)) })
	}
}

func editOneTree(t *testing.T, steps int, tree uint64) {
	rng := rand.New(rand.NewPCG(5, 8+tree))
	actors := map[string]*actor{}
	for i, name := range []string{"anna", "bert"} {
		actors[name] = &actor{name: name, rng: rand.New(rand.NewPCG(uint64(i), 1+tree)), turn: make(chan bool),
			idle: make(chan bool),
			told: map[string]string{}, kept: map[string]string{}}
	}
	step := 0
	h := castHost(t, cast{func(ctx context.Context, child bool, r *model.Request) []*model.Item {
		if !child {
			if len(outputs(r)) > 0 {
				return said("both are done")
			}
			return callsOf([2]string{"spawn_agent", `{"message": "you are anna", "agent_type": "worker"}`},
				[2]string{"spawn_agent", `{"message": "you are bert", "agent_type": "worker"}`},
				[2]string{"wait", `{"timeout_ms": 3600000, "for": "all"}`})
		}
		a := actors["anna"]
		if strings.Contains(texts(r), "you are bert") {
			a = actors["bert"]
		}
		for _, text := range outputs(r) {
			a.heard(text)
		}
		select {
		case a.idle <- true:
		case <-ctx.Done():
			return nil
		}
		if !<-a.turn {
			return said("done")
		}
		return a.next(step)
	}})
	byUser := map[string]string{}
	for i := range 3 {
		var b strings.Builder
		for line := range 12 {
			fmt.Fprintf(&b, "file %d line %d\n", i, line)
		}
		put(t, filepath.Join(h.Config.Cwd, fmt.Sprintf("f%d.txt", i)), b.String())
	}
	s := open(t, h, protocol.OpenOptions{Ephemeral: true})
	over := make(chan bool)
	var all []protocol.Event
	go func() {
		defer close(over)
		all = s.turn(input("go"), nil)
	}()
	for _, a := range actors {
		<-a.idle
	}
	for step = 1; step <= steps; step++ {
		if rng.IntN(3) == 0 {
			userEdits(t, h, rng, fmt.Sprintf("user-%d", step), byUser)
		}
		which := rng.IntN(3) // both at the same moment, or one
		var going []*actor
		for i, name := range []string{"anna", "bert"} {
			if which == 2 || which == i {
				going = append(going, actors[name])
			}
		}
		for _, a := range going {
			a.turn <- true
		}
		for _, a := range going {
			<-a.idle
		}
	}
	for _, a := range actors {
		a.turn <- false
	}
	<-over
	checkTree(t, h, actors, byUser)
	for _, e := range all {
		if d, ok := e.Msg.(protocol.TurnDiff); ok && e.Agent == "" && !d.Exact {
			t.Errorf("the turn's diff is not exact: %s", d.Note)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// userEdits puts a line into a file with an editor that knows nothing of Kerf.
func userEdits(t *testing.T, h *Host, rng *rand.Rand, token string, kept map[string]string) {
	t.Helper()
	file := fmt.Sprintf("f%d.txt", rng.IntN(3))
	path := filepath.Join(h.Config.Cwd, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	put(t, path, strings.Join(slices.Insert(lines, rng.IntN(len(lines)), token+"\n"), ""))
	kept[token] = file
}

func checkTree(t *testing.T, h *Host, actors map[string]*actor, byUser map[string]string) {
	t.Helper()
	has := map[string]map[string]int{}
	for i := range 3 {
		file := fmt.Sprintf("f%d.txt", i)
		text, err := os.ReadFile(filepath.Join(h.Config.Cwd, file))
		if err != nil {
			t.Fatal(err)
		}
		has[file] = map[string]int{}
		for _, line := range strings.Split(string(text), "\n") {
			has[file][line]++
		}
		for line := range 12 {
			if n := has[file][fmt.Sprintf("file %d line %d", i, line)]; n != 1 {
				t.Errorf("%s: line %d is there %d times", file, line, n)
			}
		}
	}
	check := func(who, token, file string) {
		if n := has[file][token]; n != 1 {
			t.Errorf("%s: %s was committed to %s and is there %d times", who, token, file, n)
		}
	}
	for token, file := range byUser {
		check("user", token, file)
	}
	for name, a := range actors {
		for token, file := range a.kept {
			check(name, token, file)
		}
		t.Logf("%s: %d calls, %d edits committed, %d of them merged, %d refused", name, a.finished, len(a.kept), a.merged,
			a.refused)
		if len(a.kept) < a.finished/5 {
			t.Errorf("%s hardly gets anything done", name)
		}
	}
}

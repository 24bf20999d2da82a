//go:build linux

package trust

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAgents lets two agents and a user work in one directory at once. All add lines to
// files that they share, and each works on files of its own. The user takes turns of
// the first agent back now and then. In the end no line is lost, and none is laid to
// somebody who did not write it.
func TestAgents(t *testing.T) {
	if testing.Short() {
		t.Skip("takes many steps")
	}
	steps := number("KERF_TRUST_STEPS", part(300, 40))
	sampled(t, steps, 300, func(t *testing.T) { workTogether(t, steps) })
}

func workTogether(t *testing.T, steps int) {
	kerf, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlace(kerf, scratch(t))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for i := range shared {
		files[fmt.Sprintf("shared/%d.txt", i)] = "first\n"
	}
	if err := put(p.dir, files); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, p: p, wrote: map[string]origin{}}
	sessions := map[string]*session{}
	var g sync.WaitGroup
	done := make(chan struct{})
	for _, who := range []string{"A", "B"} {
		turns := w.agent(who, steps*4/10)
		k, err := p.open(turns...)
		if err != nil {
			t.Fatal(err)
		}
		sessions[who] = k
		g.Go(func() {
			for i := range turns {
				if err := k.turn(fmt.Sprintf("turn %d", i)); err != nil {
					w.fault("%s: %v", who, err)
					return
				}
			}
		})
	}
	began := time.Now()
	go func() { // ends with the agents
		g.Wait()
		close(done)
	}()
	made := w.user(steps*2/10, sessions["A"], done)
	<-done
	for who, k := range sessions {
		if err := k.end(nil); err != nil {
			w.fault("%s: %v", who, err)
		}
	}
	w.judge(sessions)
	t.Logf("%d steps in %.0f s, %d of the user; %d lines, %d taken back, %d of commands that failed; lost %d, misattributed %d, claimed by nobody %d",
		steps*8/10+made, time.Since(began).Seconds(), made, len(w.wrote), w.back, w.failed, w.lost, w.wrong, w.unclaimed)
	settle(t, t.Name(), w.faults)
}

// shared is how many files all write to.
const shared = 12

// origin is where a line comes from.
type origin struct{ who, call, path string }

// world is what the agents and the user did.
type world struct {
	t      *testing.T
	p      *place
	mu     sync.Mutex
	faults []string
	wrote  map[string]origin // by the line

	back, failed, lost, wrong, unclaimed int
}

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// agent makes the turns of an agent: five calls each.
func (w *world) agent(who string, steps int) [][]call {
	r := rand.New(rand.NewPCG(uint64(who[0]), 9))
	var turns [][]call
	for i := range steps {
		if i%5 == 0 {
			turns = append(turns, nil)
		}
		id, line := fmt.Sprintf("%s%d", who, i), fmt.Sprintf("%s.%d;", who, i)
		path := fmt.Sprintf("shared/%d.txt", r.IntN(shared))
		var c call
		switch r.IntN(6) {
		case 0:
			path = fmt.Sprintf("own%s/%d.txt", who, i)
			c = writeFile(id, path, line+"\n")
		case 1:
			path = fmt.Sprintf("own%s/x%d.txt", who, i)
			c = sh(id, fmt.Sprintf("mkdir -p own%s; echo '%s' > t%s; mv t%s %s", who, line, who, who, path), 10000)
		case 2:
			path = fmt.Sprintf("own%s/log.txt", who)
			c = sh(id, fmt.Sprintf("mkdir -p own%s; touch %s; cp %s t%s; echo '%s' >> t%s; mv t%s %s", who, path, path, who, line, who, who, path), 10000)
		case 3:
			c = sh(id, fmt.Sprintf("sleep 0.03; echo '%s' >> %s; sleep 0.03", line, path), 10000)
		default:
			c = sh(id, fmt.Sprintf("echo '%s' >> %s", line, path), 10000)
		}
		w.wrote[line] = origin{who, id, path}
		turns[len(turns)-1] = append(turns[len(turns)-1], c)
	}
	return turns
}

// user adds lines, makes files, and takes turns back, until the agents are done.
func (w *world) user(steps int, a *session, done <-chan struct{}) int {
	r := rand.New(rand.NewPCG(3, 9))
	n := 0
	for ; n < steps; n++ {
		select {
		case <-done:
			return n
		case <-time.After(time.Duration(r.IntN(60)) * time.Millisecond):
		}
		line := fmt.Sprintf("U.%d;", n)
		path := fmt.Sprintf("shared/%d.txt", r.IntN(shared))
		switch r.IntN(8) {
		case 0:
			path = fmt.Sprintf("user%d.txt", n)
		case 1:
			path = fmt.Sprintf("ownA/user%d.txt", n)
		case 2:
			if r.IntN(2) > 0 {
				continue
			}
			if r, err := w.p.undo("undo", "--session", a.id); err != nil {
				w.fault("%v", err)
			} else if r.result.code == 1 && !strings.Contains(r.result.String(), w.p.dir+"/") &&
				!strings.Contains(r.result.String(), "nothing to undo of "+a.id) { // yet, or any more
				w.fault("undo: %v", r.result)
			}
			continue
		}
		full := filepath.Join(w.p.dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			w.fault("%v", err)
		}
		f, err := os.OpenFile(full, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			w.fault("%v", err)
			continue
		}
		if _, err := f.WriteString(line + "\n"); err != nil {
			w.fault("%v", err)
		}
		f.Close()
		w.mu.Lock()
		w.wrote[line] = origin{"U", "", path}
		w.mu.Unlock()
	}
	return n
}

var anyLine = regexp.MustCompile(`(?m)^[ABU]\.[0-9]+;$`)

// failed reports whether a command ended with an exit code other than 0.
func failed(s *session, call string) bool {
	return slices.ContainsFunc(s.calls, func(ended string) bool {
		f := strings.Fields(ended)
		return len(f) == 3 && f[0] == call && f[2] != "0"
	})
}

// story is what a log tells of a path.
func (w *world) story(entries []entry, path string) string {
	var b strings.Builder
	for _, e := range entries {
		for _, c := range e.Changes {
			if w.p.short(c.Path) == path {
				fmt.Fprintf(&b, "\n  %d %s %s, proven %v, undone %v: %s %.8s > %.8s %s", e.Seq, e.Cause, e.Call, e.proven(), e.Undone,
					c.Operation, c.Before, c.After, e.Note)
			}
		}
	}
	text, _ := os.ReadFile(filepath.Join(w.p.dir, path))
	fmt.Fprintf(&b, "\n  now %q", text)
	return b.String()
}

// judge looks for lines that are lost or laid to others.
func (w *world) judge(sessions map[string]*session) {
	now, err := look(w.p.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	entries, err := w.p.log()
	if err != nil {
		w.fault("%v", err)
	}
	undone := map[string]bool{} // calls of A
	for _, e := range entries {
		undone[e.Call] = undone[e.Call] || e.Undone
	}
	at := map[string]string{}
	for path, n := range now {
		for _, l := range anyLine.FindAllString(n.data, -1) {
			at[l] = path
		}
	}
	for l, o := range w.wrote {
		switch {
		case at[l] == o.path:
		case o.who == "A" && undone[o.call]:
			w.back++
		case o.who == "A" && failed(sessions["A"], o.call): // an undo took away what it worked on
			w.failed++
		default:
			w.lost++
			w.fault("%s of %+v is lost (at %q)%s", l, o, at[l], w.story(entries, o.path))
		}
	}
	for path := range now {
		if !anyLine.MatchString(now[path].data) {
			continue
		}
		lines, err := w.p.blame(path)
		if err != nil {
			w.fault("%v", err)
			continue
		}
		for _, l := range lines {
			text := strings.TrimSuffix(l.Text, "\n")
			o, ok := w.wrote[text]
			switch {
			case !ok && text == "first":
				if l.Origin == "kerf" {
					w.wrong++
					w.fault("%s: %q is laid to call %s", path, text, l.Call)
				}
			case l.Origin == "kerf" && (o.who == "U" || l.Call != o.call):
				w.wrong++
				w.fault("%s: %s is laid to call %s%s", path, text, l.Call, w.story(entries, path))
			case l.Origin != "kerf" && o.who != "U":
				w.unclaimed++
			}
		}
	}
	for _, e := range entries {
		for _, c := range e.Changes {
			path := w.p.short(c.Path)
			who, own := strings.CutPrefix(path, "own")
			mine := e.Session == sessions["A"].id && who[:1] == "A" || e.Session == sessions["B"].id && who[:1] == "B"
			user := strings.Contains(path, "user")
			if e.proven() && e.Session != "" && e.Cause != "undo" && (user || own && !mine) {
				w.wrong++
				w.fault("the log lays %s to call %s", path, e.Call)
			}
		}
	}
}

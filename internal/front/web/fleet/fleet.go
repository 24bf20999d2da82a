// Package fleet is what the pages know of kerf-fleet: tasks on many machines, what they ask,
// and the answers of the page.
package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"kerf/internal/front/web/query"
	"kerf/internal/protocol"
)

// Fleet is asked for the tasks of kerf-fleet.
type Fleet interface {
	// Tasks lists tasks and maps, newest first.
	Tasks(ctx context.Context) ([]Task, error)
	// Answer answers a question of a task. An answer that does not count, as another one
	// came before, is an error.
	Answer(ctx context.Context, a Answer) error
}

// Task is one of them. A Map stands for the tasks whose Of is its ID.
type Task struct {
	ID, Phase, Repository, Of string
	Map                       bool
	Began, Ended              time.Time
	Questions                 []Question
}

// Question is what a task waits for. Text is exactly what will happen.
type Question struct {
	ID, Text, Reason, Says string
	Kind                   protocol.ApprovalKind
	Until                  time.Time

	// Free says that the answer is in words, Form that a server asks with a form, which can only be refused here. Shown
	// stands for all that the question says, so that an answer is one to what the page showed and to nothing else.
	Free, Form bool   `json:"-"`
	Shown      string `json:"-"`
}

// Answer is what the user said to a question. Words are told to the model with a no; with a
// yes to what the model itself asks they are the answer.
type Answer struct {
	Task     string `json:"task"`
	Question string `json:"question"`
	Yes      bool   `json:"yes"`
	Words    string `json:"words,omitempty"`
}

// list asks for the tasks, and finds out of each question how it can be answered.
func list(ctx context.Context, f Fleet) ([]Task, error) {
	all, err := f.Tasks(ctx)
	for _, t := range all {
		for i, q := range t.Questions {
			b, _ := json.Marshal([]string{t.ID, q.ID, string(q.Kind), q.Text, q.Reason, q.Says})
			sum := sha256.Sum256(b)
			q.Shown, q.Free, q.Form = hex.EncodeToString(sum[:]), q.Kind == protocol.AskUser, q.Kind == protocol.AskServer
			t.Questions[i] = q
		}
	}
	return all, err
}

// Page is what the page Fleet shows.
type Page struct {
	Counts []Count
	Tasks  []Task
	Fault  string // why there is no list
}

// Count is how many tasks are in a phase.
type Count struct {
	Phase string
	Count int
}

// phases are the order in which tasks are counted.
var phases = []string{"waiting", "preparing", "running", "asking", "checking", "publishing", "done", "checks failed",
	"failed", "cancelled"}

// Look makes the page. A fleet that does not answer is told on it.
func Look(ctx context.Context, f Fleet) (p Page) {
	var err error
	if p.Tasks, err = list(ctx, f); err != nil {
		p.Fault = err.Error()
	}
	counts := map[string]int{}
	for _, t := range p.Tasks {
		if !t.Map {
			counts[t.Phase]++
		}
	}
	for _, phase := range phases {
		if counts[phase] > 0 {
			p.Counts = append(p.Counts, Count{phase, counts[phase]})
		}
	}
	return p
}

// Decide hands over the answer of a form, if its question is still the one that the page showed.
func Decide(ctx context.Context, f Fleet, form url.Values) error {
	a := Answer{Task: form.Get("task"), Question: form.Get("question"), Words: strings.TrimSpace(form.Get("words"))}
	tasks, err := list(ctx, f)
	if err != nil {
		return fmt.Errorf("kerf-fleet does not answer: %w", err)
	}
	asked, ok := find(tasks, a)
	if !ok || form.Get("shown") != asked.Shown {
		return query.Misuse("task " + a.Task + " does not ask this any more")
	}
	switch decision := form.Get("decision"); {
	case decision == "no":
	case decision != "yes" || asked.Form:
		return query.Misuse("choose one of the answers")
	case asked.Free && a.Words == "":
		return query.Misuse("write the answer first")
	default:
		a.Yes = true
	}
	if err = f.Answer(ctx, a); err != nil {
		return query.Misuse(err.Error())
	}
	return nil
}

func find(tasks []Task, a Answer) (Question, bool) {
	for _, t := range tasks {
		for _, q := range t.Questions {
			if t.ID == a.Task && q.ID == a.Question {
				return q, true
			}
		}
	}
	return Question{}, false
}

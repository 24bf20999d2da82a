package web

import (
	"context"
	"net/http"
	"time"
)

// Fleet is asked for the tasks of kerf-fleet.
type Fleet interface {
	// Tasks lists tasks and maps, newest first.
	Tasks(ctx context.Context) ([]FleetTask, error)
}

// FleetTask is one of them. A Map stands for the tasks whose Of is its ID.
type FleetTask struct {
	ID, Phase, Repository, Of string
	Map                       bool
	Began, Ended              time.Time
	Questions                 []FleetQuestion
}

// FleetQuestion is what a task waits for. Text is exactly what will happen.
type FleetQuestion struct {
	ID, Text, Reason, Says string
	Until                  time.Time
}

type fleetPage struct {
	Counts []fleetCount
	Tasks  []FleetTask
	Fault  string
}

type fleetCount struct {
	Phase string
	Count int
}

// phases are the order in which tasks are counted.
var phases = []string{"waiting", "preparing", "running", "asking", "checking", "publishing", "done", "checks failed",
	"failed", "cancelled"}

// fleet lists the tasks. A fleet that does not answer is told on the page.
func (s *Server) fleet(w http.ResponseWriter, r *http.Request) error {
	var p fleetPage
	list, err := s.o.Fleet.Tasks(r.Context())
	if err != nil {
		p.Fault = err.Error()
	}
	counts := map[string]int{}
	for _, t := range list {
		if !t.Map {
			counts[t.Phase]++
		}
	}
	for _, phase := range phases {
		if counts[phase] > 0 {
			p.Counts = append(p.Counts, fleetCount{phase, counts[phase]})
		}
	}
	p.Tasks = list
	return s.render(w, r, "fleet", "Fleet", p)
}

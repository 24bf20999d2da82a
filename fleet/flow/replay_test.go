package flow_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"kerf/fleet/flow"
)

const mockAny = mock.Anything

// The histories below testdata are of tasks that real engines ran: workflows that began
// with an older program must go on with this one. A change that fails here goes behind
// workflow.GetVersion; a history is never removed.
func TestOldHistoriesReplay(t *testing.T) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) < 5 {
		t.Fatal(len(names), "histories", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			// A busy machine is no deadlock.
			r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
			if err != nil {
				t.Fatal(err)
			}
			flows := flow.Flows{Times: flow.Times{Beat: 3e9, Pickup: 4e9}}
			r.RegisterWorkflowWithOptions(flows.Task, workflow.RegisterOptions{Name: flow.TaskType})
			r.RegisterWorkflowWithOptions(flows.Map, workflow.RegisterOptions{Name: flow.MapType})
			if err := r.ReplayWorkflowHistoryFromJSONFile(nil, name); err != nil {
				t.Error(err)
			}
		})
	}
}

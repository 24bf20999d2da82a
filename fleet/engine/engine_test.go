package engine_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"kerf/fleet/engine"
)

// What was there is there again after a new start.
func TestTheEngineKeepsItsData(t *testing.T) {
	if !engine.Here {
		t.Skip("built without the engine")
	}
	file := filepath.Join(t.TempDir(), "engine.db")
	for range 2 {
		e, err := engine.Start(file, 0)
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.Dial(client.Options{HostPort: e.Address})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.CheckHealth(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		d, err := c.WorkflowService().DescribeNamespace(context.Background(),
			&workflowservice.DescribeNamespaceRequest{Namespace: engine.Namespace})
		if err != nil || d.Config.WorkflowExecutionRetentionTtl.AsDuration() != engine.Kept {
			t.Errorf("what is over is kept for %v, %v", d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), err)
		}
		run, err := c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: "a", TaskQueue: "q"}, "none")
		if err != nil {
			t.Fatal(err)
		}
		t.Log(run.GetRunID())
		c.Close()
		if err = e.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// A port that somebody has is an error, not the end of the process.
func TestAPortThatIsTaken(t *testing.T) {
	if !engine.Here {
		t.Skip("built without the engine")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = engine.Start(filepath.Join(t.TempDir(), "engine.db"), l.Addr().(*net.TCPAddr).Port)
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v", err)
	}
}

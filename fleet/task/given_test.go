package task_test

import (
	"encoding/json"
	"strings"
	"testing"

	"kerf/fleet/task"
)

// What a later program writes is told, at any depth; what an older one leaves out is not.
func TestGivenByAnotherProgram(t *testing.T) {
	for text, later := range map[string]string{
		`{"id":"a","repository":"/r","prompt":"p","settings":{},"limits":{}}`: "",
		`{"id":"a"}`:                           "",
		`{"id":"a","colour":"red"}`:            `unknown field "colour"`,
		`{"id":"a","limits":{"weight":"1kg"}}`: `unknown field "weight"`,
	} {
		var g task.Given[task.Task]
		if err := json.Unmarshal([]byte(text), &g); err != nil || g.Of.ID != "a" {
			t.Errorf("%s: %+v %v", text, g, err)
		}
		if later == "" && g.Later != nil || later != "" && (g.Later == nil || !strings.Contains(g.Later.Error(), later)) {
			t.Errorf("%s: %v", text, g.Later)
		}
	}
	var m task.Given[task.Map]
	if err := json.Unmarshal([]byte(`{"id":"m","task":{"colour":"red"}}`), &m); err != nil || m.Later == nil {
		t.Errorf("a map: %+v %v", m, err)
	}
	if err := json.Unmarshal([]byte(`{"id":7}`), new(task.Given[task.Task])); err == nil {
		t.Error("what is no task was taken")
	}
	was, _ := json.Marshal(task.Task{ID: "a", Needs: []string{"x"}})
	if now, err := json.Marshal(task.Given[task.Task]{Of: task.Task{ID: "a", Needs: []string{"x"}}}); err != nil || string(now) != string(was) {
		t.Errorf("%s is written as %s: %v", was, now, err)
	}
}

package tools

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/protocol"
)

//go:embed update_plan.md
var updatePlanWords string

type planStep struct {
	Step   string `json:"step" brief:"plain" doc:"What is to be done."`
	Status string `json:"status" enum:"pending,in_progress,completed" brief:"plain" doc:"How far it has come."`
}

type planArgs struct {
	Explanation string     `json:"explanation,omitempty" doc:"Why the plan changed."`
	Plan        []planStep `json:"plan" brief:"plain" doc:"All steps, in order."`
}

func updatePlan() entry {
	return define.Tool[planArgs]{
		Name: "update_plan", Text: updatePlanWords, Plan: preparePlan,
		Aliases: []define.Alias[planArgs]{define.As("TodoWrite", func(a struct {
			Todos []struct {
				Content    string `json:"content"`
				Status     string `json:"status" enum:"pending,in_progress,completed"`
				ActiveForm string `json:"activeForm,omitempty"`
				Priority   string `json:"priority,omitempty"`
				ID         string `json:"id,omitempty"`
			} `json:"todos"`
		}) (planArgs, error) {
			var out planArgs
			for _, t := range a.Todos {
				out.Plan = append(out.Plan, planStep{t.Content, t.Status})
			}
			return out, nil
		})},
	}.Entry()
}

func preparePlan(_ context.Context, _ tool.Env, c tool.Call, a planArgs) (tool.Action, error) {
	todo := &protocol.TodoList{Explanation: a.Explanation, Steps: []protocol.Step{}}
	active := 0
	for _, s := range a.Plan {
		if s.Status == "in_progress" {
			active++
		}
		todo.Steps = append(todo.Steps, protocol.Step{Step: s.Step, Status: s.Status})
	}
	if active > 1 {
		return nil, tool.Refuse(tool.InvalidArguments, "%s: expected at most one step in_progress, found %d", c.Name, active)
	}
	return tool.Answer{Result: tool.Result{Success: true, Output: "Plan updated"}, Todo: todo}, nil
}

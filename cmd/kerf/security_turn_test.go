package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/testkit/modeltest"
)

// The writable roots are the user's; where a command starts does not move them.
func TestSEC_P3_WorkdirMovesNoRoots(t *testing.T) {
	elsewhere := func(v *victim) [2]any {
		return [2]any{"exec_command", map[string]any{"cmd": "echo x > written; echo y > ../repo/inside",
			"workdir": filepath.Join(v.base, "elsewhere")}}
	}
	for mode, written := range map[string]bool{"workspace-write": false, "danger-full-access": true} {
		t.Run(mode, func(t *testing.T) {
			v := newVictim(t)
			v.repository()
			v.write(filepath.Join(v.base, "elsewhere", "there"), "there\n")
			s := v.serve("", turn(shellCall("echo z > again"), elsewhere(v),
				shellCall("cd ../elsewhere && echo x > written"))...)
			if r := v.run("sandbox", "--", "true"); r.code == 125 {
				t.Skip("no sandbox works here: " + r.err)
			}
			v.must("exec", "-s", mode, "go")
			if got := readable(filepath.Join(v.base, "elsewhere", "written")) != ""; got != written {
				t.Errorf("written outside: %t, want %t; the model was told %q", got, written, outputs(s))
			}
			if got := readable(filepath.Join(v.repo, "again")); got != "z\n" {
				t.Errorf("inside the root stands %q", got)
			}
		})
	}
}

// calls is how many calls one answer of a model may hold here.
const calls = 1000

// Whatever a model makes up, each of its calls gets one answer that it can mend.
func TestSEC_D5_NonsenseIsAnswered(t *testing.T) {
	text := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	many := modeltest.Answer()
	for i := range calls {
		read := modeltest.Call("read_file", json.RawMessage(`{"file_path":"a.txt"}`))
		read.ID = fmt.Sprint("many", i)
		many.Script.Items = append(many.Script.Items, read)
	}
	odd := modeltest.Answer()
	for _, c := range [][2]string{
		{"read_file", text("{not json")}, {"read_file", text("")}, {"read_file", text(`{"file_path":"a.txt","file_path":7}`)},
		{"read_file", `{"file_path":7}`}, {"exec_command", `{"cmd":["ls"]}`}, {"no_such_tool", `{}`}, {"edit_file", `{"edits":"all of them"}`},
		{"write_file", `{"file_path":"big.txt","content":` + text(strings.Repeat("x", 1<<20)) + `,"file_path":"big.txt"}`}, {"update_plan", `{"plan":{"step":1}}`},
	} {
		odd.Script.Items = append(odd.Script.Items, modeltest.Call(c[0], json.RawMessage(c[1])))
	}
	v := newVictim(t)
	v.repository()
	s := v.serve("", odd, many, modeltest.Answer(modeltest.Message("done")))
	v.must("exec", "-s", "workspace-write", "go")
	told := outputs(s)
	if len(told) != len(odd.Script.Items)+calls {
		t.Fatalf("%d calls got %d answers", len(odd.Script.Items)+calls, len(told))
	}
	for i, o := range told[:len(odd.Script.Items)] {
		if !strings.Contains(o, "INVALID_ARGUMENTS") && !strings.Contains(o, "UNKNOWN_TOOL") {
			t.Errorf("call %d was answered %.200q", i, o)
		}
	}
	if readable(filepath.Join(v.repo, "big.txt")) != "" {
		t.Error("a refused call wrote")
	}
}

// A stream that breaks after a tool ran is asked for again; the tool is not.
func TestSEC_D6_NoToolRunsTwice(t *testing.T) {
	v := newVictim(t)
	v.repository()
	broken := modeltest.Answer(modeltest.Call("exec_command", map[string]any{"cmd": "echo once >> count"}))
	broken.Script.Cut = true
	s := v.serve("stream_max_retries = 3\n", broken,
		modeltest.Answer(modeltest.Message("done")))
	v.must("exec", "-s", "workspace-write", "go")
	if got := readable(filepath.Join(v.repo, "count")); got != "once\n" {
		t.Errorf("the command ran as often as %q says", got)
	}
	if told := outputs(s); len(told) != 1 || !strings.Contains(told[0], "exit code 0") {
		t.Errorf("the model was told %q", told)
	}
}

// A store beyond its limit never stops an edit, and what is young stays.
func TestSEC_E12_LimitsStopNoEdits(t *testing.T) {
	v := newVictim(t)
	v.repository()
	v.serve("[backups]\nmax_bytes = 1\nmax_backups_per_file = 1\nmin_retention_hours = 24\n")
	v.must("tool", "write_file", `{"file_path":"kept.txt","content":"version 0\n"}`)
	for i := range 4 {
		v.must("tool", "edit_file", fmt.Sprintf(`{"file_path":"kept.txt","old_string":"version %d","new_string":"version %d"}`, i, i+1))
		v.must("gc")
	}
	for i := 3; i >= 0; i-- {
		v.must("undo")
		if got, want := readable(filepath.Join(v.repo, "kept.txt")), fmt.Sprintf("version %d\n", i); got != want {
			t.Fatalf("undo brought back %q, want %q", got, want)
		}
	}
}

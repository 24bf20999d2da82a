package tui

import (
	"encoding/json"
	"time"

	"kerf/internal/protocol"
)

// Things that happen, for stories.

func done(id string, body protocol.Body) protocol.Msg {
	return protocol.ItemCompleted{Item: protocol.Item{ID: protocol.ItemID(id), Status: protocol.Completed, Body: body}}
}

func failed(id string, body protocol.Body) protocol.Msg {
	return protocol.ItemCompleted{Item: protocol.Item{ID: protocol.ItemID(id), Status: protocol.Failed, Body: body}}
}

func started(id string, body protocol.Body) protocol.Msg {
	return protocol.ItemStarted{Item: protocol.Item{ID: protocol.ItemID(id), Status: protocol.InProgress, Body: body}}
}

func delta(id, text string) protocol.Msg {
	return protocol.ItemDelta{Item: protocol.ItemID(id), Text: text}
}

func user(text string) protocol.Body {
	return protocol.UserMessage{Input: []protocol.Input{{Text: text}}}
}

func answer(text string) protocol.Body { return protocol.AgentMessage{Text: text} }

func ran(cmd, out string, code int) protocol.Command {
	return protocol.Command{Command: cmd, Cwd: "/work/project", Output: out, ExitCode: &code}
}

func call(tool, args string) protocol.ToolCall {
	return protocol.ToolCall{Tool: tool, Args: json.RawMessage(args)}
}

const smallDiff = `diff --git a/mathx/mathx.go b/mathx/mathx.go
index 1111111..2222222 100644
--- a/mathx/mathx.go
+++ b/mathx/mathx.go
@@ -3,7 +3,10 @@ package mathx
 
 // Div divides.
 func Div(a, b int) int {
-	return a / b
+	if b == 0 {
+		return 0, ErrZero
+	}
+	return a / b, nil
 }
 
-var name = "mathx"
+var name = "mathx v2"
`

const twoFiles = smallDiff + `diff --git a/README.md b/README.md
new file mode 100644
--- /dev/null
+++ b/README.md
@@ -0,0 +1,2 @@
+# mathx
+Small sums.
`

func edited() protocol.FileChange {
	return protocol.FileChange{Diff: smallDiff,
		Changes: []protocol.PathChange{{Path: "/work/project/mathx/mathx.go", Kind: protocol.Update}}}
}

func text(s string) *string { return &s }

// askCommand is a question about a command.
func askCommand(id, command string) protocol.Msg {
	return protocol.ApprovalRequested{Approval: protocol.Approval{ID: protocol.ApprovalID(id),
		Reason:  "the command is not known to be safe",
		Command: &protocol.CommandApproval{Command: command, Cwd: "/work/project", Prefix: []string{"make", "test"}, Rule: `prefix ["make", "test"] -> allow`}}}
}

// askCall is a question about the command of a call that is shown.
func askCall(id, call, command string) protocol.Msg {
	return protocol.ApprovalRequested{Approval: protocol.Approval{ID: protocol.ApprovalID(id), Call: protocol.CallID(call),
		Reason: "it is not known to be safe", Command: &protocol.CommandApproval{Command: command, Cwd: "/work/project"}}}
}

func askChange(id string) protocol.Msg {
	old := "package x\n\nfunc a() int { return 1 }\n\nfunc b() int { return 2 }\n\nfunc c() int { return 3 }\n"
	now := "package x\n\nfunc a() int { return 10 }\n\nfunc b() int { return 2 }\n\nfunc c() int { return 30 }\n"
	return protocol.ApprovalRequested{Approval: protocol.Approval{ID: protocol.ApprovalID(id),
		Change: &protocol.ChangeApproval{
			Changes: []protocol.PathChange{{Path: "/work/project/x.go", Kind: protocol.Update}},
			Diff: "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1,7 +1,7 @@\n package x\n \n" +
				"-func a() int { return 1 }\n+func a() int { return 10 }\n \n func b() int { return 2 }\n \n" +
				"-func c() int { return 3 }\n+func c() int { return 30 }\n",
			Files: []protocol.FileText{{Path: "/work/project/x.go", Old: &old, New: &now}}}}}
}

func used(in, cached, out, window int) protocol.Msg {
	u := protocol.Usage{Input: in, Cached: cached, Output: out}
	return protocol.TokensUsed{Last: u, Turn: u, Total: u, Window: window}
}

// ready lets a question settle, so that keys count.
func (b *bench) ready() *bench { return b.wait(time.Second) }

// aTurn is a turn with one of everything.
func (b *bench) aTurn() *bench {
	b.event("t1", protocol.TurnStarted{}, done("u1", user("mathx crashes when it divides by zero. Fix it.")))
	b.event("t1", done("r1", protocol.Reasoning{Text: "**Looking** for the division first."}))
	b.event("t1", done("g1", call("grep", `{"pattern":"a / b"}`)),
		done("g2", call("read_file", `{"file_path":"mathx/mathx.go","offset":10}`)))
	b.event("t1", done("p1", protocol.TodoList{Steps: []protocol.Step{{Step: "Find the division", Status: "completed"},
		{Step: "Guard it", Status: "in_progress"}, {Step: "Run the tests", Status: "pending"}}}))
	b.event("t1", done("f1", edited()))
	b.event("t1", failed("c1", ran("go test ./...",
		"--- FAIL: TestDiv (0.00s)\n    div_test.go:9: got 1\nFAIL\nFAIL\tmathx\t0.01s\nok  \tother\t0.02s\n"+
			"ok  \tmore\t0.02s\nFAIL\n", 1)))
	b.event("t1", done("m1", answer("Division by zero is an error now.\n\n- `Div` returns `ErrZero`\n- the tests pass\n")))
	b.event("t1", used(2460, 1850, 310, 100_000), protocol.TurnDiff{Diff: smallDiff, Exact: true, Files: 1},
		protocol.TurnCompleted{Usage: protocol.Usage{Input: 2460, Cached: 1850, Output: 310}, Duration: 12 * time.Second})
	return b
}

package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"kerf/sdk"
)

// A thread runs one turn after the other. Each turn may be run to its end, or
// its events taken as they come.
func ExampleThread() {
	client, dir, done := scripted(`
		{"items": [{"call": "write_file", "args": {"file_path": "hello.txt", "content": "hello\n"}}]},
		{"items": [{"message": "I wrote hello.txt."}]},
		{"items": [{"call": "exec_command", "args": {"cmd": "cat hello.txt"}}]},
		{"items": [{"message": "It says hello."}]}`)
	defer done()
	ctx := context.Background()

	thread := client.Start(sdk.ThreadOptions{Dir: dir, Sandbox: "danger-full-access", SkipGitCheck: true})
	turn, err := thread.Run(ctx, sdk.Input{Text: "write a greeting"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Text)

	for event, err := range thread.Stream(ctx, sdk.Input{Text: "what does it say?"}) {
		if err != nil {
			log.Fatal(err)
		}
		if e, ok := event.(sdk.ItemCompleted); ok {
			switch item := e.Item.(type) {
			case sdk.Command:
				fmt.Printf("$ %s\n%s", item.Command, item.Output)
			case sdk.Message:
				fmt.Println(item.Text)
			}
		}
	}
	// Output:
	// I wrote hello.txt.
	// $ cat hello.txt
	// hello
	// It says hello.
}

// A thread can be taken up again by another program, later.
func ExampleClient_Resume() {
	client, dir, done := scripted(`{"items": [{"message": "Noted."}]}`,
		`{"expect": {"input_contains": ["the word is plum"]}, "items": [{"message": "Plum."}]}`)
	defer done()
	ctx := context.Background()

	o := sdk.ThreadOptions{Dir: dir, SkipGitCheck: true}
	first := client.Start(o)
	if _, err := first.Run(ctx, sdk.Input{Text: "the word is plum"}); err != nil {
		log.Fatal(err)
	}
	later, err := client.Resume(first.ID(), o).Run(ctx, sdk.Input{Text: "which word was it?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(later.Text)
	// Output: Plum.
}

// The last message can be made to follow a JSON schema.
func ExampleInput_schema() {
	client, dir, done := scripted(`{"items": [{"message": "{\"status\":\"ok\",\"files\":3}"}]}`)
	defer done()

	schema := json.RawMessage(`{"type": "object", "properties": {"status": {"type": "string"}, "files": {"type": "integer"}},
		"required": ["status", "files"], "additionalProperties": false}`)
	turn, err := client.Start(sdk.ThreadOptions{Dir: dir, SkipGitCheck: true}).Run(context.Background(),
		sdk.Input{Text: "report", Schema: schema})
	if err != nil {
		log.Fatal(err)
	}
	var report struct {
		Status string
		Files  int
	}
	if err := json.Unmarshal([]byte(turn.Text), &report); err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Status, report.Files)
	// Output: ok 3
}

// A dialogue asks before it acts.
func ExampleClient_Open() {
	client, dir, done := scripted(`
		{"items": [{"call": "write_file", "args": {"file_path": "a.txt", "content": "a\n"}}]},
		{"items": [{"call": "write_file", "args": {"file_path": "b.txt", "content": "b\n"}}]},
		{"items": [{"message": "Done."}]}`)
	defer done()
	ctx := context.Background()

	d, err := client.Open(ctx, sdk.DialogueOptions{Dir: dir,
		Approve: func(_ context.Context, q sdk.Question) sdk.Decision {
			for _, diff := range q.Diffs {
				if filepath.Base(diff.Path) != "a.txt" {
					return sdk.Reject
				}
			}
			return sdk.Allow
		}})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	reply, err := d.Say(ctx, "write two files")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Text, reply.Stop)
	for _, name := range []string{"a.txt", "b.txt"} {
		_, err := os.Stat(filepath.Join(dir, name))
		fmt.Println(name, err == nil)
	}
	// Output:
	// Done. end_turn
	// a.txt true
	// b.txt false
}

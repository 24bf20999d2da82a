// Command floor is the least a client of the Responses API can do: it sends the
// request, reads the stream, runs the one call in it and sends its output, until
// a response has no call. `make bench` runs it beside kerf; it has no history,
// no record, no policy and no sandbox.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// item is the part of an output item that the loop needs.
type item struct {
	Type      string `json:"type"`
	Name      string `json:"name,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

func run(base string) error {
	input := []any{map[string]any{"type": "message", "role": "user",
		"content": []any{map[string]any{"type": "input_text", "text": "go"}}}}
	for {
		calls, err := ask(base, input)
		if err != nil || len(calls) == 0 {
			return err
		}
		for _, c := range calls {
			out, err := do(c)
			if err != nil {
				return err
			}
			input = append(input, c, map[string]any{"type": "function_call_output", "call_id": c.CallID, "output": out})
		}
	}
}

func ask(base string, input []any) ([]item, error) {
	body, err := json.Marshal(map[string]any{"model": "m", "stream": true, "store": false, "input": input})
	if err != nil {
		return nil, err
	}
	res, err := http.Post(base+"/responses", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var calls []item
	s := bufio.NewScanner(res.Body)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		data, ok := strings.CutPrefix(s.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type string `json:"type"`
			Item item   `json:"item"`
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return nil, err
		}
		if e.Type == "response.output_item.done" && e.Item.Type == "function_call" {
			calls = append(calls, e.Item)
		}
	}
	return calls, s.Err()
}

func do(c item) (string, error) {
	var a struct {
		Cmd  string `json:"cmd"`
		Path string `json:"file_path"`
		Old  string `json:"old_string"`
		New  string `json:"new_string"`
	}
	if err := json.Unmarshal([]byte(c.Arguments), &a); err != nil {
		return "", err
	}
	if c.Name == "exec_command" {
		out, err := exec.Command("bash", "-c", a.Cmd).CombinedOutput()
		return string(out), err
	}
	return "done", edit(a.Path, a.Old, a.New)
}

// edit replaces a passage in a file by way of a synced temporary one.
func edit(path, old, text string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".floor")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Replace(string(b), old, text, 1)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

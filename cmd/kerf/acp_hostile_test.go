package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/front/acp"
	"kerf/internal/host"
)

// wire is a raw connection to a server of lines: what is written goes to it as it
// is, and every line it says can be taken.
type wire struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan map[string]any
	ended chan error
}

// wired starts serve over two pipes.
func wired(t *testing.T, serve func(in io.ReadCloser, out io.WriteCloser) error) *wire {
	t.Helper()
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	w := &wire{t: t, in: in, lines: make(chan map[string]any, 10_000), ended: make(chan error, 1)}
	go func() {
		w.ended <- serve(toServer, fromServer)
		_ = fromServer.Close()
	}()
	go func() {
		defer close(w.lines)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadBytes('\n')
			var m map[string]any
			if json.Unmarshal(line, &m) == nil {
				w.lines <- m
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		_ = out.Close()
	})
	return w
}

func wiredACP(t *testing.T, s served) *wire {
	return wired(t, func(in io.ReadCloser, out io.WriteCloser) error {
		return acp.Serve(context.Background(),
			acp.Options{Sessions: s.opener, Store: s.host.Sessions(), Version: host.Version, SignIn: "kerf login"}, in, out)
	})
}

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, text); err != nil {
		w.t.Fatal(err)
	}
}

// answer waits for the answer to a request; notifications on the way are passed over.
func (w *wire) answer(id any) map[string]any {
	w.t.Helper()
	for {
		select {
		case m, ok := <-w.lines:
			if !ok {
				w.t.Fatalf("the server ended without an answer to %v", id)
			}
			if got, has := m["id"]; has && m["method"] == nil && fmt.Sprint(got) == fmt.Sprint(id) {
				return m
			}
		case <-w.t.Context().Done():
			w.t.Fatalf("no answer to %v", id)
		}
	}
}

func codeOf(m map[string]any) int {
	e, _ := m["error"].(map[string]any)
	code, _ := e["code"].(float64)
	return int(code)
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}` + "\n"

func TestACPAnswersWhateverComes(t *testing.T) {
	s := serving(t, editing, nil)
	dir, err := json.Marshal(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	open := fmt.Sprintf(`"cwd":%s,"mcpServers":[]`, dir)
	for name, test := range map[string]struct {
		send string
		id   any // of the answer
		code int
	}{
		"no JSON":           {"hello there\n", nil, -32700},
		"half a message":    {`{"jsonrpc":"2.0","id":1,"method":"initi` + "\n", nil, -32700},
		"two in a line":     {`{"id":1,"method":"a"}{"id":2,"method":"b"}` + "\n", nil, -32700},
		"control bytes":     {"\x00\x1b[2J\xff\xfe\n", nil, -32700},
		"batch":             {`[{"jsonrpc":"2.0","id":1,"method":"initialize"}]` + "\n", nil, -32600},
		"scalar":            {"42\n", nil, -32600},
		"null":              {"null\n", nil, -32600},
		"empty object":      {"{}\n", nil, -32600},
		"method no string":  {`{"id":1,"method":7}` + "\n", 1, -32600},
		"method empty":      {`{"id":1,"method":""}` + "\n", 1, -32600},
		"id an object":      {`{"id":{"a":1},"method":"initialize"}` + "\n", nil, -32600},
		"id null":           {`{"id":null,"method":"initialize"}` + "\n", nil, -32600},
		"unknown method":    {`{"id":1,"method":"session/explode","params":{}}` + "\n", 1, -32601},
		"method of clients": {`{"id":1,"method":"fs/read_text_file","params":{}}` + "\n", 1, -32601},
		"no params":         {`{"id":1,"method":"session/new"}` + "\n", 1, -32602},
		"params a list":     {`{"id":1,"method":"session/new","params":[1]}` + "\n", 1, -32602},
		"params a string":   {`{"id":1,"method":"session/prompt","params":"x"}` + "\n", 1, -32602},
		"wrong types":       {`{"id":1,"method":"session/new","params":{"cwd":5,"mcpServers":"none"}}` + "\n", 1, -32602},
		"prompt a string":   {`{"id":1,"method":"session/prompt","params":{"sessionId":"x","prompt":"hi"}}` + "\n", 1, -32602},
		"unknown block":     {`{"id":1,"method":"session/prompt","params":{"sessionId":"x","prompt":[{"type":"smell"}]}}` + "\n", 1, -32002},
		"no such session":   {`{"id":1,"method":"session/prompt","params":{"sessionId":"../../x","prompt":[{"type":"text","text":"x"}]}}` + "\n", 1, -32002},
		"load nothing":      {`{"id":1,"method":"session/load","params":{"sessionId":"../../etc",` + open + `}}` + "\n", 1, -32002},
		"wrong cursor":      {`{"id":1,"method":"session/list","params":{"cursor":"none"}}` + "\n", 1, -32602},
		"deep":              {`{"id":1,"method":"initialize","params":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}\n", nil, -32700},
		"windows line end":  {`{"id":1,"method":"session/explode","params":{}}` + "\r\n", 1, -32601},
		"huge":              {`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"x":"` + strings.Repeat("a", 11<<20) + `"}}` + "\n", 1, -32600},
	} {
		t.Run(name, func(t *testing.T) {
			w := wiredACP(t, s)
			w.send(test.send)
			if m := w.answer(test.id); codeOf(m) != test.code {
				t.Errorf("answered %v, want %d", m, test.code)
			}
			w.send(hello) // it still serves
			if m := w.answer("hello"); m["result"] == nil {
				t.Errorf("then answered %v", m)
			}
		})
	}
}

func TestACPBearsFloodsAndStrayAnswers(t *testing.T) {
	s := serving(t, editing, nil)
	w := wiredACP(t, s)
	var b strings.Builder
	for i := range 5000 {
		b.WriteString(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}` + "\n")
		b.WriteString(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{}}` + "\n")
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"selected","optionId":"once"}}}`+"\n", i)
		b.WriteString("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"x\"}}\n\n \n")
	}
	w.send(b.String())
	w.send(hello)
	if m := w.answer("hello"); m["result"] == nil {
		t.Errorf("answered %v", m)
	}
	w.send(`{"jsonrpc":"2.0","id":"cut`) // and the editor dies
	_ = w.in.Close()
	if err := <-w.ended; err != nil {
		t.Errorf("the agent ended with %v", err)
	}
}

func TestACPAsksAgainWhenTheFileMoved(t *testing.T) {
	s := serving(t, `{"version":1,"title":"writes","rounds":[
{"items":[{"call":"write_file","args":{"file_path":"f.txt","content":"the model's\n"},"id":"c1"}]},
{"items":[{"call":"write_file","args":{"file_path":"f.txt","content":"the model's\n"},"id":"c2"}]},
{"items":[{"message":"done"}]}]}`, map[string]string{"f.txt": "old\n"})
	path := filepath.Join(s.dir, "f.txt")
	e := &editor{}
	e.choose = func(sdk.RequestPermissionRequest) sdk.PermissionOptionKind {
		if len(e.asked) == 1 { // the user saves the file while the question is open
			if err := os.WriteFile(path, []byte("the user's\n"), 0o600); err != nil {
				t.Error(err)
			}
		}
		return sdk.PermissionOptionKindAllowOnce
	}
	conn := s.edits(t, e)
	say(t, conn, s.newSession(t, conn), "write it")
	for i, q := range e.asked {
		d := q.ToolCall.Content[0].Diff
		if d == nil || d.OldText == nil {
			t.Fatalf("question %d shows %+v", i, q.ToolCall.Content)
		}
		if want := []string{"old\n", "the user's\n"}[min(i, 1)]; *d.OldText != want {
			t.Errorf("question %d shows the old text %q, want %q", i, *d.OldText, want)
		}
	}
	got := s.read(t, "f.txt")
	if len(e.asked) < 2 && got != "the user's\n" {
		t.Errorf("f.txt is %q after %d questions: the first yes was for another text", got, len(e.asked))
	}
	t.Logf("%d questions, f.txt is %q", len(e.asked), got)
}

func TestACPTakesOnlyAnswersThatWereOffered(t *testing.T) {
	s := serving(t, editing, map[string]string{"f.txt": "a\nb\nc\n"})
	w := wiredACP(t, s)
	w.send(hello)
	w.answer("hello")
	dir, err := json.Marshal(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%s,"mcpServers":[]}}`+"\n", dir))
	opened := w.answer(2)
	id := opened["result"].(map[string]any)["sessionId"]
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"change it"}]}}`+"\n", id))
	for asked := false; !asked; {
		m, ok := <-w.lines
		if !ok {
			t.Fatal("nothing was asked")
		}
		if m["method"] == "session/request_permission" {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"outcome":{"outcome":"selected","optionId":"always"}}}`+"\n",
				m["id"]))
			asked = true
		}
	}
	if m := w.answer(3); m["error"] != nil {
		t.Errorf("the turn ended with %v", m)
	}
	if got := s.read(t, "f.txt"); got != "a\nb\nc\n" {
		t.Errorf("an answer that was not offered changed the file to %q", got)
	}
}

func TestACPShowsWhatCannotBeSeen(t *testing.T) {
	s := serving(t, `{"version":1,"title":"hides","rounds":[
{"items":[{"call":"exec_command","args":{"cmd":"echo safe \u202e; touch made #","sandbox_permissions":"require_escalated","justification":"\u001b[2Jtrust me"},"id":"c1"}]},
{"items":[{"message":"done"}]}]}`, nil)
	e := &editor{choose: func(sdk.RequestPermissionRequest) sdk.PermissionOptionKind { return sdk.PermissionOptionKindRejectOnce }}
	conn := s.edits(t, e)
	say(t, conn, s.newSession(t, conn), "do it")
	if len(e.asked) != 1 {
		t.Fatalf("asked %d times", len(e.asked))
	}
	b, err := json.Marshal(e.asked[0].ToolCall.Content)
	if err != nil {
		t.Fatal(err)
	}
	shown := *e.asked[0].ToolCall.Title + string(b)
	if strings.ContainsAny(shown, "\u202e\x1b") || strings.Contains(shown, `\u001b`) ||
		!strings.Contains(shown, "U+202E") || !strings.Contains(shown, "touch made") {
		t.Errorf("shown is %q", shown)
	}
}

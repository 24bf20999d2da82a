package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/testkit/modeltest"
)

// modelled is a Kerf whose model is a server that remembers what it was asked.
func modelled(t *testing.T, rounds ...modeltest.Round) (served, *modeltest.Server) {
	t.Helper()
	model := modeltest.Start(t, rounds...)
	s := serving(t, "", nil).configure(t, fmt.Sprintf("model_provider = \"m\"\n[model_providers.m]\nname = "+
		"\"m\"\nbase_url = %q\nwire_api = \"responses\"\n", model.URL))
	return s, model
}

// saying are rounds of one message each.
func saying(t *testing.T, texts ...string) []modeltest.Round {
	t.Helper()
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = fmt.Sprintf(`{"items":[{"message":%q}]}`, text)
	}
	return rounds(t, all...)
}

// rounds reads the rounds of a scenario.
func rounds(t *testing.T, texts ...string) []modeltest.Round {
	t.Helper()
	all := make([]modeltest.Round, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal(fmt.Appendf(nil, `{"Script":%s}`, text), &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestACPPromptsCarryImagesAndContext(t *testing.T) {
	s, model := modelled(t, saying(t, "seen")...)
	conn := s.edits(t, &editor{})
	id := s.newSession(t, conn)
	dot := base64.StdEncoding.EncodeToString(pixel())
	mime := "text/plain"
	_, err := conn.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{
		sdk.TextBlock("compare"), sdk.ImageBlock(dot, "image/png"),
		sdk.ResourceLinkBlock("notes", "file:///w/notes.md"),
		sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: &sdk.TextResourceContents{Uri: "file:///w/a%20b.txt", Text: "embedded words", MimeType: &mime}}),
		sdk.ResourceBlock(sdk.EmbeddedResourceResource{BlobResourceContents: &sdk.BlobResourceContents{Uri: "file:///w/x.bin", Blob: "/////w=="}}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	body := string(model.Request(t, 0).Body)
	for _, want := range []string{"compare", "data:image/png;base64,", "[@notes](file:///w/notes.md)", "embedded words",
		"/w/a b.txt", "/w/x.bin: 4 bytes that are not text"} {
		if !strings.Contains(body, want) {
			t.Errorf("the request lacks %q", want)
		}
	}
	for name, block := range map[string]sdk.ContentBlock{"audio": sdk.AudioBlock("AAAA", "audio/wav"),
		"no image": sdk.ImageBlock("AAAA", "text/html"), "blank": sdk.TextBlock(" ")} {
		if _, err := conn.Prompt(t.Context(),
			sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{block}}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if n := len(model.Requests()); n != 1 {
		t.Errorf("%d requests were made", n)
	}
}

func TestACPSessionsAreListedInPagesResumedAndForked(t *testing.T) {
	texts := []string{"one", "two", "three", "four"}
	s, model := modelled(t, saying(t, texts...)...)
	conn := s.edits(t, &editor{})
	first := s.newSession(t, conn)
	say(t, conn, first, "the word is plum\nand more")
	if _, err := conn.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: first}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ResumeSession(t.Context(),
		sdk.ResumeSessionRequest{SessionId: first, Cwd: s.dir, McpServers: []sdk.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	say(t, conn, first, "again")
	fork, err := conn.UnstableForkSession(t.Context(),
		sdk.UnstableForkSessionRequest{SessionId: sdk.SessionId(first), Cwd: s.dir})
	if err != nil || fork.SessionId == first {
		t.Fatalf("the fork is %+v, %v", fork, err)
	}
	say(t, conn, fork.SessionId, "in the fork")
	for i := 1; i < 3; i++ {
		if !strings.Contains(string(model.Request(t, i).Body), "the word is plum") {
			t.Errorf("request %d does not know the first turn", i)
		}
	}
	seen := map[sdk.SessionId]string{}
	var cursor *string
	for {
		page, err := conn.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: &s.dir, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range page.Sessions {
			if _, twice := seen[info.SessionId]; twice {
				t.Errorf("%s is listed twice", info.SessionId)
			}
			seen[info.SessionId] = *info.Title
		}
		if cursor = page.NextCursor; cursor == nil {
			break
		}
	}
	if len(seen) != 2 || !strings.HasPrefix(seen[first], "the word is plum") {
		t.Errorf("listed are %q", seen)
	}
}

// TestACPPassesServersOn: the editor's MCP servers serve its session, asked for
// like any other, and no other session.
func TestACPPassesServersOn(t *testing.T) {
	r, url := remote(t)
	offer(r, "x", "Does x.", "the tool ran", nil)
	turn := `{"items":[{"call":"mcp__r__x","args":{}}]},{"items":[{"message":"done"}]},`
	s := serving(t, `{"version":1,"title":"calls","rounds":[`+strings.Repeat(turn, 100)+`{"items":[]}]}`, nil)
	e := &editor{}
	conn := s.edits(t, e)
	res, err := conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: s.dir, McpServers: []sdk.McpServer{
		{Http: &sdk.McpServerHttpInline{Type: "http", Name: "r", Url: url, Headers: []sdk.HttpHeader{}}}}})
	if err != nil {
		t.Fatal(err)
	}
	ran := func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, u := range e.updates {
			if u.ToolCallUpdate != nil && len(u.ToolCallUpdate.Content) > 0 && u.ToolCallUpdate.Content[0].Content != nil &&
				strings.Contains(u.ToolCallUpdate.Content[0].Content.Content.Text.Text, "the tool ran") {
				return true
			}
		}
		return false
	}
	for n := 0; n < 40 && !ran(); n++ { // the server joins when it is ready
		say(t, conn, res.SessionId, "call it")
	}
	if !ran() || len(e.asked) == 0 {
		t.Errorf("the tool ran: %t, asked %d times", ran(), len(e.asked))
	}
	asked := len(e.asked)
	say(t, conn, s.newSession(t, conn), "call it")
	if len(e.asked) != asked {
		t.Error("a session without the server called its tool")
	}
}

// pixel is the smallest of pictures.
func pixel() []byte {
	return []byte(
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
			"\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82")
}

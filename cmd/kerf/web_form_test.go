//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/testkit/browser"
)

// forms are what the server of [askingServer] asks for, in turn.
var forms = []string{`{"type":"object","required":["name","age","sure"],"properties":{
"name":{"type":"string","title":"Your \u202eeman","description":"<b>as</b> in <script>hit(1)</script>","minLength":2},
"age":{"type":"integer","minimum":0,"maximum":150,"default":30},
"mail":{"type":"string","format":"email"},
"note":{"type":"string","default":"a\u200bb"},
"sure":{"type":"boolean"},
"colour":{"type":"string","oneOf":[{"const":"delete all","title":"Keep <i>all</i>"},{"const":"keep","title":"Delete all"}]},
"many":{"type":"array","maxItems":2,"items":{"type":"string","enum":["a","b","c"]}}}}`,
	`{"type":"object","properties":{}}`}

// askingServer is an MCP server with a tool that asks with a form and returns what it was told.
func askingServer(t *testing.T) string {
	server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	next := 0
	server.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			schema := forms[next%len(forms)]
			next++
			got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who are <you>?", RequestedSchema: json.RawMessage(schema)})
			if err != nil {
				return nil, err
			}
			content, err := json.Marshal(got.Content)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: got.Action + " " + string(content)}}}, err
		})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(httpServer(server), nil))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestWebFillsInForms fills in the form of an MCP server: it is shown as it is, what does not
// fit is not sent, and the server is told what was chosen and written and nothing else. Then it
// declines one, and says yes to one without fields.
func TestWebFillsInForms(t *testing.T) {
	v := newVictim(t)
	v.write(filepath.Join(v.own, "config.toml"), fmt.Sprintf("[mcp_servers.tools]\nurl = %q\nrequired = true\n"+
		"default_tools_approval_mode = \"approve\"\n", askingServer(t)))
	v.must("trust", "--yes")
	ask := call("mcp__tools__ask", map[string]any{})
	defer v.served(ask, ask, ask, ends("Thank you."))()
	attach := v.command(context.Background(), "attach", "--new", "--json", "ask me")
	out, err := os.Create(filepath.Join(v.base, "events"))
	if err != nil {
		t.Fatal(err)
	}
	attach.Stdout, attach.Stderr = out, out
	if err := attach.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = attach.Process.Kill(); _ = attach.Wait(); _ = out.Close() }()
	u := v.web("--control")
	p := browser.Open(t)
	p.Go(u.String())
	p.Wait(ready + `document.title.startsWith("Sessions")`)
	for i := 0; !browser.Eval[bool](p, `Boolean(document.querySelector("main [data-nav]"))`); i++ {
		if i > 200 {
			b, _ := os.ReadFile(out.Name())
			t.Fatalf("no session runs: %s", b)
		}
		time.Sleep(100 * time.Millisecond)
		p.Go(at(u, "/now"))
	}
	p.Go(browser.Eval[string](p, `document.querySelector("main [data-nav]").href`))
	p.Wait(`document.querySelector(".question .field")`)
	text := p.Text("document.querySelector('.question').innerText")
	for _, want := range []string{"Who are <you>?", "Your <U+202E>eman", "<b>as</b> in <script>hit(1)</script>",
		"Keep <i>all</i> sends delete all", "Delete all sends keep", "left empty, the server is given its own value: a<U+200B>b",
		"whole number, 0 to 150", "at least 2 characters"} {
		if !strings.Contains(text, want) {
			t.Errorf("the form does not show %q:\n%s", want, text)
		}
	}
	if found := browser.Eval[string](p, foreign); found != "" {
		t.Error(found)
	}
	field := func(name string) string { // the element of a field, as JavaScript
		return fmt.Sprintf(`[...document.querySelectorAll(".question .field")].find(f => [...f.querySelectorAll("label,legend")].some(`+
			`l => (l.querySelector("code") ?? l.querySelector("b"))?.textContent === %q)).querySelector("input,textarea")`, name)
	}
	if got := p.Text(field("age") + ".value + '|' + " + field("note") + ".value"); got != "30|" {
		t.Errorf("age and note are filled in with %q", got)
	}
	p.Shot("form")
	judged(t, p, "the form")
	p.Size(360, 740, true)
	p.Shot("form-phone")
	judged(t, p, "the form on a phone")
	if wide := browser.Eval[int](p, "document.documentElement.scrollWidth"); wide > 360 {
		t.Errorf("the form is %d wide on a phone", wide)
	}
	p.Size(1200, 800, false)
	send := button("Send the form")
	p.Wait("!" + send + ".disabled")
	press(t, p, "Send the form") // the browser itself names what is missing
	if !browser.Eval[bool](p, field("name")+".matches(':invalid') && document.activeElement === "+field("name")) {
		t.Error("a form without a name is sent")
	}
	tabTo(t, p, field("name"))
	p.Keys("A")
	radios := `[...document.querySelectorAll(".question input[type=radio]")]`
	for i := range browser.Eval[int](p, radios+".length") { // two groups, of which each has a value 1
		radio := fmt.Sprintf("%s[%d]", radios, i)
		if browser.Eval[bool](p, radio+".value === '1'") {
			check(t, p, radio)
		}
	}
	press(t, p, "Send the form")
	p.Wait(`document.querySelector(".question .result").textContent.includes("name: give at least 2 characters")`)
	tabTo(t, p, field("name"))
	p.Keys("Ann <b>\r") // enter sends nothing
	for _, value := range []string{"0", "2"} {
		check(t, p, fmt.Sprintf(`document.querySelector(".question input[type=checkbox][value='%s']")`, value))
	}
	id := p.Text(`document.querySelector(".question").dataset.question`)

	// Another form's values, another text or a value that is not offered are refused.
	in := visit(t, u)
	shown := p.Text(`document.querySelector("[name=shown]").value`)
	sid := strings.TrimPrefix(browser.Eval[string](p, "location.pathname"), "/now/")
	headers := map[string]string{"Cookie": in.cookie, "Origin": "http://" + u.Host, "Accept": "text/plain",
		"Content-Type": "application/x-www-form-urlencoded"}
	for _, form := range []url.Values{
		{"question": {id}, "shown": {strings.Repeat("0", 64)}, "decision": {"once"}, "field.0": {"30"}, "field.4": {"Ann"}, "field.6": {"0"}},
		{"question": {id}, "shown": {shown}, "decision": {"once"}},
		{"question": {id}, "shown": {shown}, "decision": {"always"}},
		{"question": {id}, "shown": {shown}, "decision": {"once"}, "field.0": {"30"}, "field.4": {"Ann"}, "field.6": {"7"}},
	} {
		if code, said, _ := in.ask("POST", "/now/"+sid+"/answer", form.Encode(), headers); code != 400 {
			t.Errorf("%v: answers %d %s", form, code, said)
		}
	}
	press(t, p, "Send the form")
	p.Wait(`document.querySelector("main").textContent.includes('accept {')`)
	told := p.Text(`[...document.querySelectorAll("pre.output")].map(e => e.textContent).find(t => t.includes("accept {"))`)
	want := `accept {"age":30,"colour":"keep","many":["a","c"],"name":"Ann \u003cb\u003e","note":"a<U+200B>b","sure":false}`
	if !strings.Contains(told, want) {
		t.Errorf("the server was told %s", told)
	}

	p.Wait(`document.querySelector(".question") && document.querySelector(".question").dataset.question !== ` + fmt.Sprintf("%q", id))
	p.Wait(button("Send the form") + " && !" + button("Send the form") + ".disabled") // the one without fields
	press(t, p, "Send the form")
	p.Wait(`document.querySelector("main").textContent.includes('accept null')`)
	p.Wait(`document.querySelector(".question .field")`)
	p.Wait("!" + button("No") + ".disabled")
	press(t, p, "No") // with the form empty
	p.Wait(`document.querySelector("#state").textContent.startsWith("idle")`)
	if !browser.Eval[bool](p, `document.querySelector("main").textContent.includes("decline null")`) {
		t.Error("the server was not told of the no")
	}
	if list := p.Problems(); len(list) > 0 && !strings.Contains(strings.Join(list, ""), "400") {
		t.Errorf("the browser complains: %q", list)
	}
}

package tools_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/protocol"
)

func TestNames(t *testing.T) {
	want := []string{"read_file", "write_file", "edit_file", "apply_patch", "exec_command", "write_stdin", "list_dir",
		"glob", "grep", "update_plan", "view_image", "web_fetch", "undo",
		"request_user_input", "spawn_agent", "send_input", "wait", "close_agent", "list_agents", "resume_agent"}
	if d := cmp.Diff(want, tools.Names()); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	seen := map[string]string{}
	for _, tl := range tools.All() {
		s := tl.Spec()
		for _, n := range append([]string{s.Name}, s.Aliases...) {
			if other, twice := seen[n]; twice {
				t.Errorf("%s names both %s and %s", n, other, s.Name)
			}
			seen[n] = s.Name
			if found, ok := tools.Lookup(n); !ok || found.Spec().Name != s.Name {
				t.Errorf("%s is not found", n)
			}
		}
		if s.Parallel != slices.Contains([]string{"read_file", "list_dir", "glob", "grep", "view_image", "web_fetch", "wait",
			"list_agents"}, s.Name) {
			t.Errorf("%s: parallel is %v", s.Name, s.Parallel)
		}
		if len(s.Description) < 40 {
			t.Errorf("%s has no words", s.Name)
		}
	}
	for _, n := range strings.Fields("Read Write Edit MultiEdit ApplyPatch Bash Glob Grep LS TodoWrite read_code " +
		"edit_code replace run_shell_command container.exec shell local_shell") {
		if _, ok := seen[n]; !ok {
			t.Errorf("alias %s is missing", n)
		}
	}
	if _, ok := tools.Lookup("nonsense"); ok {
		t.Error("nonsense is found")
	}
}

// An outside judge reads the schemas and agrees with the decoder.
func TestSchemas(t *testing.T) {
	samples := []string{
		`{}`, `{"file_path":"a"}`, `{"file_path":"a","content":"b"}`,
		`{"file_path":"a","old_string":"b","new_string":"c","edits":[{"old_string":"a","new_string":"b"}]}`,
		`{"file_path":7}`, `{"cmd":"ls","tty":true}`, `{"cmd":"ls","tty":"yes"}`, `{"pattern":"a"}`,
		`{"pattern":"a","limit":0}`, `{"path":"a","limit":1}`,
		`{"plan":[{"step":"a","status":"pending"}]}`, `{"plan":[{"step":"a","status":"x"}]}`, `{"input":"x"}`,
		`{"session_id":1}`, `{"session_id":1.5}`, `{"unknown":1}`, `[]`,
	}
	for _, tl := range tools.All() {
		spec := tl.Spec()
		var schema jsonschema.Schema
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatalf("%s: %v in %s", spec.Name, err, spec.Schema)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", spec.Name, err)
		}
		for _, s := range samples {
			var v any
			if err := json.Unmarshal([]byte(s), &v); err != nil {
				t.Fatal(err)
			}
			valid := resolved.Validate(v) == nil
			_, err := newDisk(nil).prepare(spec.Name, s)
			var refusal *tool.Error
			shape := errors.As(err, &refusal) && refusal.Code == tool.InvalidArguments &&
				!strings.Contains(refusal.Message, "; give ") && !strings.Contains(refusal.Message, "found both") &&
				!strings.Contains(refusal.Message, ": the patch")
			if valid == shape {
				t.Errorf("%s %s: the schema says %v, the decoder says %v", spec.Name, s, valid, err)
			}
		}
	}
	var all strings.Builder
	for _, tl := range tools.All() {
		fmt.Fprintf(&all, "%s %s\n", tl.Spec().Name, tl.Spec().Schema)
	}
	compare(t, "testdata/schemas.txt", all.String())
}

// compare compares got with a golden file, which KERF_UPDATE=1 rewrites.
func compare(t *testing.T, name, got string) {
	t.Helper()
	if os.Getenv("KERF_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func BenchmarkSpecs(b *testing.B) {
	for b.Loop() {
		for _, t := range tools.All() {
			t.Spec()
		}
	}
}

func TestCommands(t *testing.T) {
	const s = time.Second
	bash := func(line string) []string { return []string{"bash", "-c", line} }
	for _, c := range []struct {
		name, args string
		want       tool.Action
	}{
		{"exec_command", `{"cmd":"ls -l"}`, tool.Command{Line: "ls -l", Argv: bash("ls -l"), Dir: "/w", Yield: 10 * s}},
		{"exec_command", `{"cmd":"ls","workdir":"sub/..","tty":true,"yield_time_ms":1,"timeout_ms":5000,"max_output_tokens":7}`,
			tool.Command{Line: "ls", Argv: bash("ls"), Dir: "/w", TTY: true, Yield: s / 4, Timeout: 5 * s, MaxTokens: 7}},
		{"exec_command", `{"cmd":"ls","workdir":"/tmp/../etc","yield_time_ms":9999999,"sandbox_permissions":"require_escalated","justification":"why not"}`,
			tool.Command{Line: "ls", Argv: bash("ls"), Dir: "/etc", Yield: 30 * s, Escalate: true, Reason: "why not"}},
		{"Bash", `{"command":"make","timeout":1000,"description":"build"}`, tool.Command{Line: "make", Argv: bash("make"), Dir: "/w", Timeout: s, Yield: 2 * s}},
		{"Bash", `{"command":"make"}`, tool.Command{Line: "make", Argv: bash("make"), Dir: "/w", Timeout: 120 * s, Yield: 121 * s}},
		{"Bash", `{"command":"serve","run_in_background":true}`, tool.Command{Line: "serve", Argv: bash("serve"), Dir: "/w", Yield: s / 4}},
		{"run_shell_command", `{"command":"make","directory":"sub"}`, tool.Command{Line: "make", Argv: bash("make"), Dir: "/w/sub", Timeout: 120 * s, Yield: 121 * s}},
		{"container.exec", `{"cmd":["bash","-lc","ls | wc"],"workdir":"a"}`, tool.Command{Line: "ls | wc", Argv: []string{"bash", "-lc", "ls | wc"}, Dir: "/w/a", Timeout: 120 * s, Yield: 121 * s}},
		{"shell", `{"command":["grep","it's","a b","x"]}`, tool.Command{Line: `grep 'it'\''s' 'a b' x`, Argv: []string{"grep", "it's", "a b", "x"}, Dir: "/w", Timeout: 120 * s, Yield: 121 * s}},
		{"local_shell", `{"type":"exec","command":["ls",""],"working_directory":"/w/b","timeout_ms":3000,"env":{},"user":null}`, tool.Command{Line: "ls ''", Argv: []string{"ls", ""}, Dir: "/w/b", Timeout: 3 * s, Yield: 4 * s}},
		{"write_stdin", `{"session_id":3,"chars":"y\n"}`, tool.WriteStdin{Process: 3, Input: "y\n", Yield: s}},
		{"write_stdin", `{"session_id":3,"yield_time_ms":999999999}`, tool.WriteStdin{Process: 3, Yield: 300 * s}},
		// What the shell would still expand or do is left to the shell.
		{"exec_command", `{"cmd":"apply_patch <<EOF\n$x\nEOF"}`, tool.Command{Line: "apply_patch <<EOF\n$x\nEOF", Argv: bash("apply_patch <<EOF\n$x\nEOF"), Dir: "/w", Yield: 10 * s}},
		{"exec_command", `{"cmd":"apply_patch 'x' | cat"}`, tool.Command{Line: "apply_patch 'x' | cat", Argv: bash("apply_patch 'x' | cat"), Dir: "/w", Yield: 10 * s}},
	} {
		got, err := newDisk(nil).prepare(c.name, c.args)
		if err != nil {
			t.Errorf("%s %s: %v", c.name, c.args, err)
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.name, c.args, d)
		}
		line := ""
		if cmd, ok := c.want.(tool.Command); ok {
			line = cmd.Line
		}
		if got := tools.CommandLine(tool.Call{Name: c.name, Args: json.RawMessage(c.args)}); got != line {
			t.Errorf("%s %s: line %q, want %q", c.name, c.args, got, line)
		}
	}
}

// Every literal way to write a patch into a command becomes a change.
func TestPatchInCommand(t *testing.T) {
	const body = "*** Begin Patch\n*** Add File: f\n+a\n*** End Patch\n"
	for cmd, path := range map[string]string{
		"apply_patch <<'EOF'\n" + body + "EOF\n":                        "/w/f",
		"apply_patch <<\"X\"\n" + body + "X\n":                          "/w/f",
		"apply_patch <<EOF\n" + body + "EOF":                            "/w/f",
		"cd a/b && apply_patch <<'EOF'\n" + body + "EOF\n":              "/w/a/b/f",
		"cd /w/c && apply_patch <<'EOF'\n" + body + "EOF\n":             "/w/c/f",
		"apply_patch '" + body + "'":                                    "/w/f",
		"applypatch \"" + body + "\"":                                   "/w/f",
		"apply_patch <<-'EOF'\n\t" + body + "\tEOF\n":                   "/w/f",
		"cd $HOME && apply_patch <<'EOF'\n" + body + "EOF\n":            "",
		"cd a; apply_patch <<'EOF'\n" + body + "EOF\n":                  "",
		"apply_patch <<'EOF' > out\n" + body + "EOF\n":                  "",
		"! apply_patch <<'EOF'\n" + body + "EOF\n":                      "",
		"apply_patch <<'EOF' &\n" + body + "EOF\n":                      "",
		"X=1 apply_patch <<'EOF'\n" + body + "EOF\n":                    "",
		"cd a && apply_patch <<'EOF' && rm -rf b\n" + body + "EOF\n":    "",
		"echo apply_patch <<'EOF'\n" + body + "EOF\n":                   "",
		"(cd a && apply_patch <<'EOF'\n" + body + "EOF\n)":              "",
		"cd - && apply_patch <<'EOF'\n" + body + "EOF\n":                "",
		"cd a && apply_patch <<'EOF'\n" + body + "EOF\n echo something": "",
	} {
		action, err := newDisk(nil).prepare("exec_command", args("cmd", cmd))
		if err != nil {
			t.Errorf("%q: %v", cmd, err)
			continue
		}
		got := ""
		if c, ok := action.(tool.Change); ok {
			got = c.Set[0].Path
		}
		if got != path {
			t.Errorf("%q changes %q, want %q", cmd, got, path)
		}
	}
}

func TestPlanIsShown(t *testing.T) {
	action, err := newDisk(nil).prepare("TodoWrite", `{"todos":[{"content":"a","status":"completed","activeForm":"A"}]}`)
	want := tool.Answer{Result: tool.Result{Success: true, Output: "Plan updated"},
		Todo: &protocol.TodoList{Steps: []protocol.Step{{Step: "a", Status: "completed"}}}}
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(tool.Action(want), action); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestReadKinds(t *testing.T) {
	d := newDisk(map[string]string{
		"a.png": "\x89PNG\r\n\x1a\nrest", "b.webp": "RIFF....WEBPrest", "c.pdf": "%PDF-1.7\n\x00", "d.bin": "a\x00b",
		"e.txt": "\xff\xfeh\x00\xac\x20\n\x00", "f.txt": "caf\xe9\n", "g.txt": "\xef\xbb\xbfx\n",
		"h.txt": strings.Repeat("x", 5000) + "\nend\n",
	})
	if r := d.call(t, "read_file", `{"file_path":"a.png"}`); len(r.Images) != 1 ||
		r.Images[0] != "data:image/png;base64,iVBORw0KGgpyZXN0" {
		t.Errorf("png: %+v", r)
	}
	if r := d.call(t, "read_file", `{"file_path":"b.webp"}`); len(r.Images) != 1 ||
		!strings.HasPrefix(r.Images[0], "data:image/webp;") {
		t.Errorf("webp: %+v", r)
	}
	if r := d.call(t, "view_image", `{"path":"a.png"}`); len(r.Images) != 1 {
		t.Errorf("view_image: %+v", r)
	}
	if r := d.call(t, "view_image", `{"path":"g.txt"}`); r.Error == nil || r.Error.Code != tool.InvalidArguments {
		t.Errorf("view_image of text: %+v", r)
	}
	for name, want := range map[string]string{
		"c.pdf": "BINARY_FILE: c.pdf is binary (PDF document, 10 bytes) and is not shown. Use a command that understands it",
		"d.bin": "BINARY_FILE: d.bin is binary (unknown format, 3 bytes) and is not shown. Use a command that understands it",
	} {
		if r := d.call(t, "read_file", args("file_path", name)); r.Error == nil || r.Error.Error() != want {
			t.Errorf("%s: %v, want %s", name, r.Error, want)
		}
	}
	for name, want := range map[string]string{
		"e.txt": "   1 | h€\n", "f.txt": "   1 | caf\uFFFD\n", "g.txt": "   1 | x\n",
		"h.txt": "   1 | " + strings.Repeat("x", 2000) + "… (3000 more bytes in this line)\n   2 | end\n",
	} {
		r := d.call(t, "read_file", args("file_path", name))
		if got, _, _ := strings.Cut(r.Output, "versionInfo"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if r.VersionInfo == nil || r.VersionInfo.ContentHash != d.hash(name) || d.seen[abs(name)] == nil {
			t.Errorf("%s: version %+v, seen %v", name, r.VersionInfo, d.seen[abs(name)])
		}
	}
}

// A long file is shown in pages that join to the whole.
func TestReadPages(t *testing.T) {
	var text, got strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&text, "line %d %s\n", i+1, strings.Repeat("y", i%60))
	}
	d := newDisk(map[string]string{"a": text.String()})
	for offset, pages := 1, 0; offset > 0; pages++ {
		r := d.call(t, "read_file", args("file_path", "a", "offset", offset))
		if r.Error != nil || len(r.Output) > 40_000 || pages > 20 {
			t.Fatalf("page %d: %v, %d bytes", pages, r.Error, len(r.Output))
		}
		offset = 0
		for line := range strings.Lines(r.Output) {
			if _, l, ok := strings.Cut(line, " | "); ok {
				got.WriteString(l)
			} else if _, rest, ok := strings.Cut(line, "read on with offset "); ok {
				if _, err := fmt.Sscanf(rest, "%d", &offset); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if got.String() != text.String() {
		t.Error("the pages do not join to the file")
	}
}

func TestEditKeepsEncodingAndMode(t *testing.T) {
	d := newDisk(map[string]string{"a": "\xff\xfeh\x00\n\x00", "b": "caf\xe9 x\n"})
	if r := d.call(t, "edit_file", args("file_path", "a", "old_string", "h", "new_string", "€")); r.Error != nil ||
		d.text("a") != "\xff\xfe\xac\x20\n\x00" {
		t.Errorf("UTF-16: %v, %q", r.Error, d.text("a"))
	}
	if r := d.call(t, "edit_file", args("file_path", "b", "old_string", "x", "new_string", "y")); r.Error != nil ||
		d.text("b") != "caf\xe9 y\n" {
		t.Errorf("bytes: %v, %q", r.Error, d.text("b"))
	}
	if r := d.call(t, "edit_file", args("file_path", "b", "old_string", "y", "new_string", "€")); r.Error == nil ||
		r.Error.Code != tool.EncodingError {
		t.Errorf("what the file cannot hold: %v", r.Error)
	}
	for name, img := range d.files {
		if img.Mode != 0o640 {
			t.Errorf("%s has mode %o", name, img.Mode)
		}
	}
	d.call(t, "write_file", args("file_path", "c", "content", "new"))
	if got := d.files["/w/c"].Mode; got != 0o644 {
		t.Errorf("a new file has mode %o", got)
	}
}

func TestEditCodeResults(t *testing.T) {
	d := newDisk(map[string]string{"a": "1\n", "b": "2\n"})
	r := d.call(t, "edit_code", `{"edits":[{"filePath":"a","targetString":"1","replacementString":"one"},{"filePath":"b","targetString":"none","replacementString":"x"}],"transactionMode":"best-effort"}`)
	got := r.Fields["results"].([]map[string]any)
	if r.Success || got[0]["success"] != true || got[1]["success"] != false || d.text("a") != "one\n" {
		t.Errorf("best effort: %+v", r)
	}
	r = d.call(t, "edit_code", `{"edits":[{"filePath":"a","targetString":"one","replacementString":"1"},{"filePath":"b","targetString":"none","replacementString":"x"}]}`)
	got = r.Fields["results"].([]map[string]any)
	if r.Success || got[0]["success"] != false || got[1]["success"] != false || d.text("a") != "one\n" {
		t.Errorf("all or nothing: %+v", r)
	}
}

// TestAPatchByHalf tells that nothing was written only where that is so.
func TestAPatchByHalf(t *testing.T) {
	for _, one := range []bool{true, false} {
		d := newDisk(map[string]string{"a": "1\n", "b": "2\n"})
		text := "*** Begin Patch\n*** Update File: a\n@@\n-none\n+x\n"
		if !one {
			text += "*** Update File: b\n@@\n-2\n+two\n"
		}
		r := d.call(t, "apply_patch", args("input", text+"*** End Patch\n", "transactionMode", "best-effort"))
		if r.Success || r.Error == nil || strings.Contains(r.Error.Message, "Nothing was written") != one ||
			(d.text("b") == "2\n") != one {
			t.Errorf("%+v", r)
		}
	}
}

// Whatever moved between the observation and the call, no line that someone else wrote is
// lost unseen: it is in the file afterwards, or the call was refused and the file
// is as it was.
func TestStaleChangesLoseNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "lines")
		var base []string
		for i := range n {
			base = append(base, fmt.Sprintf("line %d", i))
		}
		text := func(lines []string) string { return strings.Join(lines, "\n") + "\n" }
		d := newDisk(map[string]string{"a": text(base)})
		d.call(t, "read_file", `{"file_path":"a"}`)

		theirs := slices.Clone(base)
		at := rapid.IntRange(0, n-1).Draw(rt, "theirs")
		if rapid.Bool().Draw(rt, "insert") {
			theirs = slices.Insert(theirs, at, "theirs")
		} else {
			theirs[at] = "theirs"
		}
		d.put("a", text(theirs))
		if rapid.Bool().Draw(rt, "forgotten") {
			d.forget("a")
		}
		mine := rapid.IntRange(0, n-1).Draw(rt, "mine")
		var r tool.Result
		if rapid.Bool().Draw(rt, "write") {
			ours := slices.Clone(base)
			ours[mine] = "ours"
			r = d.call(t, "write_file", args("file_path", "a", "content", text(ours)))
		} else {
			r = d.call(t, "edit_file", args("file_path", "a", "old_string", base[mine]+"\n", "new_string", "ours\n"))
		}
		got := d.text("a")
		switch {
		case !strings.Contains(got, "theirs\n"):
			rt.Fatalf("their line is lost: %q", got)
		case r.Error == nil && !strings.Contains(got, "ours\n"):
			rt.Fatalf("our line is lost: %q", got)
		case r.Error != nil && got != text(theirs):
			rt.Fatalf("%v, but written: %q", r.Error, got)
		case r.Error != nil && (r.Error.Code != tool.VersionMismatch ||
			!strings.Contains(r.Error.Message, "re-read with read_file")):
			rt.Fatalf("refused with %v", r.Error)
		}
	})
}

// The conformance cases, through the tool and with versions.
func TestConformance(t *testing.T) {
	files := []string{"../../text/edit/testdata/cases.jsonl"}
	more, _ := filepath.Glob("../../../../shared/conformance/edit/*.jsonl")
	for _, name := range append(files, more...) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var c struct {
				ID, Input, Outcome, Output, Warning string
				Args                                map[string]any
				Version                             int `json:"current_version"`
			}
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			t.Run(c.ID, func(t *testing.T) {
				d := newDisk(map[string]string{"file.txt": c.Input})
				d.versions["/w/file.txt"] = max(1, c.Version)
				switch c.Args["expectedHash"] {
				case "{{HASH}}":
					c.Args["expectedHash"] = d.hash("file.txt")
				case "{{STALE}}":
					c.Args["expectedHash"] = "0000000000000000"
				}
				c.Args["file_path"] = "file.txt"
				raw, _ := json.Marshal(c.Args)
				r := d.call(t, "edit_file", string(raw))
				outcome, warning := "ok", ""
				if r.Error != nil {
					outcome = strings.ToLower(r.Error.Code)
				}
				for _, w := range r.Warnings {
					warning += w.Code
				}
				if outcome != c.Outcome || warning != c.Warning || d.text("file.txt") != c.Output {
					t.Errorf("got %s %q %q, want %s %q %q", outcome, warning, d.text("file.txt"), c.Outcome, c.Warning, c.Output)
				}
			})
		}
	}
}

func TestHugeArguments(t *testing.T) {
	huge := func(n int) string { return `{"file_path":"a","content":"` + strings.Repeat("x", n) + `"}` }
	d := newDisk(nil)
	if r := d.call(t, "write_file", huge(50<<20)); r.Error != nil || len(d.text("a")) != 50<<20 {
		t.Errorf("50 MB: %v", r.Error)
	}
	if r := d.call(t, "write_file", huge(70<<20)); r.Error == nil || r.Error.Code != tool.TooLarge {
		t.Errorf("70 MB: %v", r.Error)
	}
	if r := d.call(t, "read_file", strings.Repeat("[", 1<<20)); r.Error == nil || r.Error.Code != tool.InvalidArguments {
		t.Errorf("deep: %v", r.Error)
	}
}

// Whatever the arguments are, the answer is an action or a refusal.
func FuzzPrepare(f *testing.F) {
	all := tools.All()
	var names []string
	for _, t := range all {
		names = append(append(names, t.Spec().Name), t.Spec().Aliases...)
	}
	scripts, _ := filepath.Glob("testdata/*.txtar")
	for _, s := range scripts {
		data, _ := os.ReadFile(s)
		for line := range strings.Lines(string(data)) {
			if name, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok && slices.Contains(names, name) {
				f.Add(uint8(slices.Index(names, name)), []byte(rest))
			}
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, raw []byte) {
		name := names[int(n)%len(names)]
		d := newDisk(map[string]string{"a.txt": "one\ntwo\r\n", "b.txt": "x", "a.go": "package a\n"})
		d.seen["/w/a.txt"] = d.files["/w/b.txt"]
		action, err := d.prepare(name, string(raw))
		var refusal *tool.Error
		switch {
		case err != nil && !errors.As(err, &refusal):
			t.Fatalf("%s %q: %v is not a refusal", name, raw, err)
		case err == nil && action == nil:
			t.Fatalf("%s %q: nothing", name, raw)
		case refusal != nil && (refusal.Code == "" || refusal.Message == ""):
			t.Fatalf("%s %q: an empty refusal", name, raw)
		}
		if c, ok := action.(tool.Change); ok {
			for _, ch := range c.Set {
				if !strings.HasPrefix(ch.Path, "/w/") {
					t.Fatalf("%s %q changes %s", name, raw, ch.Path)
				}
			}
		}
	})
}

package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/tool"
)

// TestConversations plays the conversations in testdata/*.txtar. The archive's
// files that begin with disk/ are what is there at first; the comment is a list of
// operations, and the file "want" is what they told:
//
//	NAME JSON        call a tool
//	put PATH TEXT    change a file behind the model's back (\n is a line end)
//	forget PATH      drop the bytes of what the model last saw
//	cat PATH         show a file
//	answer MANNER    answer from now on in the manner of the JSON
//
// KERF_UPDATE=1 rewrites what is wanted.
func TestConversations(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, name := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			parts := sections(string(data))
			d := newDisk(nil)
			for _, p := range parts[1:] {
				if path, ok := strings.CutPrefix(p.name, "disk/"); ok {
					d.put(path, p.text)
				}
			}
			got, last := d.play(t, parts[0].text), parts[len(parts)-1]
			if os.Getenv("KERF_UPDATE") != "" {
				old, _, _ := strings.Cut(string(data), "-- want --\n")
				if err := os.WriteFile(name, []byte(old+"-- want --\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if last.name != "want" {
				t.Fatal("nothing is wanted")
			}
			if d := cmp.Diff(last.text, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

type section struct{ name, text string }

// sections cuts a txtar archive; the first section is its comment.
func sections(archive string) []section {
	all := []section{{}}
	for line := range strings.Lines(archive) {
		name, ok := strings.CutPrefix(strings.TrimSuffix(line, " --\n"), "-- ")
		if ok && strings.HasSuffix(line, " --\n") && (name == "want" || strings.HasPrefix(name, "disk/")) {
			all = append(all, section{name: name})
			continue
		}
		all[len(all)-1].text += line
	}
	return all
}

func (d *disk) play(t *testing.T, script string) string {
	var got strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fmt.Fprintf(&got, "> %s\n", line)
		operation, rest, _ := strings.Cut(line, " ")
		switch operation {
		case "put":
			path, text, _ := strings.Cut(rest, " ")
			d.put(path, strings.ReplaceAll(strings.ReplaceAll(text, `\n`, "\n"), `\r`, "\r"))
		case "forget":
			d.forget(rest)
		case "answer":
			d.manner = tool.Manner{}
			if err := json.Unmarshal([]byte(rest), &d.manner); err != nil {
				t.Fatal(line, err)
			}
		case "cat":
			got.WriteString(d.text(rest))
		default:
			got.WriteString(show(d.call(t, operation, rest)))
		}
	}
	return got.String()
}

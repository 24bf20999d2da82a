package tools_test

import (
	"strings"
	"testing"

	"kerf/internal/agent/tool"
)

// BenchmarkEditFile10MB plans one edit in the middle of a large file.
func BenchmarkEditFile10MB(b *testing.B) {
	for name, end := range map[string]string{"LF": "\n", "CRLF": "\r\n"} {
		line := "// a line of the file that says little, but says it" + end
		d := newDisk(map[string]string{"a": strings.Repeat(line, 100_000) + "the one" + end + strings.Repeat(line, 100_000)})
		d.seen[abs("a")] = d.files[abs("a")]
		call := args("file_path", "a", "old_string", "it\nthe one\n", "new_string", "it\nthe other\n")
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				a, err := d.prepare("edit_file", call)
				if c, ok := a.(tool.Change); err != nil || !ok || len(c.Set) != 1 {
					b.Fatal(err, a)
				}
			}
		})
	}
}

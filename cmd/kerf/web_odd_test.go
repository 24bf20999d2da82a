//go:build unix

package main

import (
	"html"
	"net/url"
	"os"
	"strings"
	"testing"
)

// TestWebShowsOddFiles has a command make what few programs expect: names with line breaks and
// bytes that are no UTF-8, a pipe, binary content, a line of megabytes. Each page tells what is
// there, in names that can be told apart, and stays small. When the directory is gone, its
// history is still shown.
func TestWebShowsOddFiles(t *testing.T) {
	v := newVictim(t)
	v.write("long.txt", "x\n")
	v.write("blob.bin", "\x00\x01\xff")
	v.write("new line.txt", "x\n")
	v.did("make odd files", call("exec_command", map[string]any{"cmd": `printf 'y\n' > "$(printf 'new\nline.txt')"
		printf 'caf\351\n' > "$(printf 'caf\351.txt')"; echo z > 'two  spaces'; mkfifo pipe; printf '\003\000' >> blob.bin
		head -c 3000000 /dev/zero | tr '\0' a > long.txt`}), ends("ok"))
	u := v.web("--control")
	in := visit(t, u)
	id, root := v.sessionIDs()[0], "root="+url.QueryEscape(v.repo)
	ask := func(path string, want ...string) {
		t.Helper()
		code, text, _ := in.ask("GET", path, "", map[string]string{"Cookie": in.cookie})
		if code != 200 || len(text) > 200_000 {
			t.Errorf("%s answers %d with %d bytes: %.200s", path, code, len(text), text)
		}
		for _, w := range want {
			if !strings.Contains(html.UnescapeString(text), w) {
				t.Errorf("%s does not show %q", path, w)
			}
		}
	}
	names := []string{"new␊line.txt", "caf<0xE9>.txt", "two <U+0020>spaces", "blob.bin"}
	moment := "/sessions/" + id + "/time?path="
	ask("/changes", names...)
	ask("/changes/1?"+root, append(names, "blob.bin (binary)", "2983616 bytes more of this line are not shown")...)
	ask("/changes/1?view=split&"+root, names...)
	ask("/changes/1/edits?"+root, "2983616 bytes more of this line are not shown")
	ask("/undo?unproven=1&"+root, names...)
	ask("/sessions/"+id, "make odd files")
	ask("/sessions/"+id+"/diff?turn="+in.turn(id), names...)
	ask(moment+"pipe", "is a FIFO", "new␊line.txt", "new line.txt")
	ask(moment+"blob.bin", "It is no text: 5 bytes.")
	ask(moment+"blob.bin&at=0", "It is no text: 3 bytes.")
	ask(moment+"long.txt", "bytes more of this line")
	ask(moment+url.QueryEscape("caf\xe9.txt"), "<code>caf<0xE9></code>")
	ask("/blame?"+root, names...)
	ask("/blame?"+root+"&path="+url.QueryEscape("new\nline.txt"), "<code>y</code>", "#1</a>")
	ask("/blame?"+root+"&path=long.txt", "bytes more of this line")
	ask("/blame?"+root+"&path=pipe", "is a FIFO")
	ask("/blame?"+root+"&path=blob.bin", "It is no text", "Its changes</a>")
	if err := os.RemoveAll(v.repo); err != nil {
		t.Fatal(err)
	}
	ask("/changes", names...)
	ask("/changes/1?"+root, "blob.bin")
	ask("/undo?"+root, "the directory is gone")
	ask("/blame?"+root, "No file is there.")
	ask(moment+"blob.bin&at=1", "It is no text: 5 bytes.")
	own := map[string]string{"Cookie": in.cookie, "Origin": "http://" + u.Host, "Content-Type": "application/x-www-form-urlencoded"}
	if code, text, _ := in.ask("POST", "/undo", root+"&entry=1&unproven=1&shown="+strings.Repeat("0", 64), own); code != 200 ||
		!strings.Contains(text, "the directory is gone") {
		t.Errorf("an undo where nothing is answers %d", code)
	}
	if _, err := os.Stat(v.repo); err == nil {
		t.Error("it made the directory")
	}
}

// turn is the id of the newest turn of a session.
func (v *visitor) turn(session string) string {
	v.t.Helper()
	_, text, _ := v.ask("GET", "/sessions/"+session, "", map[string]string{"Cookie": v.cookie})
	_, rest, _ := strings.Cut(text, `id="turn-`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

package witness_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kerf/internal/testkit/long"
)

// TestAFileThatTwoHaveOpenIsNotTheCommands: the command makes a file, and somebody else
// writes to it while it is still open. Of their opens, and of their closes, the kernel makes
// one notice each, as it does when the helper comes to read them late; here it stops.
func TestAFileThatTwoHaveOpenIsNotTheCommands(t *testing.T) {
	long.Slow(t)
	for _, c := range []struct {
		name, line, want string
		alone            bool
	}{
		{"made", "exec 3>n", "unproven n: - > theirs\nmine", false},
		{"made and moved", "exec 3>m", "proven m: theirs\nmine > -\nproven n: - > theirs\nmine from m\n" +
			"unproven m: - > theirs\nmine", false},
		{"made anew", "rm a; exec 3>a", "unproven a: 1 > theirs\nmine", false},
		{"made, written by nobody else", "exec 3>n", "proven n: - > theirs\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "")
			b.full = true
			others := helpers(t) // of tests before
			b.write("a", "1")
			if r, _ := b.run("printf 1 > a"); len(r.Unsure()) > 0 { // so that there is a helper
				t.Fatal(b.told(r))
			}
			name := filepath.Join(b.root, c.line[strings.LastIndexByte(c.line, '>')+1:])
			fifo := filepath.Join(b.home, "go")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			list := slices.DeleteFunc(helpers(t), func(pid int) bool { return slices.Contains(others, pid) })
			if len(list) != 1 {
				t.Fatalf("the helper is one of %v", list)
			}
			pid := list[0]
			then := ""
			if strings.HasSuffix(name, "/m") {
				then = "; mv m n"
			}
			x, cmd, out, box := b.start(fmt.Sprintf("%s; kill -STOP %d; echo theirs >&3; read line < %s; exec 3>&-; "+
				"kill -CONT %d%s", c.line, pid, fifo, pid, then))
			for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
				if text, _ := os.ReadFile(name); bytes.HasSuffix(text, []byte("theirs\n")) {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the command does not come to write: %s", out)
				}
			}
			var f *os.File
			var err error
			if !c.alone {
				if f, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0); err == nil {
					_, err = f.WriteString("mine")
				}
			}
			if err == nil {
				err = os.WriteFile(fifo, []byte("go\n"), 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			if f != nil {
				f.Close()
			}
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			box.Close()
			// When the helper finds out while the move is under way, what came by it is in doubt.
			if got := b.told(b.end(x)); got != c.want && (then == "" || got != "unproven n: - > theirs\nmine") {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

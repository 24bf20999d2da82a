package languages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/pathname"
)

const notYet = "Language server toy: errors were not looked for: not checked in time; what is new is told when it answers."

// lazy is a project whose server does not answer before release is called.
func lazy(t *testing.T, method string, files map[string]string) (p *project, release func()) {
	gate := filepath.Join(t.TempDir(), "gate")
	p = begin(t, files, "-late", method, "-until", gate)
	p.timeout(50 * time.Millisecond)
	return p, func() {
		t.Helper()
		if err := os.WriteFile(gate, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		p.timeout(2 * time.Minute)
		p.ready()
	}
}

// ready waits until nobody asks the server beside the calls.
func (p *project) ready() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if !p.servers.idle(ctx, key{"toy", p.dir}) {
		p.t.Fatal("the server is still asked")
	}
}

func (p *project) reads(name string) string {
	return p.acts(tool.Answer{}, func(o *turn.Outcome) {
		o.Observed = append(o.Observed, history.Observation{Path: pathname.Path(p.path(name))})
	})
}

// What a server does not say in time is told with a later result: what is new since the first of
// the changes, as the files are then.
func TestLateWordsAreTold(t *testing.T) {
	for _, method := range []string{"initialize", "textDocument/diagnostic"} {
		p, release := lazy(t, method, map[string]string{"a.toy": "def one\ndef two\n", "b.toy": "bad thing\nuse one\nuse two\n"})
		p.wants("the first", notYet, p.change(map[string]string{"a.toy": "def two\n"}))
		p.wants("the second, of which the first told", "", p.change(map[string]string{"c.toy": "bad new\n"}))
		p.wants("nothing is known", "", p.reads("b.toy"))
		release()
		p.wants("told later", "Language server toy: 2 new errors since a.toy and c.toy changed, in its words:\n"+
			"  b.toy:2:5: one is not defined\n  c.toy:1:5: new is bad\n(1 more were there before; leave them)", p.reads("b.toy"))
		p.wants("told once", "", p.reads("b.toy"))
		p.wants("as if nothing had been", head+"  b.toy:3:5: two is not defined\n(3 more were there before; leave them)",
			p.change(map[string]string{"a.toy": "def three\n"}))
	}
}

// What was mended before anybody could tell it is not told, whoever mended it.
func TestLateWordsAreNeverStale(t *testing.T) {
	p, release := lazy(t, "textDocument/diagnostic", map[string]string{"a.toy": "def one\n", "b.toy": "use one\n"})
	p.wants("the edit", notYet, p.change(map[string]string{"a.toy": "def uno\n"}))
	release()
	p.write("b.toy", "use uno\n") // by the user
	p.wants("mended", "", p.reads("b.toy"))

	p, release = lazy(t, "textDocument/diagnostic", map[string]string{"a.toy": "def one\n", "b.toy": "use one\n"})
	p.wants("the edit", notYet, p.change(map[string]string{"a.toy": "def uno\n"}))
	release()
	p.wants("mended by the next edit", "Language server toy: 1 new error since a.toy and b.toy changed, in its words:\n"+
		"  b.toy:2:5: x is bad", p.change(map[string]string{"b.toy": "use uno\nbad x\n"}))
}

// A turn that is about to end is told, too.
func TestLateWordsAtTheEnd(t *testing.T) {
	p, release := lazy(t, "initialize", map[string]string{"a.toy": "def one\n", "b.toy": "use one\n"})
	p.wants("the edit", notYet, p.change(map[string]string{"a.toy": "def uno\n"}))
	p.wants("nothing is known", "", p.servers.Settle(t.Context()))
	release()
	p.wants("at the end", "Language server toy: 1 new error since a.toy changed, in its words:\n  b.toy:1:5: one is not defined",
		p.servers.Settle(t.Context()))
	p.wants("once", "", p.servers.Settle(t.Context()))
}

// A server gets ready when a file of its language is read.
func TestReadingStartsTheServer(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := begin(t, map[string]string{"a.toy": "def one\n", "x.txt": ""}, "-log", log)
	p.reads("x.txt")
	if _, err := os.Stat(log); err == nil {
		t.Error("a server was started for another file")
	}
	p.wants("reading", "", p.reads("a.toy"))
	p.ready()
	if b, err := os.ReadFile(log); err != nil || !strings.Contains(string(b), "textDocument/diagnostic") {
		t.Errorf("the server was told %s (%v)", b, err)
	}
}

// What a command breaks is told as after an edit.
func TestWhatCommandsBreak(t *testing.T) {
	const head = "Language server toy: 1 new error since this command, in its words:\n"
	for name, more := range map[string]int{"small": 0, "large": 3 * maxBeside} {
		files := map[string]string{"a.toy": "def one\ndef two\n", "b.toy": "bad thing\nuse one\nuse two\n"}
		for i := range more {
			files[fmt.Sprintf("aa/%03d.toy", i)] = "def x\n"
		}
		p := begin(t, files)
		p.wants(name+": no server runs", "", p.command(map[string]string{"a.toy": "def two\n"}))
		p.wants(name+": a command", "", p.command(map[string]string{"a.toy": "def one\ndef two\n"}))
		p.wants(name+": an edit", "", p.change(map[string]string{"c.toy": "def three\n"}))
		p.wants(name+": sed", head+"  b.toy:2:5: one is not defined\n(1 more were there before; leave them)",
			p.command(map[string]string{"a.toy": "def two\n"}))
		p.wants(name+": mended", "", p.command(map[string]string{"a.toy": "def one\ndef two\n"}))
		p.wants(name+": a generator", head+"  d.toy:1:5: it is bad", strings.Replace(p.command(map[string]string{"d.toy": "bad it\n"}),
			"\n(1 more were there before; leave them)", "", 1))
		p.wants(name+": a move", "Language server toy: 2 new errors since this command, in its words:\n"+
			"  b.toy:2:5: one is not defined\n  b.toy:3:5: two is not defined\n(1 more were there before; leave them)",
			strings.Replace(p.command(map[string]string{"a.toy": "", "e.toy": "def uno\n"}), "(2 more", "(1 more", 1))
		p.wants(name+": another file", "", p.command(map[string]string{"x.txt": "bad it\n"}))
	}
}

// After a command that changed very many files nobody looks, and that is told.
func TestCommandsThatChangeMuch(t *testing.T) {
	p := begin(t, map[string]string{"a.toy": "def one\n"})
	p.wants("an edit", "", p.change(map[string]string{"a.toy": "def one\n\n"}))
	edits := map[string]string{}
	for i := range maxChanged + 1 {
		edits[fmt.Sprintf("x%d.toy", i)] = "bad x\n"
	}
	p.wants("many", fmt.Sprintf("Language server toy: errors were not looked for: this command changed %d files.", maxChanged+1),
		p.command(edits))
	p.wants("afterwards", head+"  a.toy:1:5: it is bad\n(48 more were there before; leave them)", p.change(map[string]string{"a.toy": "bad it\n"}))
}

// Paths with links in them are those that the server knows.
func TestLinksToTheProject(t *testing.T) {
	p := begin(t, map[string]string{"a.toy": "def one\n", "sub/b.toy": "use one\n"})
	real := p.dir
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	p.dir = link
	p.wants("an edit", head+"  sub/b.toy:1:5: one is not defined", p.change(map[string]string{"a.toy": "def uno\n"}))
	p.wants("a new file", head+"  new.toy:1:5: it is bad", strings.Split(p.change(map[string]string{"new.toy": "bad it\n"}), "\n(")[0])
	if err := os.Symlink(filepath.Join(real, "a.toy"), filepath.Join(real, "l.txt")); err != nil {
		t.Fatal(err)
	}
	p.wants("through a link to a file", "Language server toy: 1 new error since this change, in its words:\n  a.toy:1:5: it is bad",
		strings.Split(p.change(map[string]string{"l.txt": "bad it\n"}), "\n(")[0])
}

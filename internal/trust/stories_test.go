//go:build linux

package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// numbers are the lines 1 to n.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d\n", i+1)
	}
	return b.String()
}

// user writes a file as an editor does: beside it, then in its place.
func (s *story) user(path, text string) {
	s.Helper()
	full := filepath.Join(s.dir, path)
	s.must(os.MkdirAll(filepath.Dir(full), 0o755))
	s.must(os.WriteFile(full+".swp", []byte(text), 0o644))
	s.must(os.Rename(full+".swp", full))
}

// appears waits for a file.
func (s *story) appears(path string) {
	s.Helper()
	for range 1000 {
		if _, err := os.Lstat(filepath.Join(s.dir, path)); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.Fatalf("%s does not appear", path)
}

// meanwhile plays the next turn and calls f while it runs.
func (s *story) meanwhile(k *session, f func()) {
	s.Helper()
	ended := make(chan error, 1)
	go func() { ended <- k.turn("go on") }() // ends with the turn
	f()
	s.must(<-ended)
}

// starts opens a session for the turns.
func (s *story) starts(turns ...[]call) *session {
	s.Helper()
	k, err := s.open(turns...)
	s.must(err)
	return k
}

// ends closes a session.
func (s *story) ends(k *session) { s.Helper(); s.must(k.end(nil)) }

// TestSeen1 is about a user who edits while a command runs.
func TestSeen1(t *testing.T) {
	files := map[string]string{"a.txt": numbers(30), "b.txt": "b\n"}
	edited := strings.Replace(numbers(30), "10\n", "TEN\n", 1)

	tell(t, "another file while a command runs", files, func(s *story) {
		k := s.starts([]call{sh("c1", "touch go.tmp; sleep 0.5; sed -i 's/^10$/TEN/' a.txt; rm go.tmp", 10000)})
		s.meanwhile(k, func() {
			s.appears("go.tmp")
			s.user("notes.txt", "mine\n")
			s.user("b.txt", "b\nmine\n")
		})
		s.ends(k)
		s.holds("a.txt", edited)
		s.claimed("c1", "a.txt")
		s.foreign("notes.txt", "mine")
		s.foreign("b.txt", "mine")
		if r := s.run("diff"); r.code != 0 || strings.Contains(r.out, "mine") || !strings.Contains(r.out, "+TEN") {
			s.Errorf("diff: %v", r)
		}
		s.undoes()
		s.holds("a.txt", numbers(30))
		s.holds("notes.txt", "mine\n")
		s.holds("b.txt", "b\nmine\n")
	})

	tell(t, "the same file before the command writes it", files, func(s *story) {
		k := s.starts([]call{sh("c1", "touch go.tmp; sleep 0.5; sed -i 's/^10$/TEN/' a.txt; rm go.tmp", 10000)})
		s.meanwhile(k, func() {
			s.appears("go.tmp")
			s.user("a.txt", numbers(30)+"mine\n")
		})
		s.ends(k)
		s.holds("a.txt", edited+"mine\n")
		s.foreign("a.txt", "mine")
		s.ours("a.txt", "TEN", "c1")
		if r := s.run("diff"); r.code != 0 || strings.Contains(r.out, "+mine") || !strings.Contains(r.out, "+TEN") {
			s.Errorf("diff: %v", r)
		}
		s.undoes()
		s.holds("a.txt", numbers(30)+"mine\n")
	})

	tell(t, "the same file after the command wrote it", files, func(s *story) {
		k := s.starts([]call{sh("c1", "sed -i 's/^10$/TEN/' a.txt; touch go.tmp; sleep 0.5; rm go.tmp", 10000)})
		s.meanwhile(k, func() {
			s.appears("go.tmp")
			s.user("a.txt", edited+"mine\n")
		})
		s.ends(k)
		s.foreign("a.txt", "mine")
		if r := s.run("diff"); r.code != 0 || strings.Contains(r.out, "+mine") {
			s.Errorf("diff: %v", r)
		}
		r, err := s.undo("undo")
		s.must(err)
		if n, err := nodeAt(s.dir + "/a.txt"); err != nil || !strings.Contains(n.data, "mine\n") {
			s.Errorf("the user's line is gone: %v %v", n, r.result)
		}
		if r.result.code == 0 {
			s.holds("a.txt", numbers(30)+"mine\n")
		}
	})

	tell(t, "while a command runs on, and before the next call", files, func(s *story) {
		loop := "for i in 1 2 3 4 5 6; do echo $i >> out.txt; sleep 0.2; done; touch done.tmp"
		k := s.starts([]call{sh("c1", loop, 250)}, []call{sh("c2", "echo more >> b.txt; sleep 1.2", 10000)})
		s.meanwhile(k, func() {})
		s.user("notes.txt", "mine\n")
		s.user("a.txt", numbers(30)+"mine\n")
		s.meanwhile(k, func() { s.appears("done.tmp") })
		s.ends(k)
		s.holds("out.txt", "1\n2\n3\n4\n5\n6\n")
		s.claimed("c1", "done.tmp", "out.txt")
		s.claimed("c2", "b.txt")
		s.foreign("notes.txt", "mine")
		s.foreign("a.txt", "mine")
		s.undoes("--call", "c2")
		s.undoes("--call", "c1")
		s.gone("out.txt", "done.tmp")
		s.holds("notes.txt", "mine\n")
		s.holds("a.txt", numbers(30)+"mine\n")
		s.holds("b.txt", "b\n")
	})
}

// TestSeen2 is about several hands that use Kerf.
func TestSeen2(t *testing.T) {
	files := map[string]string{"a.txt": numbers(30), "b.txt": "b\n"}

	tell(t, "another session's tool while a command runs", files, func(s *story) {
		k := s.starts([]call{sh("c1", "touch go.tmp; sleep 0.8; echo x >> a.txt; rm go.tmp", 10000)})
		other := s.starts([]call{writeFile("w1", "theirs.txt", "theirs\n")})
		s.meanwhile(k, func() {
			s.appears("go.tmp")
			s.must(other.turn("write"))
		})
		s.ends(other)
		s.ends(k)
		s.claimed("c1", "a.txt")
		s.claimed("w1", "theirs.txt")
		list, err := s.log("theirs.txt")
		s.must(err)
		if len(list) != 1 {
			s.Errorf("theirs.txt has %d entries: %+v", len(list), list)
		}
		s.undoes("--session", k.id)
		s.holds("theirs.txt", "theirs\n")
		s.holds("a.txt", numbers(30))
	})

	tell(t, "the user's undo while a command runs", files, func(s *story) {
		s.must(s.play([]call{writeFile("w1", "new.txt", "new\n"), sh("w2", "sed -i 's/^10$/TEN/' a.txt", 10000)}))
		k := s.starts([]call{sh("c1", "touch go.tmp; sleep 0.8; echo x >> b.txt; rm go.tmp", 10000)})
		s.meanwhile(k, func() {
			s.appears("go.tmp")
			s.undoes()
		})
		s.ends(k)
		s.gone("new.txt")
		s.claimed("c1", "b.txt")
		s.undoes("--session", k.id)
		s.gone("new.txt")
		s.holds("a.txt", numbers(30))
		s.holds("b.txt", "b\n")
		r, err := s.undo("redo")
		s.must(err)
		if r.result.code != 0 {
			s.Errorf("redo: %v", r.result)
		}
		s.holds("b.txt", "b\nx\n")
	})

	tell(t, "two commands beside each other", files, func(s *story) {
		k := s.starts([]call{
			sh("c1", "for i in 1 2 3 4 5; do echo $i >> one.txt; sleep 0.15; done", 250),
			sh("c2", "for i in 1 2 3 4 5; do echo $i >> two.txt; sleep 0.15; done; sleep 0.3", 10000)})
		s.meanwhile(k, func() {})
		s.ends(k)
		s.claimed("c1", "one.txt")
		s.claimed("c2", "two.txt")
		s.undoes("--call", "c1")
		s.gone("one.txt")
		s.holds("two.txt", "1\n2\n3\n4\n5\n")
	})

	tell(t, "two sessions' commands beside each other", files, func(s *story) {
		k := s.starts([]call{sh("c1", "for i in 1 2 3 4 5; do echo $i >> one.txt; sleep 0.15; done", 10000)})
		other := s.starts([]call{sh("o1", "for i in 1 2 3 4 5; do echo $i >> two.txt; sleep 0.15; done", 10000)})
		s.meanwhile(k, func() { s.must(other.turn("go")) })
		s.ends(other)
		s.ends(k)
		s.claimed("c1", "one.txt")
		s.claimed("o1", "two.txt")
		s.undoes("--session", other.id)
		s.gone("two.txt")
		s.holds("one.txt", "1\n2\n3\n4\n5\n")
	})
}

// TestSeen2WithoutAWitness is TestSeen2 for a command that no witness sees.
func TestSeen2WithoutAWitness(t *testing.T) {
	files := map[string]string{"a.txt": numbers(30), "b.txt": "b\n"}
	full := func(s *story, turns ...[]call) *session {
		s.mode = "danger-full-access"
		defer func() { s.mode = "" }()
		return s.starts(turns...)
	}
	once := func(s *story, path string) {
		s.Helper()
		list, err := s.log(path)
		s.must(err)
		if len(list) != 1 {
			s.Errorf("%s has %d entries: %+v", path, len(list), list)
		}
	}

	tell(t, "another session's tool", files, func(s *story) {
		k := full(s, []call{sh("c1", "touch go.tmp; sleep 0.8; echo x >> a.txt; rm go.tmp", 10000)})
		other := s.starts([]call{writeFile("w1", "d/theirs.txt", "theirs\n")})
		s.meanwhile(k, func() {
			s.appears("go.tmp")
			s.must(other.turn("write"))
		})
		s.ends(other)
		s.ends(k)
		s.claimed("w1", "d/theirs.txt")
		once(s, "d/theirs.txt")
		s.undoes("--unproven", "--session", k.id)
		s.holds("d/theirs.txt", "theirs\n")
		s.holds("a.txt", numbers(30))
	})

	tell(t, "the user's undo", files, func(s *story) {
		s.must(s.play([]call{writeFile("w1", "d/new.txt", "new\n"), sh("w2", "sed -i 's/^10$/TEN/' a.txt", 10000)}))
		k := full(s, []call{sh("c1", "touch go.tmp; sleep 0.8; echo x >> b.txt; rm go.tmp", 10000)})
		s.meanwhile(k, func() {
			s.appears("go.tmp")
			s.undoes()
		})
		s.ends(k)
		s.gone("d")
		s.undoes("--unproven", "--session", k.id)
		s.gone("d")
		s.holds("a.txt", numbers(30))
		s.holds("b.txt", "b\n")
	})

	tell(t, "the same file, before the command writes it", files, func(s *story) {
		k := full(s, []call{sh("c1", "touch go.tmp; while test ! -e over; do sleep 0.05; done; echo x >> a.txt; rm go.tmp over", 20000)})
		other := s.starts([]call{sh("o1", "sed -i 's/^10$/TEN/' a.txt", 10000)})
		s.meanwhile(k, func() {
			s.appears("go.tmp")
			s.must(other.turn("write"))
			s.user("over", "")
		})
		s.ends(other)
		s.ends(k)
		s.claimed("o1", "a.txt")
		s.ours("a.txt", "TEN", "o1")
		s.undoes("--unproven", "--session", k.id, "a.txt")
		s.holds("a.txt", strings.Replace(numbers(30), "10\n", "TEN\n", 1))
	})

	tell(t, "another session's command that still runs", files, func(s *story) {
		other := s.starts([]call{sh("o1", "echo 1 > one.txt; touch go.tmp; while test ! -e over; do sleep 0.05; done", 20000)})
		k := full(s, []call{sh("c1", "while test ! -e go.tmp; do sleep 0.05; done; echo x >> b.txt", 20000)})
		s.meanwhile(other, func() {
			s.must(k.turn("go"))
			s.user("over", "")
		})
		s.ends(k)
		s.ends(other)
		s.claimed("o1", "one.txt")
		s.ours("one.txt", "1", "o1")
		s.undoes("--unproven", "--session", k.id)
		s.holds("one.txt", "1\n")
		s.holds("b.txt", "b\n")
	})
}

// TestSeen3 is about a kerf that dies while its command runs.
func TestSeen3(t *testing.T) {
	files := map[string]string{"a.txt": numbers(30), "b.txt": "b\n"}
	tell(t, "killed while a command runs", files, func(s *story) {
		cmd := "sed -i 's/^10$/TEN/' a.txt; rm b.txt; mkdir d; for i in 1 2 3; do echo $i > d/$i; done; touch go.tmp; sleep 20"
		k := s.starts([]call{sh("c1", cmd, 30000)})
		go func() { _ = k.turn("go") }() // ends when kerf is killed
		s.appears("go.tmp")
		k.kill()
		time.Sleep(100 * time.Millisecond)
		if r := s.run("recover"); r.code != 0 {
			s.Errorf("recover: %v", r)
		}
		s.claimed("c1", "a.txt", "b.txt", "d/1", "d/2", "d/3")
		if r := s.run("diff"); r.code != 0 || !strings.Contains(r.out, "+TEN") {
			s.Errorf("diff: %v", r)
		}
		s.undoes()
		s.holds("a.txt", numbers(30))
		s.holds("b.txt", "b\n")
		s.gone("d", "go.tmp")
	})
}

// TestSeen4 is about writes after a call returned.
func TestSeen4(t *testing.T) {
	files := map[string]string{"a.txt": numbers(30)}
	tell(t, "a yielded command writes during the next call", files, func(s *story) {
		k := s.starts([]call{
			sh("c1", "sleep 0.6; echo late > late.txt", 250),
			sh("c2", "echo two > two.txt; sleep 1", 10000)})
		s.meanwhile(k, func() {})
		s.ends(k)
		s.claimed("c1", "late.txt")
		s.claimed("c2", "two.txt")
		s.undoes("--call", "c1")
		s.gone("late.txt")
		s.holds("two.txt", "two\n")
	})
	tell(t, "a yielded command writes after the last call", files, func(s *story) {
		k := s.starts([]call{sh("c1", "sleep 0.6; echo late > late.txt; sed -i 's/^10$/TEN/' a.txt; sleep 15", 250)})
		s.meanwhile(k, func() {})
		s.appears("late.txt")
		for range 50 { // it is told soon, while the command runs on
			time.Sleep(100 * time.Millisecond)
			if len(s.claims("c1")) == 2 {
				break
			}
		}
		s.claimed("c1", "a.txt", "late.txt")
		s.ends(k)
		s.claimed("c1", "a.txt", "late.txt")
		s.undoes()
		s.gone("late.txt")
		s.holds("a.txt", numbers(30))
	})
	tell(t, "a child in the background writes after its call", files, func(s *story) {
		k := s.starts([]call{sh("c1", "(sleep 0.6; echo late > late.txt) > /dev/null 2>&1 & echo now > now.txt", 10000),
			sh("c2", "echo two > two.txt; sleep 1", 10000)})
		s.meanwhile(k, func() {})
		s.ends(k)
		s.claimed("c2", "two.txt")
		if _, err := os.Lstat(filepath.Join(s.dir, "late.txt")); err != nil {
			s.claimed("c1", "now.txt") // it ended with its call
			return
		}
		s.claimed("c1", "late.txt", "now.txt")
	})
}

// TestSeen5 is about what a scan does not hold.
func TestSeen5(t *testing.T) {
	big := strings.Repeat("0123456789abcde\n", 5<<16)
	back := func(s *story, cmd string) {
		before, err := look(s.dir)
		s.must(err)
		s.must(s.play([]call{sh("c1", cmd, 30000)}))
		after, err := look(s.dir)
		s.must(err)
		want := differ(before, after)
		if len(want) == 0 {
			s.Fatalf("the command changed nothing")
		}
		listed := map[string]bool{}
		for _, p := range s.claims("c1") {
			listed[p] = true
		}
		for _, p := range want {
			if n, ok := before[p]; ok && n.kind.IsRegular() && !listed[p] {
				s.Fatalf("%d paths changed, the log names %d; it does not name %s", len(want), len(listed), p)
			}
		}
		if r := s.run("diff"); r.code != 0 || r.out == "" {
			s.Errorf("diff: exit %d, %d bytes, %s", r.code, len(r.out), r.err)
		}
		s.undoes()
		after, err = look(s.dir)
		s.must(err)
		if d := differ(before, after); len(d) > 0 {
			s.Errorf("%d paths did not come back: %s", len(d), describe(d[0], before, after))
		}
	}
	tell(t, "a nested repository", map[string]string{"sub/x.txt": "x\n", "sub/d/y.txt": "y\n"}, func(s *story) {
		s.shell("git init -q && cd sub && git init -q && git add -A && git -c user.name=U -c user.email=u@localhost commit -qm x")
		before := s.shell("cat sub/.git/HEAD; find sub/.git | sort").out
		back(s, "rm -rf sub")
		now := s.shell("cat sub/.git/HEAD; find sub/.git | sort").out
		for _, pair := range [][2]string{{before, now}, {now, before}} {
			for l := range strings.Lines(pair[0]) {
				if !strings.Contains("\n"+pair[1], "\n"+l) {
					s.Errorf("only before or only after: %s", l)
				}
			}
		}
		if r := s.shell("cd sub && git fsck --strict && git status --short"); r.code != 0 || r.out != "" {
			s.Errorf("the nested repository: %v", r)
		}
	})
	tell(t, "node_modules", map[string]string{".gitignore": "node_modules\n", "node_modules/a/index.js": "a\n",
		"node_modules/a/b/c.js": "c\n", "node_modules/d/e.js": "e\n"}, func(s *story) {
		for i := range 1500 {
			s.must(put(s.dir, map[string]string{fmt.Sprintf("node_modules/p%d/i.js", i): fmt.Sprintf("module %d\n", i)}))
		}
		s.shell("git init -q && git add -A")
		back(s, "rm -rf node_modules")
	})
	tell(t, "large files", map[string]string{"big.bin": big, "d/big2.bin": "2" + big}, func(s *story) {
		back(s, "rm big.bin; echo more >> d/big2.bin; echo new > new.txt")
	})
	tell(t, "a large file beside a small one", map[string]string{"big.bin": big, "a.txt": numbers(30)}, func(s *story) {
		back(s, "sed -i 's/^10$/TEN/' a.txt; dd if=/dev/zero of=big.bin bs=1 count=4 conv=notrunc 2>/dev/null")
	})
	tell(t, "many files", map[string]string{"a.txt": "a\n"}, func(s *story) {
		n := part(3000, 600)
		if os.Getenv("KERF_LONG") != "" {
			n = 100_050
		}
		for i := range n {
			s.must(put(s.dir, map[string]string{fmt.Sprintf("t/%d/%d", i/500, i): fmt.Sprintln(i)}))
		}
		back(s, "rm -rf t")
	})
}

// TestSeen6 is about what the user did before the first command of a session.
func TestSeen6(t *testing.T) {
	files := map[string]string{"a.txt": numbers(30)}
	tell(t, "an edit before the first scan", files, func(s *story) {
		k := s.starts([]call{sh("c1", "sed -i 's/^10$/TEN/' a.txt", 10000)})
		s.user("a.txt", "mine\n"+numbers(30))
		s.meanwhile(k, func() {})
		s.ends(k)
		r := s.run("diff")
		if r.code != 0 || strings.Contains(r.out, "+mine") || !strings.Contains(r.out, "+TEN") {
			s.Errorf("diff: %v", r)
		}
		s.foreign("a.txt", "mine")
		clone := filepath.Join(s.base, "clone")
		s.must(put(clone, files))
		if r := s.run("apply", "--3way", "-C", clone, k.id); r.code != 0 {
			s.Errorf("apply: %v", r)
		}
		if n, err := nodeAt(filepath.Join(clone, "a.txt")); err != nil || n.data != strings.Replace(numbers(30), "10\n", "TEN\n", 1) {
			s.Errorf("the clone holds %v %v", n, err)
		}
		s.undoes()
		s.holds("a.txt", "mine\n"+numbers(30))
	})
	tell(t, "an edit while the first command begins", files, func(s *story) {
		k := s.starts([]call{sh("c1", "touch go.tmp; sleep 0.5; sed -i 's/^20$/TWENTY/' a.txt; rm go.tmp", 10000),
			sh("c2", "sed -i 's/^10$/TEN/' a.txt", 10000)})
		s.meanwhile(k, func() {
			s.appears("go.tmp")
			s.user("a.txt", "mine\n"+numbers(30))
		})
		s.ends(k)
		r := s.run("diff")
		if r.code != 0 || strings.Contains(r.out, "+mine") {
			s.Errorf("diff: %v", r)
		}
		s.undoes()
		s.holds("a.txt", "mine\n"+numbers(30))
	})
}

// TestSeen7 is about files with two names.
func TestSeen7(t *testing.T) {
	tell(t, "hard links", map[string]string{"one": numbers(5), "other": "o\n"}, func(s *story) {
		s.must(os.Link(s.dir+"/one", s.dir+"/two"))
		s.must(s.play([]call{sh("c1", "echo six >> one", 10000)}))
		s.claimed("c1", "one", "two")
		s.ours("two", "six", "c1")
		s.undoes()
		s.holds("one", numbers(5))
		s.holds("two", numbers(5))
		one, err := nodeAt(s.dir + "/one")
		s.must(err)
		two, err := nodeAt(s.dir + "/two")
		s.must(err)
		if one.inode != two.inode {
			s.Errorf("they are one file no more")
		}
	})
	tell(t, "a new name for the user's file", map[string]string{"one": numbers(5)}, func(s *story) {
		s.must(s.play([]call{sh("c1", "ln one two; echo six >> two", 10000)}))
		s.undoes()
		s.holds("one", numbers(5))
		s.gone("two")
	})
}

// TestSeen8 is about undo itself.
func TestSeen8(t *testing.T) {
	files := map[string]string{"d/a": "a\n", "d/e/b": "b\n", "keep.txt": "k\n"}
	swap := func(name string, files map[string]string, cmd string) {
		tell(t, name, files, func(s *story) {
			before, err := look(s.dir)
			s.must(err)
			s.must(s.play([]call{sh("c1", cmd, 10000)}))
			changed, err := look(s.dir)
			s.must(err)
			dry, err := s.undo("undo", "--dry-run")
			s.must(err)
			r := s.undoes()
			if dry.result.code != r.result.code {
				s.Errorf("the dry run ended with %v", dry.result)
			}
			after, err := look(s.dir)
			s.must(err)
			for _, p := range differ(before, after) {
				s.Errorf("after undo: %s", describe(p, before, after))
			}
			if r, err := s.undo("redo"); err != nil || r.result.code != 0 {
				s.Errorf("redo: %v %v", err, r.result)
			}
			after, err = look(s.dir)
			s.must(err)
			for _, p := range differ(changed, after) {
				s.Errorf("after redo: %s", describe(p, changed, after))
			}
		})
	}
	swap("a directory becomes a file", files, "rm -rf d && echo x > d")
	swap("a file becomes a directory", files, "rm keep.txt && mkdir keep.txt && echo x > keep.txt/x")
	swap("an empty directory becomes a file", map[string]string{"empty/": "", "k": "k\n"}, "rmdir empty && echo x > empty")
	swap("a file becomes an empty directory", files, "rm keep.txt && mkdir keep.txt")
	swap("a file becomes a link", files, "rm keep.txt && ln -s d keep.txt")
	swap("a directory becomes a link", files, "mv d e && ln -s e d")
	swap("an empty directory goes", map[string]string{"empty/in/": "", "k": "k\n"}, "rm -r empty")
	swap("an empty directory comes", files, "mkdir -p new/deep")
	swap("a directory is closed", files, "chmod 700 d")
	swap("two files change places", map[string]string{"a": "a\n", "b": "b\n"}, "mv a t; mv b a; mv t b")

	tell(t, "undo of one path leaves other directories", files, func(s *story) {
		s.must(s.play([]call{sh("c1", "mkdir made; echo x > made/x; echo y > y.txt", 10000)}))
		s.must(os.Remove(s.dir + "/made/x"))
		s.undoes("y.txt")
		s.gone("y.txt")
		if st, err := os.Stat(s.dir + "/made"); err != nil || !st.IsDir() {
			s.Errorf("made is gone: %v", err)
		}
	})
	tell(t, "undo of a backup alone", files, func(s *story) {
		s.must(os.WriteFile(s.dir+"/mine.txt", []byte("mine\n"), 0o600))
		s.must(s.play([]call{sh("c1", "mv mine.txt mine.orig; echo new > mine.txt", 10000)}, []call{sh("c2", "rm mine.txt", 10000)}))
		r, err := s.undo("undo", "--call", "c1", "mine.orig")
		s.must(err)
		if r.result.code != 1 || !strings.Contains(r.result.String(), "mine.txt") {
			s.Errorf("the only copy would go: %v", r.result)
		}
		s.holds("mine.orig", "mine\n")
		s.undoes("--call", "c2")
		s.undoes("--call", "c1", "mine.orig")
		s.holds("mine.txt", "mine\n")
		s.gone("mine.orig")
	})
	tell(t, "killed undo", files, func(s *story) {
		s.must(s.play([]call{sh("c1", "mkdir -p made/deep; for i in 1 2 3; do echo $i > made/deep/$i; done", 10000)}))
		if _, err := os.Stat("/usr/bin/strace"); err != nil {
			s.Skip("strace is not there")
		}
		r := s.command("/usr/bin/strace", "-f", "-o", s.base+"/trace", "-e", "trace=rmdir,unlinkat",
			"-e", "inject=rmdir,unlinkat:signal=SIGKILL", s.kerf, "undo")
		if r.code == 0 {
			s.Logf("the undo was not killed: %v", r)
		}
		if r := s.run("recover"); r.code != 0 {
			s.Errorf("recover: %v", r)
		}
		list, err := s.log()
		s.must(err)
		if list[len(list)-1].Cause == "undo" {
			s.gone("made")
		} else {
			s.undoes()
			s.gone("made")
		}
	})
}

// TestTurns is about the turns of one session.
func TestTurns(t *testing.T) {
	tell(t, "the turns of an editor are told apart", map[string]string{"a.txt": "a\n"}, func(s *story) {
		s.must(s.play([]call{writeFile("c1", "one.txt", "1\n")}, []call{writeFile("c2", "two.txt", "2\n")}))
		list, err := s.log()
		s.must(err)
		if len(list) != 2 || list[0].Turn == "" || list[0].Turn == list[1].Turn {
			s.Fatalf("the log has %+v", list)
		}
		if r := s.run("diff"); r.code != 0 || strings.Contains(r.out, "one.txt") {
			s.Errorf("diff: %v", r)
		}
		s.undoes("--turn", list[0].Turn)
		s.gone("one.txt")
		s.holds("two.txt", "2\n")
	})
	tell(t, "the last turn is the one that began last", map[string]string{"a.txt": "a\n"}, func(s *story) {
		k := s.starts([]call{sh("c1", "for i in 1 2 3 4 5 6 7 8; do echo $i >> loop.txt; sleep 0.1; done; touch done.tmp", 250)},
			[]call{sh("c2", "echo two > two.txt", 10000)})
		s.meanwhile(k, func() {})
		s.meanwhile(k, func() {})
		s.appears("done.tmp")
		s.ends(k)
		if r := s.run("diff"); r.code != 0 || strings.Contains(r.out, "loop.txt") || !strings.Contains(r.out, "two.txt") {
			s.Errorf("diff: %v", r)
		}
		s.undoes()
		s.gone("two.txt")
		s.holds("loop.txt", "1\n2\n3\n4\n5\n6\n7\n8\n")
		s.undoes()
		s.gone("loop.txt", "done.tmp")
	})
}

// TestWhatWasLostOnTheWayIsNoOutsideChange: a command moves a directory, and while it runs on
// somebody puts another file in the place of one in it. What the file held before went away with
// that; that it is gone from its old name is not laid to somebody else, and not claimed.
func TestWhatWasLostOnTheWayIsNoOutsideChange(t *testing.T) {
	files := map[string]string{"d/1.txt": "1\n", "b.txt": "b\n"}
	tell(t, "moved, replaced and removed", files, func(s *story) {
		k := s.starts([]call{sh("c1", "echo 8 > d/8.txt", 10000),
			sh("c2", "mv d x; touch go.tmp; while [ ! -e on.tmp ]; do sleep 0.01; done; rm -rf x go.tmp on.tmp", 10000)})
		s.meanwhile(k, func() {
			s.appears("go.tmp")
			s.user("x/8.txt", "mine\n")
			s.user("on.tmp", "")
		})
		s.ends(k)
		list, err := s.log("d/8.txt")
		s.must(err)
		for _, e := range list {
			if e.Cause == "outside" || e.Call == "c2" && e.proven() {
				s.Errorf("d/8.txt: %s by call %q, proven: %v", e.Cause, e.Call, e.proven())
			}
		}
		r := s.run("diff")
		if r.code != 0 || !strings.Contains(r.err, "d/8.txt") {
			s.Errorf("diff: %v", r)
		}
		u, err := s.undo("undo")
		s.must(err)
		s.holds("d/1.txt", "1\n")
		if u.result.code != 1 || !strings.Contains(u.result.String(), "d/8.txt") {
			s.Errorf("undo: %v", u.result)
		}
	})
}

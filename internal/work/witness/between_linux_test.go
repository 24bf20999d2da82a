package witness_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/testkit/long"
	"kerf/internal/work/witness"
)

// TestWhatOthersDoBetweenTwoActsOfACommand: a command does one thing, another program
// something to the same file, and the command goes on. Each case says what is told.
func TestWhatOthersDoBetweenTwoActsOfACommand(t *testing.T) {
	t.Parallel()
	write := func(name string) func(b *bench) {
		return func(b *bench) {
			f, err := os.OpenFile(filepath.Join(b.root, name), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := f.WriteString("mine"); err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	}
	all := func(list ...func(b *bench)) func(b *bench) {
		return func(b *bench) {
			for _, f := range list {
				f(b)
			}
		}
	}
	chmod := func(name string, mode os.FileMode) func(b *bench) {
		return func(b *bench) {
			if err := os.Chmod(filepath.Join(b.root, name), mode); err != nil {
				b.Fatal(err)
			}
		}
	}
	remove := func(name string) func(b *bench) {
		return func(b *bench) {
			if err := os.Remove(filepath.Join(b.root, name)); err != nil {
				b.Fatal(err)
			}
		}
	}
	create := func(name string) func(b *bench) { return func(b *bench) { b.write(name, "mine") } }
	for name, c := range map[string]struct {
		first, then string
		others      func(b *bench)
		want        string
	}{
		"another name of the file, while it is open": {"exec 3>>h; printf 2 >&3", "exec 3>&-", write("d/h"),
			"unproven d/h: 1 > 12mine\nunproven h: 1 > 12mine"},
		"another name of the file, after it was closed": {"printf 2 >> h", "", write("d/h"),
			"unproven d/h: 1 > 12mine\nunproven h: 1 > 12mine"},
		"another name of a file whose name went": {"printf 2 >> h; mv h x; rm x", "", write("d/h"),
			"proven h: 1 > -\nunproven d/h: 1 > 12mine"},
		"nobody, and the name went while the file was open": {"exec 3>>h; rm h", "printf 2 >&3; exec 3>&-", func(*bench) {},
			"proven d/h: 1 > 12\nproven h: 1 > -"},
		"nobody, and it was moved while it was open": {"exec 3>>h; mv h k", "printf 2 >&3; exec 3>&-", func(*bench) {},
			"proven d/h: 1 > 12\nproven h: 1 > -\nproven k: - > 12 from h"},
		"a file that only got permissions":            {"chmod 700 a", "", write("a"), "proven a: amine > amine"},
		"a file that only got permissions, by a name": {"chmod 700 h", "", write("d/h"), "proven d/h: 1mine > 1mine\nproven h: 1mine > 1mine"},
		"nobody, and another name is looked at after that": {"chmod 700 h; mv d b 2>/dev/null; mv b d", "", func(*bench) {},
			"proven d/h: 1 > 1\nproven h: 1 > 1"},
		"a file that only got another name": {"ln a b", "", write("a"), "unproven b: - > amine"},
		"that other name":                   {"ln a b", "", write("b"), "unproven b: - > amine"},
		"that other name, which went":       {"ln a b", "", all(write("b"), remove("b")), ""},
		"that other name, which went, of a file that is open": {"ln a b; exec 3>>a; printf 2 >&3", "exec 3>&-",
			all(write("b"), remove("b")), "unproven a: a > a2mine"},
		"the name of a file that was moved": {"mv a n", "printf 3 > a", all(create("a"), remove("a")),
			"proven a: - > 3\nunproven a: a > -\nunproven n: - > a"},
		"its permissions":                              {"ln a b", "", chmod("a", 0o600), "proven b: - > a\nunproven a: a > a\nunproven b: a > a"},
		"permissions of what the command wrote":        {"printf 2 >> a", "", chmod("a", 0o600), "proven a: a > a2\nunproven a: a2 > a2"},
		"permissions of what the command made":         {"printf 2 > n", "", chmod("n", 0o600), "proven n: - > 2\nunproven n: 2 > 2"},
		"other permissions than the command had given": {"chmod 700 a", "", chmod("a", 0o600), "proven a: a > a\nunproven a: a > a"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "a") || strings.HasPrefix(name, "that") {
				long.Slow(t)
			}
			t.Parallel()
			b := newBench(t, "")
			b.write("h", "1")
			b.write("a", "a")
			b.write("d/x", "")
			if err := os.Link(filepath.Join(b.root, "h"), filepath.Join(b.root, "d/h")); err != nil {
				t.Fatal(err)
			}
			x, cmd, out, box := b.start(c.first + "; : > ready; while [ ! -e go ]; do sleep 0.01; done; " + c.then)
			b.await("ready")
			c.others(b)
			b.write("go", "")
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			box.Close()
			got := strings.Replace(b.told(b.end(x)), "proven ready: - > \n", "", 1)
			got = strings.TrimSuffix(strings.TrimSuffix(got, "proven ready: - > "), "\n")
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s\n%s", got, c.want, out)
			}
		})
	}
}

// TestAnotherNameOfAnOpenFileBehindACut: the command has a file open by one of its names while what
// it did is collected, and after that somebody else puts something at the other name.
func TestAnotherNameOfAnOpenFileBehindACut(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.write("a", "a")
	x, cmd, out, box := b.start("ln a b; exec 3>>b; printf 2 >&3; : > ready; while [ ! -e go ]; do sleep 0.01; done; exec 3>&-")
	b.await("ready")
	if err := x.Collect(func(witness.Report) {}); err != nil {
		t.Fatal(err)
	}
	b.write("swp", "mine")
	if err := os.Rename(filepath.Join(b.root, "swp"), filepath.Join(b.root, "a")); err != nil {
		t.Fatal(err)
	}
	b.write("go", "")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	box.Close()
	if got := b.told(b.end(x)); strings.Contains(got, "proven a") && !strings.Contains(got, "unproven a") {
		t.Errorf("what others put at the name is laid to the command:\n%s", got)
	}
}

// TestAFileThatTwoHaveOpenAtACut: what it holds is the command's if the other one only reads.
func TestAFileThatTwoHaveOpenAtACut(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	const reads, writes = "exec 3<a; : > there; read x", "exec 3>>a; : > there; read x; printf mine >&3; : > wrote; read x"
	for name, c := range map[string]struct {
		line string
		last bool // the other one opens it after the command
		want string
	}{
		"the other reads":              {reads, true, "proven a: a > a2"},
		"the other reads, from first":  {reads, false, "proven a: a > a2"},
		"the other writes":             {writes, true, "unproven a: a > a2mine"},
		"the other writes, from first": {writes, false, "unproven a: a > a2mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "")
			b.write("a", "a")
			b.write("go", "")
			other := exec.Command("bash", "-c", c.line)
			other.Dir = b.root
			in, err := other.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			open := func() {
				if err := other.Start(); err != nil {
					t.Fatal(err)
				}
				b.await("there")
			}
			if !c.last {
				open()
			}
			x, cmd, out, box := b.start("exec 3>>a; printf 2 >&3; : > ready; while [ -e go ]; do sleep 0.01; done; exec 3>&-")
			b.await("ready")
			if c.last {
				open()
			}
			if c.line == writes {
				if _, err := in.Write([]byte("x\n")); err != nil {
					t.Fatal(err)
				}
				b.await("wrote")
			}
			got := ""
			if err := x.Collect(func(r witness.Report) { got = b.told(r) }); err != nil {
				t.Fatal(err)
			}
			in.Close()
			_ = other.Wait()
			if err := os.Remove(filepath.Join(b.root, "go")); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			box.Close()
			b.end(x)
			if got = strings.TrimSpace(strings.Replace(got, "proven ready: - > ", "", 1)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestAFileThatIsOpenByANameThatWentAtALook: the command has it open, and it has another name, which somebody
// else may use.
func TestAFileThatIsOpenByANameThatWentAtALook(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	for name, c := range map[string]struct {
		writes, closes bool
		want           string
	}{
		"nobody else":         {false, false, "proven d/h: 1 > 12\nproven h: 1 > -"},
		"another wrote it":    {true, true, "proven h: 1 > -\nunproven d/h: 1 > 12mine"},
		"another has it open": {true, false, "proven h: 1 > -\nunproven d/h: 1 > 12mine"},
		"another had it open": {false, true, "proven h: 1 > -\nunproven d/h: 1 > 12"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "")
			b.write("h", "1")
			b.write("d/x", "")
			if err := os.Link(filepath.Join(b.root, "h"), filepath.Join(b.root, "d/h")); err != nil {
				t.Fatal(err)
			}
			x, cmd, out, box := b.start("exec 3>>h; rm h; printf 2 >&3; : > ready; while [ ! -e go ]; do sleep 0.01; done; exec 3>&-")
			b.await("ready")
			if c.writes || c.closes {
				f, err := os.OpenFile(filepath.Join(b.root, "d/h"), os.O_WRONLY|os.O_APPEND, 0)
				if err == nil && c.writes {
					_, err = f.WriteString("mine")
				}
				if err != nil {
					t.Fatal(err)
				}
				if c.closes {
					f.Close()
				}
				defer f.Close()
			}
			got := ""
			if err := x.Collect(func(r witness.Report) { got = b.told(r) }); err != nil {
				t.Fatal(err)
			}
			b.write("go", "")
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			box.Close()
			b.end(x)
			if got = strings.TrimSpace(strings.Replace(got, "proven ready: - > \n", "", 1)); strings.TrimSuffix(got, "\nproven ready: - >") != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestWhatSomebodyWasWritingIsKeptWhole: a command removes or replaces a file while another
// program is in the middle of writing it anew.
func TestWhatSomebodyWasWritingIsKeptWhole(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	for name, line := range map[string]string{"removed": "rm a", "replaced": "printf new > n; mv n a"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "")
			b.write("a", "before\n")
			f, err := os.OpenFile(filepath.Join(b.root, "a"), os.O_WRONLY|os.O_TRUNC, 0)
			if err != nil {
				t.Fatal(err)
			}
			x, cmd, out, box := b.start(line + "; : > ready; while [ ! -e go ]; do sleep 0.01; done")
			b.await("ready")
			if _, err := f.WriteString("all of it\n"); err != nil {
				t.Fatal(err)
			}
			f.Close()
			b.write("go", "")
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			box.Close()
			want := map[string]string{"removed": "proven a: all of it\n > -", "replaced": "proven a: all of it\n > new"}[name]
			if got := b.told(b.end(x)); !strings.Contains(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestAccessListsGivePermissions: a command makes a file and gives it permissions by an access list, as sed
// does, and is collected at any moment of that. Nobody else was there.
func TestAccessListsGivePermissions(t *testing.T) {
	long.Slow(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	steps := []string{`fd = os.open("new", os.O_CREAT|os.O_EXCL|os.O_RDWR, 0o600)`,
		`os.setxattr(fd, "system.posix_acl_access", b"\2\0\0\0\1\0\6\0\377\377\377\377\4\0\4\0\377\377\377\377 \0\4\0\377\377\377\377"); os.close(fd)`,
		`os.rename("new", "a")`, `pass`}
	for first := range steps {
		for second := range steps {
			t.Run(fmt.Sprint(first, second), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, "")
				b.write("a", "old")
				script := "import os, time\n"
				for i, s := range steps {
					script += fmt.Sprintf("%s\nopen('at%d', 'w').close()\nwhile not os.path.exists('go%d'): time.sleep(0.01)\n", s, i, i)
				}
				x, cmd, out, box := b.start("python3 - <<'EOF'\n" + script + "EOF\n")
				var reports []witness.Report
				for i := range steps {
					b.await(fmt.Sprint("at", i))
					if i == first || i == second {
						if err := x.Collect(func(r witness.Report) { reports = append(reports, r) }); err != nil {
							t.Fatal(err)
						}
					}
					b.write(fmt.Sprint("go", i), "")
				}
				if err := cmd.Wait(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
				box.Close()
				certain(t, append(reports, b.end(x)), out.String())
			})
		}
	}
}

// TestAccessListsOfFilesThatAreThere: a command that gives a file permissions by an access list is told
// of, by each call that can. An attribute that gives none is not.
func TestAccessListsOfFilesThatAreThere(t *testing.T) {
	long.Slow(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	b := newBench(t, "")
	for _, name := range []string{"a", "b", "c", "d"} {
		b.write(name, "1")
	}
	if err := os.Symlink("b", filepath.Join(b.root, "l")); err != nil {
		t.Fatal(err)
	}
	x, cmd, out, box := b.start(`python3 -c '
import os
list = b"\2\0\0\0\1\0\6\0\377\377\377\377\4\0\0\0\377\377\377\377 \0\0\0\377\377\377\377"
os.setxattr(os.open("a", os.O_RDONLY), "system.posix_acl_access", list)
os.setxattr("l", "system.posix_acl_access", list)
os.setxattr("c", "system.posix_acl_access", list, follow_symlinks=False)
try: os.setxattr("d", "user.x", b"1")
except OSError as e: print(e)
'`)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	box.Close()
	r := b.end(x)
	certain(t, []witness.Report{r}, out.String())
	var got []string
	for _, p := range r.Parts {
		for _, c := range p.Set {
			got = append(got, fmt.Sprintf("%s %o>%o", filepath.Base(c.Path), c.Pre.Mode, c.Post.Mode))
		}
	}
	if got := strings.Join(got, ", "); got != "a 644>600, b 644>600, c 644>600" {
		t.Errorf("got %s\n%s", got, out)
	}
}

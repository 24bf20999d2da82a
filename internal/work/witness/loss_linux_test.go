package witness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/long"
	"kerf/internal/testkit/ordinary"
	"kerf/internal/work/witness"
)

// TestALargeFileIsNotReadWhileItIsAskedAbout: what a command did is collected while it is
// held with a question about a file that nobody could read in a lifetime of this test. The
// answer then counts for the file.
func TestALargeFileIsNotReadWhileItIsAskedAbout(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		b := newBench(t, "")
		asked, answer := make(chan witness.Loss, 1), make(chan bool)
		b.may = func(l witness.Loss) bool {
			asked <- l
			return <-answer
		}
		const size = 1 << 40 // with a hole, and larger than what is free
		big := filepath.Join(b.root, "big")
		b.write("big", "")
		if err := os.Truncate(big, size); err != nil {
			t.Skip("SKIP ", err)
		}
		time.Sleep(4 * time.Second) // so that the time of a change could not be the same
		x, cmd, _, box := b.start("echo 1 > one; : > big; echo 2 > two")
		if l := <-asked; l.Path != big || l.Size != size {
			t.Fatalf("asked about %+v", l)
		}
		for range 2 {
			if err := x.Collect(func(r witness.Report) {
				if told := b.told(r); strings.Contains(told, "big") || len(r.Gaps) > 0 {
					t.Errorf("while it is asked about: %s %v", told, r.Gaps)
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		answer <- allowed
		_ = cmd.Wait() // the file could not be written
		box.Close()
		r := b.end(x)
		if told := b.told(r); !strings.Contains(told, "two") {
			t.Errorf("afterwards: %s", told)
		}
		lost := len(r.Gaps) == 1 && string(r.Gaps[0].Path) == big
		if st, err := os.Stat(big); err != nil || (st.Size() == 0) != allowed || lost != allowed {
			t.Errorf("allowed: %t, told as lost: %t %v, %v %v", allowed, lost, r.Gaps, st, err)
		}
	}
}

// TestOwnFilesThatMayNotBeReadAreKept: a file whose mode keeps Kerf's own user from reading it is kept when a
// command removes it or moves something over it, and nothing of it is uncertain.
func TestOwnFilesThatMayNotBeReadAreKept(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	for line, want := range map[string]string{
		"rm -f x":                       "proven x: secret > -",
		"mv a x":                        "proven a: 1 > -\nproven x: secret > 1 from a",
		"ln -f a x":                     "proven x: secret > 1",
		"mv x y; rm -f y":               "proven x: secret > -",
		"echo 2 > n; mv n x; rm -f x":   "proven x: secret > -",
		"exec 3>n; rm -f x; exec 3>&-":  "proven n: - > \nproven x: secret > -",
		"cat a > x; true":               "",
		"echo >> x; true":               "",
		"test -r x; touch -c x; stat x": "",
	} {
		modes := []os.FileMode{0, 0o200, 0o311}
		if testing.Short() {
			modes = modes[:1]
		}
		for _, mode := range modes {
			b := newBench(t, "")
			b.full = true
			b.write("a", "1")
			b.write("x", "secret")
			x := filepath.Join(b.root, "x")
			if err := os.Chmod(x, mode); err != nil {
				t.Fatal(err)
			}
			r, out := b.run(line)
			if got := strings.TrimSuffix(b.told(r), "\n"); got != want || len(r.Gaps)+len(r.Notes) > 0 {
				t.Errorf("%s, mode %o: got\n%s\nwant\n%s\n%v %v, said %s", line, mode, got, want, r.Gaps, r.Notes, out)
			}
		}
	}
}

// TestWhatMayNotBeReadIsKeptOrStays: a file of another user that Kerf may not read is neither removed nor replaced, but
// where Kerf may give it another mode; nothing of it is uncertain.
func TestWhatMayNotBeReadIsKeptOrStays(t *testing.T) {
	long.Slow(t)
	if !ordinary.Run(t) {
		return
	}
	for _, line := range []string{"rm -f x", "mv a x", "ln -f a x", "echo > x", "cat a >> x"} {
		b := newBench(t, "")
		b.full = true
		b.write("a", "1")
		b.write("x", "secret")
		x := filepath.Join(b.root, "x")
		if err := os.Chmod(x, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(x, 12345, 12345); err != nil {
			t.Skip(err)
		}
		before, _ := os.Lstat(x)
		r, out := b.run(line)
		now, err := os.Lstat(x)
		kept := strings.Contains("\n"+b.told(r), "\nproven x: secret > ")
		if stays := err == nil && os.SameFile(before, now); kept == stays || !kept && b.told(r) != "" || len(r.Gaps)+len(r.Notes) > 0 {
			t.Errorf("%s: %v %v, told %q %v %v, said %s", line, now, err, b.told(r), r.Gaps, r.Notes, out)
		}
	}
}

// TestALargeFileThatChangesIsTold: a file is spared only as long as nothing changed it.
func TestALargeFileThatChangesIsTold(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	b := newBench(t, "")
	big := filepath.Join(b.root, "big")
	b.write("big", "")
	if err := os.Truncate(big, 40<<20); err != nil {
		t.Skip("SKIP ", err)
	}
	time.Sleep(4 * time.Second)
	x, cmd, out, box := b.start("exec 3<>big; touch go; while test ! -e on; do sleep 0.02; done; echo x >&3; exec 3>&-; : >> big")
	for {
		if _, err := os.Stat(filepath.Join(b.root, "go")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := x.Collect(func(r witness.Report) {
		if told := b.told(r); strings.Contains(told, "big") {
			t.Errorf("nothing changed it: %s", told)
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.write("on", "")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	box.Close()
	if r := b.end(x); !strings.Contains(b.told(r), "proven big:") {
		t.Errorf("told: %s %v", b.told(r), r.Gaps)
	}
}

package witness_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kerf/internal/testkit/long"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/enter"
)

// TestAllNamesOfAFileAreToldWheneverItIsWritten: a command opened a file that has another
// name, and was collected before it wrote to it.
func TestAllNamesOfAFileAreToldWheneverItIsWritten(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	b := newBench(t, "")
	b.write("a", "1")
	if err := os.Link(filepath.Join(b.root, "a"), filepath.Join(b.root, "b")); err != nil {
		t.Fatal(err)
	}
	x, cmd, out, box := b.start("exec 3>>a; : > ready; while [ ! -e go ]; do sleep 0.01; done; printf 2 >&3; : > again; " +
		"while [ ! -e on ]; do sleep 0.01; done; printf 3 >&3")
	var first, second witness.Report
	b.awaitClosed("ready")
	if err := x.Collect(func(r witness.Report) { first = r }); err != nil {
		t.Fatal(err)
	}
	b.write("go", "")
	b.awaitClosed("again")
	if err := x.Collect(func(r witness.Report) { second = r }); err != nil {
		t.Fatal(err)
	}
	b.write("on", "")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	box.Close()
	for i, c := range []struct{ got, want string }{
		{b.told(first), "proven ready: - > "},
		{b.told(second), "proven a: 1 > 12\nproven again: - > \nproven b: 1 > 12"},
		{b.told(b.end(x)), "proven a: 12 > 123\nproven b: 12 > 123"},
	} {
		if c.got != c.want {
			t.Errorf("report %d: got\n%s\nwant\n%s", i, c.got, c.want)
		}
	}
}

// TestAllNamesOfAFileAreToldAfterAKill is the same where Kerf was killed after it had
// collected, and entered that.
func TestAllNamesOfAFileAreToldAfterAKill(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	w := b.enters()
	b.write("a", "1")
	if err := os.Link(filepath.Join(b.root, "a"), filepath.Join(b.root, "b")); err != nil {
		t.Fatal(err)
	}
	x, cmd, out, box := b.start("exec 3>>a; : > ready; while [ ! -e go ]; do sleep 0.01; done; printf 2 >&3")
	b.await("ready")
	var err error
	if cerr := x.Collect(func(r witness.Report) {
		_, err = enter.Report(context.Background(), w, txn.Origin{Session: "s", Call: "c"}, r)
	}); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	if err := b.w.Close(); err != nil { // as when it is killed: nobody collects
		t.Fatal(err)
	}
	b.write("go", "")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	box.Close()
	list := b.recovered()
	if len(list) != 1 {
		t.Fatalf("%d commands were recovered, want 1", len(list))
	}
	if got, want := b.told(list[0]), "proven a: 1 > 12\nproven b: 1 > 12"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAnotherNameClosedRightAfterward: the command and another program close a file with two names right
// after each other, each by its own name, and the helper hears of both late. The kernel makes one notice
// of the two, as it does where they are alike.
func TestAnotherNameClosedRightAfterward(t *testing.T) {
	b := newBench(t, "")
	b.write("a", "1")
	b.write("d/other", "")
	if err := os.Link(filepath.Join(b.root, "a"), filepath.Join(b.root, "d/a")); err != nil {
		t.Fatal(err)
	}
	x, cmd, out, box := b.start("exec 3>>a 4>marks; while [ ! -e go ]; do sleep 0.01; done; printf C >&3; exec 3>&-; " +
		"printf . >&4; while [ ! -e on ]; do sleep 0.01; done; printf C >> a")
	b.await("marks")
	signal := func(sig syscall.Signal) {
		for _, pid := range b.helpers() {
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
		}
	}
	defer signal(syscall.SIGCONT) // also when the test breaks off
	signal(syscall.SIGSTOP)
	other, err := os.OpenFile(filepath.Join(b.root, "d/a"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.write("go", "")
	for st := os.FileInfo(nil); st == nil || st.Size() == 0; time.Sleep(time.Millisecond) {
		if st, err = os.Stat(filepath.Join(b.root, "marks")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err = other.WriteString("W"); err == nil {
		err = other.Close()
	}
	signal(syscall.SIGCONT)
	b.write("on", "")
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	box.Close()
	if got, want := b.told(b.end(x)), "proven a: 1CW > 1CWC\nproven d/a: 1CW > 1CWC\nproven marks: - > .\n"+
		"unproven a: 1 > 1CW\nunproven d/a: 1 > 1CW"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNoNameIsPassedOverOfAFileOfWhichNotAllIsKnown: the command opened a file to append, and somebody
// else cut it by another name, so that nobody knows any more what it held. That is told of both names.
func TestNoNameIsPassedOverOfAFileOfWhichNotAllIsKnown(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	b := newBench(t, "")
	b.write("a", strings.Repeat("first", 100_000))
	if err := os.Link(filepath.Join(b.root, "a"), filepath.Join(b.root, "b")); err != nil {
		t.Fatal(err)
	}
	x, cmd, out, box := b.start("exec 3>>a; printf . > ready; while [ ! -e go ]; do sleep 0.01; done; printf 2 >&3; exec 3>&-; " +
		"printf . > again; while [ ! -e on ]; do sleep 0.01; done; printf 3 >> a")
	b.await("ready")
	if err := os.WriteFile(filepath.Join(b.root, "b"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b.write("go", "")
	b.awaitClosed("again")
	var first witness.Report
	if err := x.Collect(func(r witness.Report) { first = r }); err != nil {
		t.Fatal(err)
	}
	b.write("on", "")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	box.Close()
	const lost = " (somebody else changed what it held)"
	if got, want := b.told(first), "note a"+lost+"\nnote b"+lost+"\nunproven again: - > .\nunproven ready: - > ."; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var unknown []string
	for _, ch := range first.Unknown {
		unknown = append(unknown, filepath.Base(ch.Path)+" "+string(ch.Post.Data))
	}
	if got := strings.Join(unknown, ", "); got != "a 2, b 2" {
		t.Errorf("what came of what is not known: %s", got)
	}
	if got, want := b.told(b.end(x)), "proven a: 2 > 23\nproven b: 2 > 23"; got != want {
		t.Errorf("then got\n%s\nwant\n%s", got, want)
	}
}

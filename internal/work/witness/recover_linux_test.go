package witness_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/testkit/long"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/enter"
)

// recovered is what Recover makes of what a Kerf left behind.
func (b *bench) recovered() (list []witness.Report) {
	b.Helper()
	o := witness.Options{Dir: b.home, Roots: []string{b.root}, Ledger: b.ledger, Store: b.store}
	_, err := witness.Recover(context.Background(), o, func(began ledger.Entry, r witness.Report) error {
		if began.Cause != ledger.CauseBegan || began.Call != "c" {
			b.Errorf("the command began with %+v", began)
		}
		list = append(list, r)
		return nil
	})
	if err != nil {
		b.Error(err)
	}
	return list
}

func TestJournalOfAKilledKerfIsFinished(t *testing.T) {
	b := newBench(t, "")
	b.write("a", "1")
	b.write("b", "2")
	_, cmd, _, box := b.start("printf 9 > a; : > ready; sleep 0.2; printf 8 > b; rm -f ready")
	b.await("ready")
	if err := b.w.Close(); err != nil { // as when it is killed: nobody collects
		t.Fatal(err)
	}
	_ = cmd.Wait()
	box.Close()
	list := b.recovered()
	if len(list) != 1 {
		t.Fatalf("%d commands were recovered, want 1", len(list))
	}
	if got, want := b.told(list[0]), "proven a: 1 > 9\nproven b: 2 > 8"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if again := b.recovered(); len(again) != 0 {
		t.Errorf("recovered a second time: %v", again)
	}
	if left, _ := os.ReadDir(filepath.Join(b.home, "witness")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestLaterEditsOfOthersAreNotTheKilledCommands(t *testing.T) {
	b := newBench(t, "")
	b.write("a", "1")
	b.write("b", "2")
	_, cmd, _, box := b.start("printf 9 > a; printf 9 > b; : > ready; sleep 0.2")
	b.await("ready")
	if err := b.w.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	box.Close()
	time.Sleep(50 * time.Millisecond) // the helper ends the journal
	b.write("b", "mine")
	list := b.recovered()
	if len(list) != 1 {
		t.Fatalf("%d commands were recovered, want 1", len(list))
	}
	want := "proven a: 1 > 9\nproven ready: - > \nunproven b: 2 > mine"
	if got := b.told(list[0]); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAnotherWriterAtTheEndOfAKilledKerfsCommand: somebody else has a file open when the last process of
// the command ends, and closes it when nobody is told of that any more.
func TestAnotherWriterAtTheEndOfAKilledKerfsCommand(t *testing.T) {
	b := newBench(t, "")
	b.write("a", "1")
	b.write("b", "2")
	_, cmd, _, box := b.start("exec 3>>a; printf 9 >&3; printf 9 > b; : > ready; while [ ! -e go ]; do sleep 0.01; done")
	b.await("ready")
	if err := b.w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(b.root, "a"), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString("mine")
	}
	if err != nil {
		t.Fatal(err)
	}
	b.write("go", "")
	_ = cmd.Wait()
	box.Close()
	for len(helpers(t)) > 0 {
		time.Sleep(time.Millisecond)
	}
	f.Close()
	want := "proven b: 2 > 9\nproven ready: - > \nunproven a: 1 > 19mine"
	if list := b.recovered(); len(list) != 1 || b.told(list[0]) != want {
		t.Errorf("got\n%s\nwant\n%s", told(list), want)
	}
}

// meddling is a store at which somebody else writes a file when a content comes.
type meddling struct {
	witness.Store
	meddle func()
}

func (m *meddling) PutFile(s store.Source) (store.Kept, error) {
	m.meddle()
	return m.Store.PutFile(s)
}

// TestAnotherWriterWhileAKilledKerfsCommandIsRecovered: somebody else writes a file, and closes it, after
// it was looked at and before it is read.
func TestAnotherWriterWhileAKilledKerfsCommandIsRecovered(t *testing.T) {
	long.Slow(t)
	b := newBench(t, "")
	b.write("a", strings.Repeat("0123456789abcdef", 33<<16))
	_, cmd, _, box := b.start("mv a c")
	_ = cmd.Wait()
	box.Close()
	if err := b.w.Close(); err != nil {
		t.Fatal(err)
	}
	wrote := 0
	o := witness.Options{Dir: b.home, Roots: []string{b.root}, Ledger: b.ledger, Store: &meddling{b.store, func() {
		if wrote++; wrote == 1 {
			if err := opened(filepath.Join(b.root, "c"), syscall.O_WRONLY|syscall.O_APPEND, writes("mine")); err != nil {
				t.Error(err)
			}
		}
	}}}
	done, err := witness.Recover(context.Background(), o, func(_ ledger.Entry, r witness.Report) error {
		for _, p := range r.Parts {
			for _, c := range p.Set {
				if p.Certainty == ledger.Proven && c.Post != nil {
					t.Errorf("told:\n%s", told([]witness.Report{r}))
				}
			}
		}
		return nil
	})
	if err != nil || done != 1 || wrote == 0 {
		t.Error(err, done, wrote)
	}
}

// TestAFileWithTwoNamesThatIsOpenWhenKerfIsKilled: what a command writes after it was entered what it did
// before is its own, also in a file that has another name.
func TestAFileWithTwoNamesThatIsOpenWhenKerfIsKilled(t *testing.T) {
	s := newStage(t)
	w := s.enters()
	s.write("h", "h")
	if err := os.Link(filepath.Join(s.root, "h"), filepath.Join(s.root, "n")); err != nil {
		t.Fatal(err)
	}
	x, cmd, out, box := s.start("exec 3>>h; printf C >&3; : > ready; while [ ! -e go ]; do sleep 0.01; done; printf D >&3")
	s.await("ready")
	ctx := context.Background()
	if err := x.Collect(func(r witness.Report) {
		if _, err := enter.Report(ctx, w, txn.Origin{Session: "s", Call: "c"}, r); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.w.Close(); err != nil {
		t.Fatal(err)
	}
	s.write("go", "")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	box.Close()
	list := s.recovered()
	if len(list) != 1 || len(list[0].Parts) != 1 || list[0].Parts[0].Certainty != ledger.Proven || len(list[0].Parts[0].Set) != 2 {
		t.Errorf("got\n%s", told(list))
	}
}

// await waits for a file.
func (b *bench) await(name string) {
	for {
		if _, err := os.Stat(filepath.Join(b.root, name)); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// awaitClosed waits for a file that its maker has closed: the kernel gives no lease to read before.
func (b *bench) awaitClosed(name string) {
	b.await(name)
	f, err := os.Open(filepath.Join(b.root, name))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != unix.EAGAIN {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestKilledHelperLosesNothing(t *testing.T) {
	b := newBench(t, "")
	b.write("a", "1")
	b.write("b", "2")
	x, cmd, out, box := b.start("printf 9 > a; : > ready; while [ ! -e go ]; do sleep 0.01; done; printf 8 > b")
	b.await("ready")
	b.killHelper()
	b.write("go", "")
	_ = cmd.Wait()
	box.Close()
	var got string
	if err := x.End(func(r witness.Report) bool { got = b.told(r); return true }); err == nil {
		t.Error("no word of it")
	}
	if want := "proven a: 1 > 9\nproven ready: - > "; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if now, _ := os.ReadFile(filepath.Join(b.root, "b")); string(now) != "2" {
		t.Errorf("b was changed although nobody saw it: %s %s", now, out)
	}
}

// killHelper kills the helper process, which is a child of this one.
func (b *bench) killHelper() {
	b.Helper()
	for _, pid := range b.helpers() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		for {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil || len(text) == 0 { // a zombie has none
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// helpers are the helper processes of this one.
func (b *bench) helpers() (pids []int) {
	b.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range list {
		text, _ := os.ReadFile(name)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "status"))
		if strings.Contains(string(text), "--kerf-witness") && strings.Contains(string(stat), "PPid:\t"+strconv.Itoa(os.Getpid())+"\n") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestContentsThatFoundNoRoomAreStoredLater: the disk is full when it is entered what a command did. What
// the files held stays in its journal until it is stored.
func TestContentsThatFoundNoRoomAreStoredLater(t *testing.T) {
	s := newStage(t)
	w := s.enters()
	s.write("little", "1")
	s.write("large", strings.Repeat("0123456789abcdef", 8<<10)) // kept beside the journal
	s.write("changed", "one")
	x, cmd, out, box := s.start("rm little large; printf two > changed")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	box.Close()
	full := true
	w.Store.Hook = func(op, _ string) error {
		if full && op != "unlink" {
			return syscall.ENOSPC
		}
		return nil
	}
	ctx, o := context.Background(), txn.Origin{Call: "c"}
	if err := x.End(func(r witness.Report) bool {
		_, err := enter.Report(ctx, w, o, r)
		return err == nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.w.Close(); err != nil {
		t.Fatal(err)
	}
	options := witness.Options{Dir: s.home, Roots: []string{s.root}, Ledger: w.Ledger, Store: w.Store}
	again := func(ledger.Entry, witness.Report) error {
		t.Error("it is entered twice")
		return nil
	}
	if n, err := witness.Recover(ctx, options, again); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the disk is still full: %d, %v", n, err)
	}
	full = false
	if n, err := witness.Recover(ctx, options, again); n != 1 || err != nil {
		t.Errorf("there is room: %d, %v", n, err)
	}
	entries, err := w.Ledger.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	contents := 0
	for _, e := range entries {
		for _, c := range e.Changes {
			for _, v := range []*ledger.Version{c.Pre, c.Post} {
				if img := v.Image(); img != nil {
					contents++
					if !w.Store.Has(img.Sum) {
						t.Errorf("a content of %s is lost", c.Path)
					}
				}
			}
		}
	}
	if contents != 4 {
		t.Errorf("%d contents, want 4", contents)
	}
	if left, _ := os.ReadDir(filepath.Join(s.home, "witness")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestJournalThatTheLedgerDoesNotKnow: a journal that came here from elsewhere, or whose command the ledger
// lost, is nobody's work: nothing is entered, and what it keeps stays.
func TestJournalThatTheLedgerDoesNotKnow(t *testing.T) {
	b := newBench(t, "")
	b.write("a", "1")
	_, cmd, _, box := b.start("printf 9 > a")
	_ = cmd.Wait()
	box.Close()
	if err := b.w.Close(); err != nil {
		t.Fatal(err)
	}
	sessions, err := os.ReadDir(filepath.Join(b.home, "witness"))
	if err != nil || len(sessions) != 1 {
		t.Fatal(sessions, err)
	}
	was, is := filepath.Join(b.home, "witness", sessions[0].Name()), filepath.Join(b.home, "witness", "other")
	if err := os.Rename(was, is); err != nil {
		t.Fatal(err)
	}
	cut, err := ledger.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*ledger.Ledger{b.ledger, cut} {
		if l == cut { // under its own name again
			if err := os.Rename(is, was); err != nil {
				t.Fatal(err)
			}
			is = was
		}
		o := witness.Options{Dir: b.home, Roots: []string{b.root}, Ledger: l, Store: b.store}
		_, err := witness.Recover(context.Background(), o, func(_ ledger.Entry, r witness.Report) error {
			t.Errorf("entered\n%s", told([]witness.Report{r}))
			return nil
		})
		if _, gone := os.Stat(is); err == nil || !strings.Contains(err.Error(), is) || gone != nil {
			t.Error(err, gone)
		}
	}
	if list := b.recovered(); len(list) != 1 || b.told(list[0]) != "proven a: 1 > 9" {
		t.Errorf("recovered where it belongs: %v", list)
	}
}

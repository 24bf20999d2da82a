package witness_test

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/ledger"
	"kerf/internal/work/witness"
)

// TestACommandMayEndBeforeItsListenerIsThere: one that changes nothing can be over before its
// listener was handed on.
func TestACommandMayEndBeforeItsListenerIsThere(t *testing.T) {
	b := newBench(t, "")
	x, err := b.w.Begin(ledger.Entry{Session: "s", Call: "c"}, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	launcher, err := unix.Dup(int(x.Socket().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(launcher)
	ended := make(chan error, 1)
	go func() { ended <- x.End(func(witness.Report) bool { return true }) }()
	for { // until it waits for the listener
		if _, err := x.Socket().Stat(); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := unix.Sendmsg(launcher, []byte{0}, unix.UnixRights(int(null.Fd())), nil, 0); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the end of a command is waited for in vain")
	}
}

//go:build unix

package terminal

import (
	"syscall"
	"testing"
	"time"
)

// TestInterruptsOfAnotherProgram: what is typed for a program that has the terminal does
// not end Kerf, also when Kerf is told after that program is gone.
func TestInterruptsOfAnotherProgram(t *testing.T) {
	var term Terminal
	ended := make(chan struct{}, 1)
	stop := term.Watch(Events{Resized: func(int, int) {}, Continued: func() {}, Ended: func() { ended <- struct{}{} }})
	defer stop()
	interrupt := func() bool {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
			return true
		case <-time.After(200 * time.Millisecond):
			return false
		}
	}
	term.Lend(true)
	if interrupt() {
		t.Error("ctrl+c ended Kerf while another program had the terminal")
	}
	term.Lend(false)
	if interrupt() {
		t.Error("a late ctrl+c ended Kerf")
	}
	term.back.Store(0)
	if !interrupt() {
		t.Error("an interrupt does not end Kerf")
	}
}

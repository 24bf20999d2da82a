package tui

import (
	"os"
	"time"
)

func watched() []os.Signal { return []os.Signal{os.Interrupt} }

func isResize(os.Signal) bool   { return false }
func isContinue(os.Signal) bool { return false }

func mend(int) {}

// resized asks for the size now and then: the console sends no signal.
func resized() (<-chan time.Time, func()) {
	t := time.NewTicker(500 * time.Millisecond)
	return t.C, t.Stop
}

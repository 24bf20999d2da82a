package terminal

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// Signals are the signals about the terminal.
func Signals() []os.Signal { return []os.Signal{os.Interrupt} }

func isResize(os.Signal) bool   { return false }
func isContinue(os.Signal) bool { return false }

func repair(int) {}

// sizeTicks says when to ask for the size: the console sends no signal.
func sizeTicks() (<-chan time.Time, func()) {
	t := time.NewTicker(500 * time.Millisecond)
	return t.C, t.Stop
}

// forget throws away what was typed on a terminal and not read.
func forget(fd int) { _ = windows.FlushConsoleInputBuffer(windows.Handle(fd)) }

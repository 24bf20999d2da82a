//go:build !linux

package overlay

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"
)

// Run runs nothing.
func Run(context.Context, Spec, *os.File, *os.File, *os.File) (int, error) {
	return 0, fmt.Errorf("%w: %s has none", ErrImpossible, runtime.GOOS)
}

// Hold is never started here.
func Hold() int { return 1 }

// Take takes nothing here.
func Take(env []string) ([]Shown, []string) { return nil, env }

// Over reports whether the file system of dir is an overlay.
func Over(string) bool { return false }

// Walk is never needed here.
func Walk(string, func(Entry) error) error { return ErrImpossible }

// Copied says what a copy took.
type Copied struct {
	Files  int
	Bytes  int64
	Shared int
	Left   int
}

// Weight is what a copy would take.
type Weight struct {
	Files int
	Bytes int64
}

// Weigh looks at nothing here.
func (l Layer) Weigh() (Weight, error) { return Weight{}, ErrImpossible }

// Copy copies nothing here.
func (l Layer) Copy() (Copied, error) { return Copied{}, ErrImpossible }

// Changes is never needed here.
func (l Layer) Changes() ([]Entry, error) { return nil, ErrImpossible }

// Born is not known here.
func Born(string) time.Time { return time.Time{} }

// Since is not known here.
func Since(string) time.Time { return time.Time{} }

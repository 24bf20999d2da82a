//go:build !linux

package witness

import (
	"context"
	"os"

	"kerf/internal/work/ledger"
)

// Available returns nil where commands can be witnessed, and else the reason.
func Available() error { return ErrUnavailable }

// Witness has the commands of one session witnessed; not on this system.
type Witness struct{}

// New fails.
func New(Options) (*Witness, error) { return nil, ErrUnavailable }

// Begin fails.
func (w *Witness) Begin(ledger.Entry, bool, func(Loss) bool) (*Watch, error) {
	return nil, ErrUnavailable
}

// Close does nothing.
func (w *Witness) Close() error { return nil }

// Recover finds nothing: no journal is made on this system.
func Recover(context.Context, Options, func(ledger.Entry, Report) error) (int, error) { return 0, nil }

// Lost finds nothing.
func Lost(Options, func(ledger.Entry, Report) error) (int, error) { return 0, nil }

// Watch is one command that is witnessed; there is none on this system.
type Watch struct{}

// Socket is nil.
func (x *Watch) Socket() *os.File { return nil }

// Ignore does nothing.
func (x *Watch) Ignore([]string) {}

// OneRoot does nothing.
func (x *Watch) OneRoot() {}

// Collect does nothing.
func (x *Watch) Collect(func(Report)) error { return nil }

// End does nothing.
func (x *Watch) End(func(Report) bool) error { return nil }

// AvailableUnconfined is Available for commands without a sandbox around them.
func AvailableUnconfined() error { return ErrUnavailable }

// News tells whether Collect would tell anything.
func (x *Watch) News() News { return Nothing }

// Leave does nothing.
func (x *Watch) Leave(func(Report) bool) (running bool, err error) { return false, nil }

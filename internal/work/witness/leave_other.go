//go:build !linux

package witness

// AvailableUnconfined is Available for commands without a sandbox around them.
func AvailableUnconfined() error { return ErrUnavailable }

// News tells whether Collect would tell anything.
func (x *Watch) News() News { return Nothing }

// Leave does nothing.
func (x *Watch) Leave(func(Report) bool) (running bool, err error) { return false, nil }

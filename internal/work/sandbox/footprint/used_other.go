//go:build !linux

package footprint

// kernel counts nothing here: no limit is set.
type kernel struct{}

var machine kernel

func (kernel) taken() uint64 { return 0 }

func (kernel) running() uint64 { return 0 }

func (kernel) count(int) Limits { return Limits{} }

// Package pattern has regular expressions that are compiled when they are first used:
// most runs of the program need few of them, and compiling all costs a millisecond.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles expr at its first call and returns the same
// expression each time. It panics at that call if expr is wrong. The function may be
// called by several goroutines.
func Lazy(expr string) func() *regexp.Regexp {
	return (&lazy{expr: expr}).get
}

type lazy struct {
	expr string
	once sync.Once
	re   *regexp.Regexp
}

func (l *lazy) get() *regexp.Regexp {
	l.once.Do(func() { l.re = regexp.MustCompile(l.expr) })
	if l.re == nil { // it panicked before
		panic("pattern: " + l.expr + " is no regular expression")
	}
	return l.re
}

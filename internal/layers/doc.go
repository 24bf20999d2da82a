// Package layers holds the order of the packages: which room may import which.
//
// It has no code of its own, only tests. They parse the files themselves, since
// the answer of `go list` may come out of a cache.
package layers

//go:build race

package host

// racing is set when the race detector, which costs tenfold, watches.
const racing = true

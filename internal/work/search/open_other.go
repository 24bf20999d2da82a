//go:build !unix

package search

// maxArgs is how many bytes of file names one command line takes; Windows
// allows 32,767 characters in all.
const maxArgs = 20 << 10

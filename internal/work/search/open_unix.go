//go:build unix

package search

// maxArgs is how many bytes of file names one command line takes; Linux allows
// two MiB for arguments and environment together, macOS one.
const maxArgs = 256 << 10

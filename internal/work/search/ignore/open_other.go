//go:build !unix

package ignore

const nonblock = 0

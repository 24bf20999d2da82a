//go:build !race

package host

const racing = false

// Package agree holds a test that file tools and commands agree: for random trees, what
// the tools read, list, find and write is what a command can, under each backend.
package agree

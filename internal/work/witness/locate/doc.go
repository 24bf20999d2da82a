// Package locate finds out which name a system call of another process means.
package locate

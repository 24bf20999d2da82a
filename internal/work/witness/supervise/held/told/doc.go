// Package told is what the kernel tells of names in directories.
package told

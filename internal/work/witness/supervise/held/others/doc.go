// Package others finds out whether programs beside the commands have a file open for writing.
package others

// Package others finds out who has a file open for writing: commands, and how often, or programs beside
// them.
package others

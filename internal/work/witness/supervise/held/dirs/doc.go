// Package dirs keeps the directories in which commands work, as long as the kernel gives notices
// of them.
package dirs

// Package powerloss works out what a loss of power may leave of a directory.
//
// A Disk is told of each call of a program that changes files, before the call is made.
// It looks at what there is, and so knows what has been asked of the disk and what has been
// flushed. Power may be lost before any call. Then the disk holds
//
//   - every name that a flush of its directory has made durable, and of the later
//     changes of names any set that keeps the order of changes of the same name; the
//     two names of a rename or an exchange change together, and a directory goes only
//     when it is empty;
//   - every content that was flushed, and of later ones the old, the new, a part of
//     the new, zeros, or the beginning of the new before the rest of the old.
//
// This is weaker than what ext4, xfs and btrfs promise.
package powerloss

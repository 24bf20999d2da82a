// Package supervise is the helper process of the witness.
//
// The kernel tells it of each call by which a witnessed command is about to change a
// name or a content, and holds the call until it is answered. The helper finds out
// which name in the workspace is meant, keeps what it holds when it is touched for the
// first time, writes that into the journal, and only then lets the call go on.
//
//	serve     the socket on which Kerf hands over commands, and the helper's life
//	watch     one command: its calls, one after the other
//	call      one call: which names it is about to change, found by package locate
//	touch     what is noted of a name and kept of its file, once
//	pending   calls that went on, until it is known what came of them
//	look      what a name holds now, opened; package content keeps it
//	notices   what the kernel tells of changes in directories, those of others too
//
// The helper outlives Kerf when that is killed, until nothing of its commands runs any
// more. When the helper itself ends, the kernel refuses the calls of its commands, so
// that nothing is changed unseen.
package supervise

// Flag, as the first argument, makes the binary a helper.
const Flag = "--kerf-witness"

// Package held deals with the calls of commands while the kernel holds them.
//
// The kernel tells of each call by which a witnessed command is about to change a name or
// a content, and holds the call until it is answered. The package finds out which name in
// the workspace is meant, keeps what it holds when it is touched for the first time,
// writes that into the journal, and only then lets the call go on.
//
//	watch     one command: its calls, one after the other
//	call      one call: which names it is about to change, found by package locate
//	touch     what is noted of a name and kept of its file, once
//	pending   calls that went on, until it is known what came of them
//	roots     in which changes are witnessed
//	look      what a name holds now, opened; package content keeps it
//	notices   what the kernel tells of changes in directories, those of others too
//	dirs      the directories of which it tells, by their names
//	apart     by how many processes a file was written; package endings counts them
//	linked    files with several names
//	threads   whether a call that went on is over; directories move when none is under way
//	others    whether programs beside the commands have a file open for writing
package held

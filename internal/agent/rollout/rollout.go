// Package rollout keeps the durable record of a session.
//
// A session is a directory:
//
//	rollout.jsonl      one record a line, in order, written as it happens
//	rollout.head       number and hash of the last record that was written
//	rollout.mark       where the last part begins, and what is before it in short
//	rollout.outline    where the turns stand, see package outline
//	rollout.index      leads through a long outline
//	rollout.lock       locked by the process that writes
//	rollout.damaged-N  bytes that a repair took out, as they were
//	metadata.json      what lists of sessions show
//	diffs/001.diff     one file for each change of files
//
// A line is one flat JSON object. It begins with seq (1, 2, 3 …), timestamp
// (UTC, milliseconds), type, and prev: the SHA-256, in hex, of the bytes of the
// line before, without its line feed; empty in the first line. The fields of
// the body follow. Order is by seq, never by time.
//
// A record is written with write(2) before it is shown to anyone, so it
// survives the death of the process; Sync makes it survive the machine's.
// Directories have mode 0700 and files 0600, whatever the umask.
package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The names in a session directory.
const (
	rolloutName  = "rollout.jsonl"
	headName     = "rollout.head"
	lockName     = "rollout.lock"
	damagedName  = "rollout.damaged-"
	metadataName = "metadata.json"
	diffsName    = "diffs"
)

// ErrLive says that another writer, perhaps in another process, has the session.
var ErrLive = errors.New("the session is in use")

// ErrPending says that records could not be written now, are kept in memory in
// their order, and will be written by a later Append, Sync or Close that finds
// the way free. They must not be appended again.
var ErrPending = errors.New("records wait in memory")

// ErrFull says that so many records wait in memory that these were not taken.
var ErrFull = errors.New("too many records wait in memory")

// Entry is a record to be: Body marshals to a JSON object whose keys are not
// those that begin every line.
type Entry struct {
	Type string
	Body any
}

// Record is one line. Raw is the whole line's object.
type Record struct {
	Seq  int64
	Time time.Time
	Type string
	Raw  json.RawMessage
}

// Options is how a rollout is written.
type Options struct {
	// Redact takes secrets out of bytes before they are written or hashed. It may
	// return its argument and must not change it. Nil changes nothing.
	Redact func([]byte) []byte
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Sync makes every Append reach the disk, not only the system.
	Sync bool
	// Digester lets Resume begin at the last cut; the zero value does not.
	Digester
}

func (o Options) filled() Options {
	if o.Redact == nil {
		o.Redact = func(b []byte) []byte { return b }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Damage is what was wrong with a file that was read.
type Damage struct {
	// Line is the first damaged line, 1-based; 0 when only lines at the end are
	// missing.
	Line int
	// Skipped counts pieces that held no whole record.
	Skipped int
	// Mended counts lines whose records were whole among bytes that do not belong
	// there: line ends of another system, NULs, two records on one line.
	Mended int
	// Misplaced counts records out of order or told twice.
	Misplaced int
	// Torn is the number of bytes after the last line feed, if any.
	Torn int64
	// Missing counts records that were written and are gone from the end.
	Missing int64
	// Kept names the file to which Open moved the damaged bytes.
	Kept string
}

// String tells the damage in a few words.
func (d *Damage) String() string {
	if d == nil {
		return "none"
	}
	var parts []string
	say := func(n int64, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, one)
		case n > 1:
			parts = append(parts, fmt.Sprintf(many, n))
		}
	}
	say(int64(d.Skipped), "1 unreadable line skipped", "%d unreadable lines skipped")
	say(int64(d.Mended), "1 line mended", "%d lines mended")
	say(int64(d.Misplaced), "1 record out of place", "%d records out of place")
	if d.Torn > 0 {
		parts = append(parts, "the last line was cut off")
	}
	say(d.Missing, "the last record is missing", "the last %d records are missing")
	s := strings.Join(parts, ", ")
	if d.Line > 0 {
		s += fmt.Sprintf(" (first at line %d)", d.Line)
	}
	if d.Kept != "" {
		s += "; the original bytes are in " + d.Kept
	}
	return s
}

func (d *Damage) none() bool { return *d == Damage{} }

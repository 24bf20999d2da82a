// Package rescue stores contents that entries of a command name and the store lacks, since the disk
// was full when they were entered: what files held before is in the command's journal still, and
// what they hold since is mostly there.
package rescue

import (
	"strings"

	"kerf/internal/atomicfile"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/witness/journal"
)

// limit is the size of the contents that are looked for: larger ones went to the store as files.
const limit = 32 << 20

// Store keeps contents.
type Store interface {
	Has(sum delta.Sum) bool
	PutAll(contents []store.Content, durable bool) error
}

// Command is one whose entries may lack contents.
type Command struct {
	Began   int64          // the entry that it began with
	Entries []ledger.Entry // from that one on
	Dir     string         // of its journal
	Records []journal.Record
	Now     func(path string) *delta.Image // what a file holds now, with its content; nil if nothing is known
}

// Contents stores what the command's entries lack, and returns how many contents that were. What is
// nowhere any more is no error. An error is one of the store, whose disk may be full still.
func (c Command) Contents(s Store) (stored int, err error) {
	missing, paths := c.missing(s)
	put := func(data []byte) error {
		sum := delta.SumOf(data)
		if !missing[sum] {
			return nil
		}
		if err := s.PutAll([]store.Content{{Sum: sum, Data: data}}, true); err != nil {
			return err
		}
		delete(missing, sum)
		stored++
		return nil
	}
	for i := range c.Records {
		if len(missing) == 0 {
			break
		}
		if data, ok := c.kept(&c.Records[i].Before); ok {
			if err := put(data); err != nil {
				return stored, err
			}
		}
	}
	for _, p := range paths {
		if img := c.Now(p); img != nil && img.Loaded {
			if err := put(img.Data); err != nil {
				return stored, err
			}
		}
	}
	return stored, nil
}

// missing are the contents that entries name and the store lacks, and the files that held them
// after the command.
func (c Command) missing(s Store) (sums map[delta.Sum]bool, paths []string) {
	sums = map[delta.Sum]bool{}
	for i := range c.Entries {
		e := &c.Entries[i]
		if e.Of != c.Began || !strings.Contains(e.Note, ledger.NoteFull) {
			continue
		}
		for _, ch := range e.Changes {
			for _, v := range []*ledger.Version{ch.Pre, ch.Post} {
				img := v.Image()
				if img == nil || img.Kind != delta.File || img.Size > limit || s.Has(img.Sum) {
					continue
				}
				if sums[img.Sum] = true; v == ch.Post {
					paths = append(paths, ch.Path)
				}
			}
		}
	}
	return sums, paths
}

// kept is a content that is in the journal.
func (c Command) kept(s *journal.State) (data []byte, ok bool) {
	if s.Kind != journal.File || s.Sig.Size > limit {
		return nil, false
	}
	var err error
	switch s.How {
	case journal.Inline:
		data, err = journal.Content(c.Dir, s)
	case journal.Apart, journal.Live:
		data, err = atomicfile.Read(journal.ApartPath(c.Dir, s.Number))
	default:
		return nil, false
	}
	return data, err == nil
}

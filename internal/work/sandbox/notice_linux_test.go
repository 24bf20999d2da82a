package sandbox

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
)

// event is one as the kernel writes it down.
func event(wd int32, mask uint32, name string) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(wd))
	b = binary.NativeEndian.AppendUint32(b, mask)
	b = binary.NativeEndian.AppendUint32(b, 0)
	if name != "" {
		name += "\x00\x00"
	}
	b = binary.NativeEndian.AppendUint32(b, uint32(len(name)))
	return append(b, name...)
}

// TestWhatNoticesMean: a name that was taken away is lost, whoever stands there now. Where the kernel dropped
// notices, or watches a directory no more, all names are looked at.
func TestWhatNoticesMean(t *testing.T) {
	const here, elsewhere = 3, 4
	gone := event(here, unix.IN_DELETE, "name")
	for what, c := range map[string]struct {
		events  []byte
		removed bool // the name, before the events are read
		lost    bool
	}{
		"it was taken away, and another one made": {gone, false, true},
		"another name":                              {event(here, unix.IN_MOVED_TO, "names"), true, false},
		"the name in another directory":             {event(elsewhere, unix.IN_DELETE, "name"), true, false},
		"another name, and then it":                 {append(event(here, unix.IN_DELETE, "other"), gone...), false, true},
		"notices were dropped, and it is gone":      {event(-1, unix.IN_Q_OVERFLOW, ""), true, true},
		"notices were dropped, and it is there":     {event(-1, unix.IN_Q_OVERFLOW, ""), false, false},
		"notices were dropped, and then it":         {append(event(-1, unix.IN_Q_OVERFLOW, ""), gone...), false, true},
		"the directory went, and it with it":        {event(here, unix.IN_IGNORED, ""), true, true},
		"the directory is watched no more":          {event(here, unix.IN_IGNORED, ""), false, false},
		"something happened to the directory alone": {event(here, unix.IN_DELETE_SELF, ""), true, false},
		"half of a notice":                          {gone[:len(gone)-1], true, false},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "name")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		g := &guard{names: map[string]boundary.FileID{}, masks: map[string]bool{}}
		g.names[path], _ = g.identity(path)
		if c.removed {
			os.Remove(path)
		}
		killed := 0
		g.arm(func() { killed++ })
		n := &notices{watches: map[int32][]watch{here: {{g, dir}}, 9: nil}}
		n.take(c.events)
		if lost := g.broken(); (lost == path) != c.lost || (killed > 0) != c.lost {
			t.Errorf("%s: lost %q, ended %d times", what, lost, killed)
		}
	}
}

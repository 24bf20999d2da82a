//go:build !linux

package witness

import (
	"io/fs"
	"os"

	"kerf/internal/work/witness/journal"
)

func (c *collector) look(string) (journal.State, error) { return journal.State{}, ErrUnavailable }

func (c *collector) leave() int64 { return 0 }

func (c *collector) file(string) (*os.File, error) { return nil, ErrUnavailable }

func beingWritten(*os.File) bool { return false }

func untouched(*os.File, *journal.Sig) bool { return true }

func reachable(*os.File, fs.FileInfo) bool { return false }

func (c *collector) small(string, int64) (data []byte, writer, ok bool) { return nil, false, false }

func (c *collector) stay() (leave func()) { return func() {} }

// places are nothing here.
type places struct{}

func newPlaces([]string) places { return places{} }

// Close does nothing.
func (places) Close() {}

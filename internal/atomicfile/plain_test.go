package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestPlainFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if _, err := Read(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is there: %v", err)
	}
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(file); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, open := range []func() error{
		func() error { return Plain(dir) },
		func() error { _, err := Read(dir); return err },
		func() error { _, err := Open(dir); return err },
		func() error { _, err := OpenFile(os.DevNull, os.O_RDWR, 0); return err },
	} {
		if err := open(); !errors.Is(err, ErrKind) {
			t.Errorf("no file: %v", err)
		}
	}
}

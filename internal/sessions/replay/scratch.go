package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// maxScratch bounds a scratch copy, in bytes.
const maxScratch = 8 << 30

// copyTree copies files, directories and links; what else there is, and without,
// is left out.
func copyTree(ctx context.Context, from, to, without string) error {
	total := int64(0)
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		info, err := d.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			return err
		case d.IsDir() && path == without:
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, info.Mode().Perm()|0o700)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !d.Type().IsRegular():
			return nil
		}
		if total += info.Size(); total > maxScratch {
			return fmt.Errorf("%s has more than %d GB, too much for a scratch copy", from, maxScratch>>30)
		}
		return copyFile(path, target, info)
	})
}

func copyFile(from, to string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(info.Mode().Perm())
	}
	if e := out.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return err
}

// moved is a text in which a directory has another name. The name must end where
// a path does.
func moved(text, from, to string) string {
	if from == "" || !strings.Contains(text, from) {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, from)
		if i < 0 {
			return b.String() + text
		}
		end := i + len(from)
		b.WriteString(text[:i])
		if end < len(text) && nameByte(text[end]) {
			b.WriteString(from)
		} else {
			b.WriteString(to)
		}
		text = text[end:]
	}
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c >= 0x80
}

// passing matches what differs from run to run without meaning anything: times
// that something took, and the numbers of versions, which count what this process
// saw.
var passing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b[0-9]+(\.[0-9]+)? ?(seconds|secs|sec|s|ms|µs|us|ns)\b|"(newVersion|version)":[0-9]+|\bversion:? [0-9]+\b|\b0x[0-9a-f]{8,}\b`)
})

// settled is a result without what passes.
func settled(text string) string { return passing().ReplaceAllString(text, "…") }

// Package mails writes changes as a series of patches that git am applies.
package mails

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/repo/commit"
)

// Mail is one patch of a series.
type Mail struct {
	Message  string // its first line is the subject
	Trailers string // lines, each with its line break
	When     time.Time
	Diff     string // in git's format
	Version  string // of Kerf
}

// Write writes a file for each mail, numbered from 1, into dir, which is made where it is not
// there. It returns the names of those that it wrote. A file that is there is an error.
func Write(dir, author string, list []Mail) (paths []string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	for i, m := range list {
		path := filepath.Join(dir, fmt.Sprintf("%04d-%s.patch", i+1, slug(m.Message)))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, os.ErrExist) {
			return paths, fmt.Errorf("%s is there already; name another directory", visible.Line(path))
		} else if err != nil {
			return paths, err
		}
		_, err = f.WriteString(m.text(author, i+1, len(list)))
		if err = errors.Join(err, f.Close()); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (m Mail) text(author string, n, of int) string {
	first, rest, _ := strings.Cut(m.Message, "\n")
	count := ""
	if of > 1 {
		count = fmt.Sprintf(" %d/%d", n, of)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "From %040d Mon Sep 17 00:00:00 2001\nFrom: %s\nDate: %s\n", 0, author, m.When.Format(time.RFC1123Z))
	fmt.Fprintf(&s, "Subject: [PATCH%s] %s\n", count, mime.QEncoding.Encode("utf-8", visible.Line(first)))
	s.WriteString("MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n")
	s.WriteString(body(rest) + m.Trailers)
	fmt.Fprintf(&s, "---\n%s\n%s-- \nkerf %s\n\n", shown.Stats(m.Diff, 80, false, shown.Octal), m.Diff, m.Version)
	return s.String()
}

// body is the rest of a message. Lines that would end it for git begin with a blank.
func body(rest string) string {
	if rest = strings.TrimSpace(visible.String(rest)); rest == "" {
		return ""
	}
	var s strings.Builder
	for line := range strings.Lines(rest) {
		for _, mark := range []string{"---", "diff -", "Index: ", "From "} {
			if strings.HasPrefix(line, mark) {
				s.WriteByte(' ')
			}
		}
		s.WriteString(line)
	}
	return s.String() + "\n\n"
}

// Author is whom git names as the author in dir.
func Author(dir string, env []string) string {
	const nobody = "Kerf <kerf@localhost>"
	program, err := commit.Program(dir)
	if err != nil {
		return nobody
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	git := exec.CommandContext(ctx, program, "var", "GIT_AUTHOR_IDENT")
	git.Dir, git.Env = dir, env
	out, err := git.Output()
	who, _, found := strings.Cut(string(out), ">")
	if err != nil || !found {
		return nobody
	}
	name, address, _ := strings.Cut(visible.Line(who), "<")
	return mime.QEncoding.Encode("utf-8", strings.TrimSpace(name)) + " <" + address + ">"
}

// slug is the first line of a message as a part of a file's name.
func slug(message string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	words := strings.FieldsFunc(strings.ToLower(first), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	s := strings.Join(words, "-")
	return cmp.Or(strings.Trim(s[:min(52, len(s))], "-"), "changes")
}

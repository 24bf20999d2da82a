package records

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes/named"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/changes/span"
)

const exportLong = `Writes the conversation of a session with the diffs of all changes, as kerf sessions export does. Without
an id it takes the newest session of this directory.

--patch-series writes what the session changed instead: for each turn a mail that git am applies, numbered
in their order, into a directory that is made where it is not there. Turns that were undone, and those
that changed nothing, are left out. The message is the request, with the session and the turn as trailers.`

func exportCommand(p *program.Program) *cobra.Command {
	cmd := sessionsExport(p)
	var dir string
	document := cmd.RunE
	cmd.Use, cmd.Short, cmd.Long = "export [ID]", "Write a session as a document, or as patches", exportLong
	cmd.Args = program.AtMost(1)
	cmd.Example = "  kerf export -o session.html 0199\n  kerf export --patch-series patches 0199 && git am patches/*.patch"
	cmd.Flags().StringVar(&dir, "patch-series", "", "write a patch for each turn into this `directory`")
	for _, other := range []string{"format", "output"} {
		cmd.MarkFlagsMutuallyExclusive("patch-series", other)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("patch-series") {
			return document(cmd, args)
		}
		if dir == "" {
			return program.Misuse("--patch-series: the name of the directory is empty")
		}
		return patchSeries(p, strings.Join(args, ""), dir)
	}
	return cmd
}

// patchSeries writes a mail for each turn of a session that changed something and stands.
func patchSeries(p *program.Program, id, dir string) error {
	h, err := p.Tolerant()
	if err != nil {
		return err
	}
	info, err := h.FindSession(id)
	if err != nil {
		return err
	}
	b, session, err := openBook(p, string(info.ID))
	if err != nil {
		return err
	}
	defer b.ws.Close()
	var mails []mail
	for _, t := range b.standing(session) {
		n, err := span.Net(b.ws.Changes(), span.Span{Unproven: true,
			Target: named.Target{Session: session, Turn: t.Turn, First: t.Seq}})
		if err != nil {
			return err
		}
		tellUnproven(p, "the series has changes of these files of which nobody saw who made them", n.Unproven)
		if len(n.Lost) > 0 {
			return fmt.Errorf("the change of the request %q is not known whole: %s", visible.ClipRunes(t.Prompt, 60),
				visible.Plain(strings.Join(n.Lost, ", ")))
		}
		if len(n.Diff) > 0 {
			mails = append(mails, mail{about: t, diff: string(n.Diff), trailers: b.trailers(t)})
		}
	}
	if len(mails) == 0 {
		return errors.New("nothing to export: the session changed nothing that stands")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return program.Misuse("--patch-series: %v", err)
	}
	author := author(b.ws.Base(), p.Env)
	for i, m := range mails {
		path := filepath.Join(dir, fmt.Sprintf("%04d-%s.patch", i+1, slug(m.about.Prompt)))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, os.ErrExist) {
			return program.Misuse("--patch-series: %s is there already; name another directory", visible.Line(path))
		} else if err != nil {
			return program.Misuse("--patch-series: %v", err)
		}
		_, err = f.WriteString(m.text(author, i+1, len(mails)))
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("write the patch: %w", err)
		}
		fmt.Fprintln(p.Stdout, visible.Line(path))
	}
	return nil
}

// standing are the first entries of the turns of a session of which something was not undone,
// oldest first.
func (b *book) standing(session string) []row.Entry {
	var turns []row.Entry
	asked := b.h.Sessions().Prompts()
	for _, e := range slices.Backward(b.rows) {
		if e.Session != session || e.Undone || e.Cause != "tool" && e.Cause != "command" || len(e.Changes) == 0 ||
			slices.ContainsFunc(turns, func(t row.Entry) bool { return t.Turn == e.Turn }) {
			continue
		}
		e.Prompt = asked.Of(e.Session, e.Turn)
		turns = append(turns, e)
	}
	return turns
}

// mail is a turn as git am reads it.
type mail struct {
	about          row.Entry
	diff, trailers string
}

func (m mail) text(author string, n, of int) string {
	first, rest, _ := strings.Cut(subject(m.about.Prompt), "\n")
	var body strings.Builder
	for line := range strings.Lines(strings.TrimSpace(visible.String(rest))) {
		// What begins so would end the message for git.
		for _, mark := range []string{"---", "diff -", "Index: ", "From "} {
			if strings.HasPrefix(line, mark) {
				line = " " + line
				break
			}
		}
		body.WriteString(line)
	}
	if body.Len() > 0 {
		body.WriteString("\n\n")
	}
	count := ""
	if of > 1 {
		count = fmt.Sprintf(" %d/%d", n, of)
	}
	return fmt.Sprintf("From %040d Mon Sep 17 00:00:00 2001\nFrom: %s\nDate: %s\nSubject: [PATCH%s] %s\n"+
		"MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n%s%s---\n%s\n%s-- \nkerf %s\n\n",
		0, author, m.about.Time.Format(time.RFC1123Z), count, mime.QEncoding.Encode("utf-8", visible.Line(first)),
		body.String(), m.trailers, shown.Stats(m.diff, 80, false), m.diff, host.Version)
}

// author is whom git would name as the author here.
func author(dir string, env []string) string {
	git := exec.Command("git", "var", "GIT_AUTHOR_IDENT")
	git.Dir, git.Env = dir, env
	out, err := git.Output()
	who, _, found := strings.Cut(string(out), ">")
	if err != nil || !found {
		return "Kerf <kerf@localhost>"
	}
	name, address, _ := strings.Cut(visible.Line(who), "<")
	return mime.QEncoding.Encode("utf-8", strings.TrimSpace(name)) + " <" + address + ">"
}

// slug is a request as a part of a file's name.
func slug(prompt string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	words := strings.FieldsFunc(strings.ToLower(first), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	s := strings.Join(words, "-")
	return cmp.Or(strings.Trim(s[:min(52, len(s))], "-"), "changes")
}

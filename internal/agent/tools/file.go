package tools

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/excerpt"
	"kerf/internal/pathname"
	"kerf/internal/text/charset"
	"kerf/internal/text/delta"
	"kerf/internal/text/merge"
	"kerf/internal/text/spelling"
	"kerf/internal/text/visible"
)

// Bounds of names.
const (
	maxPath      = 4096
	similarNames = 3
)

// target is a file that a call names.
type target struct {
	name  string // as the model wrote it
	abs   string
	disk  *delta.Image // nil when nothing is there
	stamp tool.Stamp
	// The encoding that it is said to have, and whether the call says so.
	charset  charset.Charset
	declared bool
	manner   tool.Manner // how the caller is answered
}

// resolve makes the path in an argument absolute.
func resolve(env tool.Env, field, name string) (string, error) {
	switch {
	case name == "":
		return "", tool.Refuse(tool.InvalidArguments, "field %s: expected a path, found an empty string", field)
	case strings.IndexByte(name, 0) >= 0:
		return "", tool.Refuse(tool.InvalidArguments, "field %s: expected a path, found a NUL character in it", field)
	case len(name) > maxPath:
		return "", tool.Refuse(tool.InvalidArguments, "field %s: expected a path of at most %d bytes, found %d", field,
			maxPath, len(name))
	}
	return env.Resolve(name)
}

// look finds the file that an argument names. Encoding is what the call declares it
// to be written in, if anything.
func look(env tool.Env, field, name, encoding string) (target, error) {
	abs, err := resolve(env, field, name)
	if err != nil {
		return target{}, err
	}
	t := target{name: name, abs: abs}
	if t.disk, t.stamp, err = env.Read(abs); err != nil {
		return target{}, err
	}
	if t.disk != nil && t.disk.Kind == delta.Symlink {
		return target{}, tool.Refuse(tool.NotAFile, "%s is a symbolic link to %s; name the file it points to", name,
			clip(string(t.disk.Data)))
	}
	if err := t.declare(env, encoding); err != nil {
		return target{}, err
	}
	return t, nil
}

// missing says that nothing is there, and what has a similar name.
func (t target) missing(ctx context.Context, env tool.Env) *tool.Error {
	if near := similar(ctx, env, t.abs); len(near) > 0 {
		return tool.Refuse(tool.NotFound, "%s does not exist. Did you mean %s?", t.name, strings.Join(near, ", "))
	}
	return tool.Refuse(tool.NotFound, "%s does not exist. Look for it with glob or list_dir", t.name)
}

// similar returns the paths of files that may have been meant by abs: those in its
// directory with nearly its name, else those elsewhere with the same name.
func similar(ctx context.Context, env tool.Env, abs string) []string {
	dir, base := filepath.Dir(abs), filepath.Base(abs)
	entries, _, err := env.List(ctx, dir, 1, 2000)
	var near []string
	for _, e := range entries {
		name := strings.TrimRight(e.Path, "@")
		if err == nil && !strings.HasSuffix(name, "/") && alike(name, base) && len(near) < similarNames {
			near = append(near, display(env, filepath.Join(dir, name)))
		}
	}
	if len(near) > 0 || strings.ContainsAny(base, `*?[]{}\`) {
		return near
	}
	found, _, err := env.Glob(ctx, env.Cwd(), "**/"+base, similarNames)
	if err != nil {
		return nil
	}
	for _, f := range found {
		near = append(near, display(env, f))
	}
	return near
}

// alike reports whether two names differ by no more than a slip: their case, their
// extension, or a third of their letters.
func alike(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	stem := func(s string) string { return strings.TrimSuffix(s, path.Ext(s)) }
	if a == b || len(stem(a)) > 2 && stem(a) == stem(b) {
		return true
	}
	if len(a) > 100 || len(b) > 100 {
		return false
	}
	return spelling.Distance(a, b) <= max(1, min(len(a), len(b))/4)
}

// display is a path as the model is told it: relative to the working directory
// where it lies below, with slashes.
func display(env tool.Env, abs string) string {
	return filepath.ToSlash(pathname.Short(env.Cwd(), abs))
}

// Expectation is the state of a file that a call was made for.
type Expectation struct {
	ExpectedVersion *int    `json:"expectedVersion,omitempty" doc:"Refuse the change unless the file is at this version."`
	ExpectedHash    *string `json:"expectedHash,omitempty" doc:"Refuse the change unless the file has this contentHash."`
}

func (e Expectation) given() bool { return e.ExpectedVersion != nil || e.ExpectedHash != nil }

// or returns e, or other where e expects nothing.
func (e Expectation) or(other Expectation) Expectation {
	if e.given() {
		return e
	}
	return other
}

// unmet says what e expects that t is not, or nothing.
func (e Expectation) unmet(t target) string {
	switch {
	case e.ExpectedVersion != nil && *e.ExpectedVersion != t.stamp.Version:
		return fmt.Sprintf("version %d", *e.ExpectedVersion)
	case e.ExpectedHash != nil && *e.ExpectedHash != t.stamp.ContentHash:
		return "contentHash " + clip(*e.ExpectedHash)
	}
	return ""
}

// refused is a refusal, and the state of the file where it shows that to the model.
type refused struct {
	err *tool.Error
	saw *history.Observation
}

// action tells the refusal in the way that keeps what it shows and warns of.
func (r *refused) action(warnings []tool.Warning) (tool.Action, error) {
	if r.saw == nil && len(warnings) == 0 {
		return nil, r.err
	}
	a := tool.Answer{Result: tool.Result{Error: r.err, Warnings: warnings}}
	if r.saw != nil {
		a.Observed = []history.Observation{*r.saw}
	}
	return a, nil
}

// asRefusal tells refusals from faults of the machine.
func asRefusal(err error) (*tool.Error, bool) {
	var e *tool.Error
	ok := errors.As(err, &e)
	return e, ok
}

// mismatch refuses a change made for another state of t than the present one. It
// shows the way from base, what the model last saw, where that is known, and the
// present text at place. The refusal counts as an observation: the model knows the state.
func (t target) mismatch(lead string, base *delta.Image, place tool.LineRange) *refused {
	var b strings.Builder
	if t.disk == nil {
		fmt.Fprintf(&b, "%s %s It is not there any more. Nothing was written.", t.name, lead)
	} else {
		fmt.Fprintf(&b, "%s %s It is now at version %d, contentHash %s. Nothing was written.", t.name, lead, t.stamp.Version,
			t.stamp.ContentHash)
	}
	if t.disk != nil {
		b.WriteString(t.present(base, place))
	}
	if !strings.HasSuffix(b.String(), "\n") {
		b.WriteString(" ")
	}
	b.WriteString("To go on, re-read with read_file and make the change again for the present text.")
	return &refused{err: &tool.Error{Code: tool.VersionMismatch, Message: b.String()},
		saw: &history.Observation{Path: pathname.Path(t.abs), Image: t.disk}}
}

// present shows what changed since base and the text at place; where neither is
// known, how the file begins.
func (t target) present(base *delta.Image, place tool.LineRange) string {
	shown := ""
	if base != nil && base.Loaded && base.Sum != t.disk.Sum && !t.binary(t.disk.Data) {
		if d := excerpt.Diff(t.name, t.plain(base.Data), t.plain(t.disk.Data)); d != "" {
			shown = " What changed since you last saw it:\n" + d
		}
	}
	switch {
	case place.Start > 0:
		shown = strings.TrimSuffix(shown, "\n") + "\nThe text there now:\n" +
			excerpt.Numbered(t.plain(t.disk.Data), place, t.manner)
	case shown == "" && len(t.disk.Data) > 0 && !t.binary(t.disk.Data):
		shown = "\nIt begins:\n" + excerpt.Numbered(t.plain(t.disk.Data), tool.LineRange{Start: 1, End: 17}, t.manner)
	}
	return shown
}

// known is what the model last saw of t, if it saw something that was there.
func (t target) known(env tool.Env) (base *delta.Image, stale bool) {
	base, seen := env.Seen(t.abs)
	if !seen || base == nil {
		return nil, false
	}
	return base, t.disk == nil || base.Sum != t.disk.Sum
}

// merged joins a change from base to ours with the change from base to what is on
// disk. It returns false when both touch the same place or cannot be merged.
func (t target) merged(base, ours []byte) ([]byte, bool) {
	if t.binary(base) || t.binary(ours) || t.binary(t.disk.Data) {
		return nil, false
	}
	joined, _, conflicts := merge.Contents(base, ours, t.disk.Data, t.charset)
	return joined, len(conflicts) == 0
}

// clip shortens a quotation to what a message needs.
func clip(s string) string { return visible.Clip(s, 57) }

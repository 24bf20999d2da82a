// Package amend lets the user change what a tool proposes to write.
package amend

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"sort"
	"strings"
	"unicode/utf8"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/excerpt"
	"kerf/internal/protocol"
	"kerf/internal/text/charset"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/visible"
)

// maxText is the size up to which a text is shown whole to a front end.
const maxText = 1 << 20

// maxDiff bounds the diffs of a report, in bytes.
const maxDiff = 8000

// FileTexts returns the whole texts before and after a change, one for each path
// of set in its order. A file of which either text is over 1 MiB, not loaded, or
// no valid text is left out, and so are links. Texts are without byte order mark,
// UTF-16 as UTF-8; Edited turns them back.
func FileTexts(set delta.Set) []protocol.FileText {
	var list []protocol.FileText
	for _, c := range net(set) {
		old, ok := wholeText(c.Pre)
		if !ok {
			continue
		}
		if now, ok := wholeText(c.Post); ok {
			list = append(list, protocol.FileText{Path: c.Path, Old: old, New: now})
		}
	}
	return list
}

// net is set with one change for each path, in the order of the first.
func net(set delta.Set) delta.Set {
	at := make(map[string]int, len(set))
	out := make(delta.Set, 0, len(set))
	for _, c := range set {
		i, twice := at[c.Path]
		if !twice {
			at[c.Path] = len(out)
			out = append(out, c)
			continue
		}
		out[i].Post = c.Post
		if c.From != "" || c.Post == nil {
			out[i].From = c.From
		}
		if c.To != "" || c.Post != nil {
			out[i].To = c.To
		}
	}
	return out
}

func wholeText(img *delta.Image) (*string, bool) {
	if img == nil {
		return nil, true
	}
	if img.Kind != delta.File || !img.Loaded || len(img.Data) > maxText {
		return nil, false
	}
	t, err := charset.Decode(img.Data, charset.Charset{})
	if err != nil || !utf8.Valid(t.Bytes) || bytes.IndexByte(t.Bytes, 0) >= 0 {
		return nil, false
	}
	s := string(t.Bytes)
	return &s, true
}

// Edited returns set with the contents that the user wants instead, by path of
// FileTexts. They are written in the encoding of the proposed content. A path set
// to its old text is left alone: its change is dropped, a move with both its
// halves; the set that is returned may be empty. Set itself is not changed. An
// error is a *tool.Error that names the path.
func Edited(set delta.Set, edited map[string]string) (delta.Set, error) {
	out := net(set)
	known := make(map[string]int, len(out))
	for i, c := range out {
		known[c.Path] = i
	}
	paths := make([]string, 0, len(edited))
	for p := range edited {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	dropped := map[string]bool{}
	for _, p := range paths {
		i, ok := known[p]
		if !ok {
			return nil, tool.Refuse(tool.InvalidArguments, "the change does not touch %s, so it cannot be edited there",
				visible.Clip(p, 57))
		}
		drop, err := editOne(&out[i], edited[p])
		if err != nil {
			return nil, err
		}
		if drop {
			dropped[p] = true
		}
	}
	return without(out, dropped), nil
}

// editOne puts the user's text in a change; drop says that it is the old text.
func editOne(c *delta.Change, text string) (drop bool, err error) {
	old, ok := wholeText(c.Pre)
	now, ok2 := wholeText(c.Post)
	if !ok || !ok2 {
		return false, tool.Refuse(tool.InvalidArguments, "%s is no text that can be edited here", c.Path)
	}
	switch {
	case old != nil && text == *old:
		return true, nil
	case now != nil && text == *now:
		return false, nil
	}
	like, mode := c.Post, uint32(0o644)
	if like == nil {
		like = c.Pre
	}
	if like != nil {
		mode = like.Mode
	}
	t, err := charset.Decode(like.Data, charset.Charset{})
	if err != nil {
		return false, tool.Refuse(tool.EncodingError, "%s: %v", c.Path, err)
	}
	data, err := t.Encode([]byte(text))
	if err != nil {
		return false, tool.Refuse(tool.EncodingError, "%s: %v", c.Path, err)
	}
	c.Post, c.To = delta.NewFile(data, mode), ""
	return false, nil
}

// without leaves out the changes of paths. Of a move it keeps neither half, or, if
// only its source stays, the copy.
func without(set delta.Set, paths map[string]bool) delta.Set {
	for _, c := range set {
		if paths[c.Path] && c.From != "" {
			paths[c.From] = true
		}
	}
	out := make(delta.Set, 0, len(set))
	for _, c := range set {
		if !paths[c.Path] {
			out = append(out, c)
		}
	}
	return out
}

// WriteCounts are the lines that the model's proposal and then the user changed.
type WriteCounts struct {
	ModelAdded, ModelRemoved int
	UserAdded, UserRemoved   int
}

// Counts compares a proposal with what the user made of it: the model changed the
// files into what it proposed, the user changed that into what is written.
func Counts(model, user delta.Set) WriteCounts {
	var n WriteCounts
	final := map[string]delta.Change{}
	for _, c := range net(user) {
		final[c.Path] = c
	}
	add := func(a, b *delta.Image, added, removed *int) {
		plus, minus := diff.Stat(plain(a), plain(b))
		*added += plus
		*removed += minus
	}
	seen := map[string]bool{}
	for _, c := range net(model) {
		seen[c.Path] = true
		add(c.Pre, c.Post, &n.ModelAdded, &n.ModelRemoved)
		done := c.Pre // a change that was dropped leaves what was there
		if f, ok := final[c.Path]; ok {
			done = f.Post
		}
		add(c.Post, done, &n.UserAdded, &n.UserRemoved)
	}
	for _, c := range net(user) {
		if !seen[c.Path] {
			add(c.Pre, c.Post, &n.UserAdded, &n.UserRemoved)
		}
	}
	return n
}

// plain is the text of an image, nothing if there is none.
func plain(img *delta.Image) []byte {
	if img == nil || !img.Loaded {
		return nil
	}
	return charset.Plain(img.Data)
}

// WriteReport tells the model what the user made of its proposal: the counts of
// either, and the lines that the user changed, so that it does not go on with a
// text that was never written.
func WriteReport(model, user delta.Set) string {
	n := Counts(model, user)
	counts := fmt.Sprintf("Lines changed by the model: +%d -%d; by the user: +%d -%d.", n.ModelAdded, n.ModelRemoved,
		n.UserAdded, n.UserRemoved)
	if n.UserAdded+n.UserRemoved == 0 {
		return counts
	}
	final := map[string]delta.Change{}
	for _, c := range net(user) {
		final[c.Path] = c
	}
	var b strings.Builder
	b.WriteString("The user changed the proposal before it was written. " + counts)
	left := maxDiff
	for _, c := range net(model) {
		f, written := final[c.Path]
		if !written {
			fmt.Fprintf(&b, "\n%s was left as it was.", c.Path)
			continue
		}
		if f.Post.Same(c.Post) || left <= 0 {
			continue
		}
		d := excerpt.Diff(c.Path, plain(c.Post), plain(f.Post))
		if d == "" {
			continue
		}
		shown := strings.TrimSuffix(d, "\n")
		left -= len(shown)
		fmt.Fprintf(&b, "\nFrom the proposed %s to what was written:\n%s", c.Path, shown)
	}
	return b.String()
}

// Restated returns states with those of the files in set described anew, after their
// proposed contents were replaced. Names are as the model wrote them, so the end of a
// path has to do.
func Restated(states map[string]tool.FileState, set delta.Set) map[string]tool.FileState {
	out := maps.Clone(states)
	for name := range out {
		rel := strings.TrimPrefix(path.Clean(strings.ReplaceAll(name, `\`, "/")), "/")
		for _, c := range net(set) {
			if c.Path != rel && !strings.HasSuffix(c.Path, "/"+rel) {
				continue
			}
			switch {
			case c.Post == nil:
				out[name] = tool.FileState{Deleted: true}
			case c.Post.Loaded && (c.Pre == nil || !c.Pre.Loaded):
				out[name] = excerpt.State(charset.Plain, nil, c.Post.Data)
			case c.Post.Loaded:
				out[name] = excerpt.State(charset.Plain, c.Pre.Data, c.Post.Data)
			}
		}
	}
	return out
}

// Binding names a change by all that an approval is given for: every path, the
// version it is made for, and the version it makes. Two sets have the same binding
// just when what was approved of one is approved of the other.
func Binding(set delta.Set) string {
	h := sha256.New()
	for _, c := range net(set) {
		for _, s := range []string{c.Path, c.From, c.To} {
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
		for _, v := range []delta.Version{c.Pre.At(), c.Post.At()} {
			fmt.Fprintf(h, "%s %o %d %x;", v.Kind, v.Mode, v.Size, v.Sum)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

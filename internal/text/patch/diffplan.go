package patch

import (
	"cmp"
	"fmt"
	"path"

	"kerf/internal/text/delta"
	"kerf/internal/text/patch/unified"
)

// startMail begins the diffs of one mail. Within it, diffs do not depend on their
// order: copies and renames take what was there when it began.
func (pl *planner) startMail(files []unified.File) {
	pl.mail = files[0].Mail
	pl.gone = map[string]bool{}
	for i := range files {
		f := &files[i]
		if f.Mail != pl.mail {
			return
		}
		if oldName, newName, err := pl.names(f); err == nil && !f.Copy && oldName != "" && oldName != newName {
			pl.gone[path.Clean(oldName)] = true
		}
	}
}

// diff plans one file of a git or unified diff.
func (pl *planner) diff(f *unified.File) *unified.Error {
	err := pl.diffFile(f)
	if err != nil && err.Line == 0 {
		err.Line = f.Line
	}
	return err
}

func (pl *planner) diffFile(f *unified.File) *unified.Error {
	oldName, newName, err := pl.names(f)
	if err != nil {
		return err
	}
	for _, name := range []string{oldName, newName} {
		if err := pl.behindLink(name); err != nil {
			return err
		}
	}
	switch {
	case f.Create:
		return pl.create(f, newName)
	case f.Remove:
		return pl.remove(f, oldName)
	case path.Clean(oldName) != path.Clean(newName):
		return pl.rename(f, oldName, newName)
	}
	return pl.modify(f, newName)
}

func (pl *planner) create(f *unified.File, name string) *unified.Error {
	n, err := pl.at(name)
	if err != nil {
		return err
	}
	data, err := pl.content(f, name, nil)
	if err != nil {
		return err
	}
	img := newImageOf(data, f.NewMode)
	if n.cur != nil && (!pl.gone[path.Clean(name)] || n.taken) {
		if pl.opt.ThreeWay != nil && n.cur.Kind == img.Kind && string(n.cur.Data) == string(data) {
			return nil // both sides added the same
		}
		return &unified.Error{Path: name, Message: "the diff creates the file, but it exists; make a diff that changes " +
			"it, or remove it first"}
	}
	n.gone = n.gone || n.cur != nil
	pl.put(n, img, "")
	n.taken = true
	return nil
}

// newImageOf makes the image of a file that a diff creates.
func newImageOf(data []byte, mode uint32) *delta.Image {
	switch {
	case mode&unified.ModeType == unified.ModeLink:
		return delta.NewSymlink(string(data))
	case mode&unified.ModeExec != 0:
		return delta.NewFile(data, 0o755)
	}
	return delta.NewFile(data, newFileMode)
}

func (pl *planner) remove(f *unified.File, name string) *unified.Error {
	n, err := pl.source(f, name)
	if err != nil {
		return err
	}
	data, err := pl.content(f, name, n.cur.Data)
	if err != nil {
		return err
	}
	if len(data) > 0 && !f.UndoesCopy {
		return &unified.Error{Path: name, Message: "the diff deletes the file, but not all of its lines; make the diff " +
			"from the file as it is"}
	}
	if !n.taken {
		pl.put(n, nil, "")
	}
	return nil
}

// source returns the node of a file that must be there and be what the diff says.
func (pl *planner) source(f *unified.File, name string) (*node, *unified.Error) {
	n, err := pl.at(name)
	if err != nil {
		return nil, err
	}
	if n.cur == nil {
		return nil, &unified.Error{Path: name,
			Message: pl.missing(name) + "; check the path and how many components are stripped"}
	}
	if f.OldMode != 0 && (f.OldMode&unified.ModeType == unified.ModeLink) != (n.cur.Kind == delta.Symlink) {
		return nil, &unified.Error{Path: name,
			Message: fmt.Sprintf("the diff is for another kind of file, this is a %s", n.cur.Kind)}
	}
	return n, nil
}

func (pl *planner) modify(f *unified.File, name string) *unified.Error {
	if n, err := pl.at(name); err == nil && n.cur == nil && !f.Git && len(f.Hunks) == 1 && f.Hunks[0].OldLen == 0 {
		return pl.create(f, name) // a plain diff of nothing with a new file
	}
	n, err := pl.source(f, name)
	if err != nil {
		return err
	}
	data, err := pl.content(f, name, n.cur.Data)
	if err != nil {
		return err
	}
	img, err := changed(n.cur, f, data)
	if err != nil {
		return err
	}
	pl.put(n, img, n.from)
	return nil
}

// changed returns the image with new data and the mode that the diff asks for.
func changed(old *delta.Image, f *unified.File, data []byte) (*delta.Image, *unified.Error) {
	if f.NewMode != 0 && (f.NewMode&unified.ModeType == unified.ModeLink) != (old.Kind == delta.Symlink) {
		return nil, &unified.Error{Message: "a change of the kind of file must be written as a deletion and a creation"}
	}
	if old.Kind == delta.Symlink {
		return delta.NewSymlink(string(data)), nil
	}
	mode := old.Mode
	switch {
	case f.NewMode == 0 || f.NewMode == f.OldMode:
	case f.NewMode&unified.ModeExec != 0:
		mode |= mode & 0o444 >> 2 // whoever may read may run
	default:
		mode &^= unified.ModeExec
	}
	return delta.NewFile(data, mode), nil
}

// rename plans a rename or a copy, with changes perhaps.
func (pl *planner) rename(f *unified.File, oldName, newName string) *unified.Error {
	src, err := pl.source(f, oldName)
	if err != nil {
		return err
	}
	dst, err := pl.at(newName)
	if err != nil {
		return err
	}
	if dst.cur != nil && (!pl.gone[path.Clean(newName)] || dst.taken) {
		return &unified.Error{Path: newName, Message: "the target of the rename or copy exists; remove it first"}
	}
	from, origin := src.cur, cmp.Or(src.from, src.path)
	if src.base != nil && (f.Copy || src.taken) {
		from, origin = src.base, src.path
	}
	data, err := pl.content(f, oldName, from.Data)
	if err != nil {
		return err
	}
	img, err := changed(from, f, data)
	if err != nil {
		return err
	}
	if !f.Copy && !src.taken {
		pl.put(src, nil, "")
	}
	pl.put(dst, img, origin)
	dst.taken = true
	return nil
}

// content applies what the diff does to the bytes of a file.
func (pl *planner) content(f *unified.File, name string, old []byte) ([]byte, *unified.Error) {
	switch {
	case f.Binary != nil:
		return f.BinaryContent(name, old)
	case f.NoData:
		return pl.binaryByID(f, name, old)
	}
	data, err := unified.Apply(old, f.Hunks, pl.opt.Fuzz)
	if err == nil {
		return data, nil
	}
	err.Path = name
	if merged, ok := pl.threeWay(f, name, old, err); ok {
		return merged, nil
	}
	return nil, err
}

// binaryByID takes the content of a binary diff without data from where blobs
// are kept, if that is at hand.
func (pl *planner) binaryByID(f *unified.File, name string, old []byte) ([]byte, *unified.Error) {
	if pl.opt.ThreeWay != nil && unified.FullID(f.NewID) &&
		(f.Create || unified.FullID(f.OldID) && unified.BlobID(old, len(f.OldID)) == f.OldID) {
		if unified.NullID(f.NewID) {
			return nil, nil
		}
		if data, ok := pl.opt.ThreeWay(name, f.NewID); ok && unified.BlobID(data, len(f.NewID)) == f.NewID {
			return data, nil
		}
	}
	return nil, &unified.Error{Path: name,
		Message: "the diff says that binary files differ, but not how; make it with --binary"}
}

// names returns the paths of a diff.
func (pl *planner) names(f *unified.File) (oldName, newName string, err *unified.Error) {
	oldName, newName = f.Names(pl.opt.Strip, func(name string) bool {
		n, err := pl.at(name)
		return err == nil && n.cur != nil
	})
	for _, n := range []struct{ raw, name string }{{f.OldName, oldName}, {f.NewName, newName}} {
		if n.raw == "" {
			continue
		}
		if n.name == "" {
			return "", "", &unified.Error{Path: n.raw, Line: f.Line,
				Message: fmt.Sprintf("nothing is left of the name when %d components are stripped", max(pl.opt.Strip, 1))}
		}
		for _, s := range []string{n.raw, n.name} {
			if why := unified.UnsafeName(s); why != "" {
				return "", "", &unified.Error{Path: s, Line: f.Line, Message: why}
			}
		}
	}
	return oldName, newName, nil
}

// behindLink refuses paths below a link, as git does, unless the same mail removes the
// link. What a mail removes is where it was before the mail.
func (pl *planner) behindLink(name string) *unified.Error {
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		var img *delta.Image
		n := pl.nodes[dir]
		if n != nil {
			img = n.cur
			if pl.gone[name] && n.mail == pl.mail {
				img = n.base
			}
		} else {
			img = pl.above(dir)
		}
		if img != nil && img.Kind == delta.Symlink && (!pl.gone[dir] || n != nil && n.changed) {
			return &unified.Error{Path: name, Message: fmt.Sprintf("the path leads through the link %s; name the real path",
				dir)}
		}
	}
	return nil
}

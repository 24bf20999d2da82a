package patch

import (
	"fmt"
	"path"

	"kerf/internal/text/delta"
)

// The bits of a mode as git writes it.
const (
	modeType      = 0o170000
	modeFile      = 0o100000
	modeLink      = 0o120000
	modeSubmodule = 0o160000
	modeExec      = 0o111
)

// startMail begins the diffs of one mail. Within it, diffs do not depend on their
// order: copies and renames take what was there when it began.
func (pl *planner) startMail(files []fileDiff) {
	pl.mail = files[0].mail
	pl.gone = map[string]bool{}
	for i := range files {
		f := &files[i]
		if f.mail != pl.mail {
			return
		}
		if oldName, newName, err := pl.names(f); err == nil && !f.copy && oldName != "" && oldName != newName {
			pl.gone[path.Clean(oldName)] = true
		}
	}
}

// diff plans one file of a git or unified diff.
func (pl *planner) diff(f *fileDiff) *Error {
	err := pl.diffFile(f)
	if err != nil && err.Line == 0 {
		err.Line = f.line
	}
	return err
}

func (pl *planner) diffFile(f *fileDiff) *Error {
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
	case f.create:
		return pl.create(f, newName)
	case f.remove:
		return pl.remove(f, oldName)
	case path.Clean(oldName) != path.Clean(newName):
		return pl.rename(f, oldName, newName)
	}
	return pl.modify(f, newName)
}

func (pl *planner) create(f *fileDiff, name string) *Error {
	n, err := pl.at(name)
	if err != nil {
		return err
	}
	data, err := pl.content(f, name, nil)
	if err != nil {
		return err
	}
	img := newImageOf(data, f.newMode)
	if n.cur != nil && (!pl.gone[path.Clean(name)] || n.taken) {
		if pl.opt.ThreeWay != nil && n.cur.Kind == img.Kind && string(n.cur.Data) == string(data) {
			return nil // both sides added the same
		}
		return &Error{Path: name, Message: "the diff creates the file, but it exists; make a diff that changes it, or remove it first"}
	}
	pl.put(n, img, "")
	n.taken = true
	return nil
}

// newImageOf makes the image of a file that a diff creates.
func newImageOf(data []byte, mode uint32) *delta.Image {
	switch {
	case mode&modeType == modeLink:
		return delta.NewSymlink(string(data))
	case mode&modeExec != 0:
		return delta.NewFile(data, 0o755)
	}
	return delta.NewFile(data, newFileMode)
}

func (pl *planner) remove(f *fileDiff, name string) *Error {
	n, err := pl.source(f, name)
	if err != nil {
		return err
	}
	data, err := pl.content(f, name, n.cur.Data)
	if err != nil {
		return err
	}
	if len(data) > 0 && !f.uncopy {
		return &Error{Path: name, Message: "the diff deletes the file, but not all of its lines; make the diff from the file as it is"}
	}
	if !n.taken {
		pl.put(n, nil, "")
	}
	return nil
}

// source returns the node of a file that must be there and be what the diff says.
func (pl *planner) source(f *fileDiff, name string) (*node, *Error) {
	n, err := pl.at(name)
	if err != nil {
		return nil, err
	}
	if n.cur == nil {
		return nil, &Error{Path: name, Message: "there is no such file; check the path and how many components are stripped"}
	}
	if f.oldMode != 0 && (f.oldMode&modeType == modeLink) != (n.cur.Kind == delta.Symlink) {
		return nil, &Error{Path: name, Message: fmt.Sprintf("the diff is for another kind of file, this is a %s", n.cur.Kind)}
	}
	return n, nil
}

func (pl *planner) modify(f *fileDiff, name string) *Error {
	if n, err := pl.at(name); err == nil && n.cur == nil && !f.git && len(f.hunks) == 1 && f.hunks[0].oldLen == 0 {
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
func changed(old *delta.Image, f *fileDiff, data []byte) (*delta.Image, *Error) {
	if f.newMode != 0 && (f.newMode&modeType == modeLink) != (old.Kind == delta.Symlink) {
		return nil, &Error{Message: "a change of the kind of file must be written as a deletion and a creation"}
	}
	if old.Kind == delta.Symlink {
		return delta.NewSymlink(string(data)), nil
	}
	mode := old.Mode
	switch {
	case f.newMode == 0 || f.newMode == f.oldMode:
	case f.newMode&modeExec != 0:
		mode |= mode & 0o444 >> 2 // whoever may read may run
	default:
		mode &^= modeExec
	}
	return delta.NewFile(data, mode), nil
}

// rename plans a rename or a copy, with changes perhaps.
func (pl *planner) rename(f *fileDiff, oldName, newName string) *Error {
	src, err := pl.source(f, oldName)
	if err != nil {
		return err
	}
	dst, err := pl.at(newName)
	if err != nil {
		return err
	}
	if dst.cur != nil && (!pl.gone[path.Clean(newName)] || dst.taken) {
		return &Error{Path: newName, Message: "the target of the rename or copy exists; remove it first"}
	}
	from, origin := src.cur, firstOf(src.from, src.path)
	if src.base != nil && (f.copy || src.taken) {
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
	if !f.copy && !src.taken {
		pl.put(src, nil, "")
	}
	pl.put(dst, img, origin)
	dst.taken = true
	return nil
}

// content applies what the diff does to the bytes of a file.
func (pl *planner) content(f *fileDiff, name string, old []byte) ([]byte, *Error) {
	switch {
	case f.binary != nil:
		return f.binaryContent(name, old)
	case f.noData:
		return pl.binaryByID(f, name, old)
	}
	data, err := applyHunks(old, f.hunks, pl.opt.Fuzz)
	if err == nil {
		return data, nil
	}
	err.Path = name
	if merged, ok := pl.threeWay(f, name, old, err); ok {
		return merged, nil
	}
	return nil, err
}

// binaryContent applies binary data, which is exact: it fits one content only.
func (f *fileDiff) binaryContent(name string, old []byte) ([]byte, *Error) {
	if f.binary.forward == nil {
		return nil, &Error{Path: name, Message: "the binary patch tells only one direction, so it cannot be reversed"}
	}
	fail := func(format string, args ...any) ([]byte, *Error) {
		e := errorf(f.binary.forward.at, format, args...)
		e.Path = name
		return nil, e
	}
	if !fullID(f.oldID) || !fullID(f.newID) {
		return fail("a binary patch needs an index line with whole ids; make the diff with --binary")
	}
	if f.create {
		if !nullID(f.oldID) {
			return fail("the index line of the new file names an old content")
		}
	} else if got := blobID(old, len(f.oldID)); got != f.oldID {
		return fail("the binary patch is for the content %s, the file has %s; make the patch from the file as it is", f.oldID[:12], got[:12])
	}
	data, err := f.binary.forward.apply(old)
	if err != nil {
		return fail("%v", err)
	}
	if f.remove && nullID(f.newID) {
		return nil, nil
	}
	if blobID(data, len(f.newID)) != f.newID {
		return fail("the binary patch does not make what its index line says; it is damaged")
	}
	return data, nil
}

// binaryByID takes the content of a binary diff without data from where blobs
// are kept, if that is at hand.
func (pl *planner) binaryByID(f *fileDiff, name string, old []byte) ([]byte, *Error) {
	if pl.opt.ThreeWay != nil && fullID(f.newID) && (f.create || fullID(f.oldID) && blobID(old, len(f.oldID)) == f.oldID) {
		if nullID(f.newID) {
			return nil, nil
		}
		if data, ok := pl.opt.ThreeWay(name, f.newID); ok && blobID(data, len(f.newID)) == f.newID {
			return data, nil
		}
	}
	return nil, &Error{Path: name, Message: "the diff says that binary files differ, but not how; make it with --binary"}
}

// names returns the paths of a diff.
func (pl *planner) names(f *fileDiff) (oldName, newName string, err *Error) {
	oldName, newName = f.names(pl.opt.Strip, func(name string) bool {
		n, err := pl.at(name)
		return err == nil && n.cur != nil
	})
	for _, n := range []struct{ raw, name string }{{f.oldName, oldName}, {f.newName, newName}} {
		if n.raw == "" {
			continue
		}
		if n.name == "" {
			return "", "", &Error{Path: n.raw, Line: f.line, Message: fmt.Sprintf("nothing is left of the name when %d components are stripped", max(pl.opt.Strip, 1))}
		}
		for _, s := range []string{n.raw, n.name} {
			if why := unsafeName(s); why != "" {
				return "", "", &Error{Path: s, Line: f.line, Message: why}
			}
		}
	}
	return oldName, newName, nil
}

// names cuts what is to be cut from the names of f. exists helps where the same
// name is given twice: then it most likely has no prefix.
func (f *fileDiff) names(strip int, exists func(string) bool) (oldName, newName string) {
	cut := func(name string) string {
		switch {
		case name == "":
			return ""
		case strip < 0 || f.bare && strip == 0:
			return name
		case f.rename || f.copy:
			return stripped(name, strip-1)
		case strip > 0:
			return stripped(name, strip)
		}
		short := stripped(name, 1)
		if short == "" || f.same && !f.prefixedTwin(name, short, exists) {
			return name
		}
		return short
	}
	return cut(f.oldName), cut(f.newName)
}

func (f *fileDiff) prefixedTwin(name, short string, exists func(string) bool) bool {
	if unsafeName(name) != "" {
		return false // refused as it is written
	}
	if exists == nil || f.create {
		return prefixed(name) && exists == nil
	}
	return exists(short) || prefixed(name) && !exists(name)
}

// behindLink refuses paths below a link, as git does.
func (pl *planner) behindLink(name string) *Error {
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		var img *delta.Image
		if n := pl.nodes[dir]; n != nil {
			img = n.cur
		} else if got, err := pl.read(dir); err == nil {
			img = got
		}
		if img != nil && img.Kind == delta.Symlink {
			return &Error{Path: name, Message: fmt.Sprintf("the path leads through the link %s; name the real path", dir)}
		}
	}
	return nil
}

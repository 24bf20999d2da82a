package overlay

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// show opens the layers for the program before an overlay covers them: as mounts of their
// own, which are read-only, so that nothing leads to what is to stay as it is. Where the
// kernel refuses that, a layer is not shown.
func (s *Spec) show() []*os.File {
	var files []*os.File
	var roots []string
	for _, l := range s.Layers {
		if l.Copied || !s.Shown {
			continue
		}
		lower, upper := readOnly(l.Lower), readOnly(l.Upper)
		if lower == nil || upper == nil {
			closeAll(lower, upper)
			continue
		}
		files, roots = append(files, lower, upper), append(roots, strconv.QuoteToASCII(l.Lower))
	}
	if s.Env = slices.DeleteFunc(slices.Clone(s.Env), shows); len(roots) > 0 {
		s.Env = append(s.Env, shownEnv+"="+strings.Join(roots, " "))
	}
	return files
}

// readOnly is a directory on a mount of its own, nil where there can be none.
func readOnly(dir string) *os.File {
	fd, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), dir)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV |
		unix.MOUNT_ATTR_NOEXEC}
	if unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr) != nil {
		closeAll(f)
		return nil
	}
	return f
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func shows(variable string) bool { return strings.HasPrefix(variable, shownEnv+"=") }

// Take takes the layers that this process is shown out of its environment, and returns both.
// It is called once, before anything is started: nothing that is started gets them.
func Take(env []string) (list []Shown, rest []string) {
	at := slices.IndexFunc(env, shows)
	if at < 0 {
		return nil, env
	}
	_ = os.Unsetenv(shownEnv)
	text := strings.TrimPrefix(env[at], shownEnv+"=")
	for fd := shownFD; text != ""; fd += 2 {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			break
		}
		root, err := strconv.Unquote(quoted)
		if err != nil || !taken(fd) || !taken(fd+1) {
			break
		}
		list = append(list, Shown{Root: root, Lower: fd, Upper: fd + 1})
		text = strings.TrimPrefix(text[len(quoted):], " ")
	}
	return list, slices.DeleteFunc(slices.Clone(env), shows)
}

// taken reports whether a descriptor is that of a directory which was opened to be looked at
// only, and keeps it from what this process starts.
func taken(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_PATH == 0 {
		return false
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false
	}
	unix.CloseOnExec(fd)
	return true
}

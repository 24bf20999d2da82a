// Package pictures reads the pictures that the user gives a message.
package pictures

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/pathname"
	"kerf/internal/text/visible"
)

// maxImage bounds an attached image.
const maxImage = 20 << 20

// URL is a picture that the user names, as a URL of its bytes.
func URL(path string) (string, error) {
	named := path
	path, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", program.Misuse("--image %s: there is no such file", named)
	}
	if err != nil {
		return "", program.Misuse("--image %s: %v", named, err)
	}
	if err := staysHere(named, path); err != nil {
		return "", err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return "", program.Misuse("--image: %v", err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxImage {
		return "", program.Misuse("--image %s: not a file of at most %d bytes", path, maxImage)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", program.Misuse("--image: %v", err)
	}
	kind := http.DetectContentType(b)
	if !strings.HasPrefix(kind, "image/") {
		return "", program.Misuse("--image %s: this is %s, not an image", path, kind)
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b), nil
}

// staysHere refuses a picture that is named below the working directory but is, through a
// link, elsewhere: whoever made the link would choose what is sent.
func staysHere(named, real string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return program.Misuse("--image: %v", err)
	}
	home, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return program.Misuse("--image: %v", err)
	}
	abs, err := filepath.Abs(named)
	if err != nil {
		return program.Misuse("--image: %v", err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return program.Misuse("--image: %v", err)
	}
	if (pathname.Inside(cwd, abs) || pathname.Inside(home, abs)) && !pathname.Inside(home, real) {
		return program.Misuse("--image %s: a link leads out of the working directory, to %s; if you mean that file, name it "+
			"so", visible.Line(named), visible.Line(real))
	}
	return nil
}

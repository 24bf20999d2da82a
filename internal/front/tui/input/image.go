package input

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kerf/internal/front/tui/composer"
)

// maxImage bounds an image that is attached.
const maxImage = 20 << 20

// AttachFile attaches an image when a paste is nothing but its path, as terminals send
// a file that is dragged onto them. It reports whether it was.
func (in *Input) AttachFile(text, cwd string) bool {
	path := strings.Trim(strings.TrimSpace(text), `'"`)
	if strings.Contains(path, "\n") || len(path) > 1000 || path == "" {
		return false
	}
	if u, err := url.Parse(path); err == nil && u.Scheme == "file" {
		path = u.Path
	}
	path = strings.ReplaceAll(path, `\ `, " ")
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
	default:
		return false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() > maxImage {
		return false
	}
	b, err := os.ReadFile(path)
	return err == nil && in.AttachImage(b, filepath.Base(path))
}

// AttachImage puts an image into the text, if it is one.
func (in *Input) AttachImage(b []byte, name string) bool {
	kind := http.DetectContentType(b)
	if !strings.HasPrefix(kind, "image/") || len(b) > maxImage {
		return false
	}
	in.text.Attach(composer.Attachment{Label: fmt.Sprintf("Image #%d: %s", len(in.text.Images())+1, name),
		Image: "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b)})
	return true
}

// ClipboardImage reads an image from the clipboard with the tool that the desktop has.
func ClipboardImage(ctx context.Context) ([]byte, error) {
	tools := [][]string{{"wl-paste", "--type", "image/png"},
		{"xclip", "-selection", "clipboard", "-t", "image/png", "-o"}, {"pngpaste", "-"}}
	for _, t := range tools {
		if _, err := exec.LookPath(t[0]); err != nil {
			continue
		}
		b, err := exec.CommandContext(ctx, t[0], t[1:]...).Output()
		if err == nil && len(b) > 0 {
			return b, nil
		}
	}
	return nil, errors.New("no image could be read from the clipboard (wl-paste, xclip or pngpaste is needed)")
}

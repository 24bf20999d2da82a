package place

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/policy"
	"kerf/internal/text/visible"
	"kerf/internal/work/boundary"
)

// ShownTargets bounds what is listed of what a command would delete.
const ShownTargets = 12

// Targets lists what the words of a deletion come to, as far as that can be known
// before a shell reads them.
func (p *Place) Targets(dir string, words []policy.Word) string {
	var list []string
	more := 0
	for _, w := range words {
		for _, t := range p.expand(dir, w) {
			if len(list) < ShownTargets {
				list = append(list, visible.Line(t))
			} else {
				more++
			}
		}
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

func (p *Place) expand(dir string, w policy.Word) []string {
	text := w.Text
	if home := p.home(); home != "" {
		if w.Tilde && (text == "~" || strings.HasPrefix(text, "~/")) {
			text = home + text[1:]
		}
		for _, name := range []string{"$HOME", "${HOME}"} {
			if bare := strings.Trim(text, `"`); strings.HasPrefix(bare, name) {
				text = home + strings.TrimPrefix(bare, name)
			}
		}
	}
	if strings.ContainsRune(text, '$') || strings.ContainsRune(text, '`') {
		return []string{text + " (known only when it runs)"}
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(dir, text)
	}
	if !w.Glob {
		return []string{text}
	}
	matches, err := filepath.Glob(text)
	if err != nil || len(matches) == 0 || slices.ContainsFunc(matches, p.hidden) {
		return []string{text} // the model reads the question, too: names of what is hidden are not for it
	}
	return matches
}

// hidden reports whether the plan of the session hides a path.
func (p *Place) hidden(path string) bool {
	session := p.policy().Session // whose plan it is; nil for none
	return session != nil && session.At(path).Access == boundary.Hidden
}

func (p *Place) home() string {
	for _, kv := range p.env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			return v
		}
	}
	return ""
}

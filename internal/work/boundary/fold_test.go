package boundary

import "testing"

// TestSEC_P5_FoldedNamesAreProtected: names that a case-blind file system, HFS+ or
// Windows takes for protected ones are refused before anything is there that could be
// compared by identity. Names that no system takes for them are not.
func TestSEC_P5_FoldedNamesAreProtected(t *testing.T) {
	for _, name := range []string{
		".git/hooks/x", ".GIT/hooks/x", ".Git/Hooks/x", ".g\u200cit/hooks/x", ".git\ufeff/hooks/x", "git~1/hooks/x",
		"GIT~2/hooks/x",
		".git /hooks/x", ".git./hooks/x", ".git. ./hooks./x", ".git::$INDEX_ALLOCATION/hooks/x", ".git/hoo\u212as/x",
		".git/hook\u017f/x",
		".KERF/config.toml", ".\u212aerf", "kerf~1/config.toml", ".kerf ",
	} {
		if whyProtected(name) == "" {
			t.Errorf("%q may be written", name)
		}
	}
	for _, name := range []string{"git/hooks/x", ".gitx/hooks/x", "git~/hooks/x", "git~10/hooks/x", ".git/objects/x",
		"kerf", "x~1", "..git/hooks"} {
		if why := whyProtected(name); why != "" {
			t.Errorf("%q: %s", name, why)
		}
	}
}

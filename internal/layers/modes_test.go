package layers

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// choosing are the files that look at a single field of settings, with why. What is asked about
// and what commands may reach depends on all of them together: that is protocol.Mode's to say.
var choosing = map[string]string{
	"internal/protocol/mode.go":                  "makes the mode of the settings",
	"internal/agent/policy/resumed.go":           "which settings a session goes on with",
	"internal/agent/executor/checked/checked.go": "what the project's checks run with, also in a session without a sandbox",
	"internal/front/acp/modes.go":                "which of an editor's modes was chosen",
	"internal/front/tui/commands/commands.go":    "whether /plan turns it on or off",
	"internal/front/tui/commands/pickers.go":     "which choice is the current one",
	"internal/front/tui/events.go":               "whether plan mode was chosen",
	"internal/front/tui/frame.go":                "shows what was chosen",
	"internal/front/tui/status/status.go":        "shows what was chosen",
	"internal/agent/turn/questions.go":           "which question is answered: no setting",
	"internal/front/web/now.go":                  "which question is answered: no setting",
	"internal/host/host.go":                      "what kerf sandbox runs a command in; nothing is asked there",
	"internal/host/roles/roles.go":               "which roles of agents there are",
	"internal/host/workspace.go":                 "how far the file tools of a session could ever reach",
	"internal/sessions/replay/replay.go":         "what a session is played again with",
}

// TestOneModeDecidesWhatIsAsked wants a reason for every file that compares a field of settings.
func TestOneModeDecidesWhatIsAsked(t *testing.T) {
	found := map[string]bool{}
	for _, f := range sources(t) {
		if fields := compared(f); len(fields) > 0 {
			found[f.path] = true
			if choosing[f.path] == "" {
				t.Errorf("%s compares %v: ask protocol.Settings.Mode, or say in choosing what it chooses", f.path, fields)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(choosing)) {
		if !found[path] {
			t.Errorf("%s compares no setting any more; take it out of choosing", path)
		}
	}
	seeded := parsed(t, "internal/agent/tools", `func f(s S) bool {
	switch s.Approval { case "never": return true }
	_ = order[s.Edits] > 1
	return x.settings.Sandbox == protocol.SandboxFull && s.Approval != "" && a.Approval != nil && s.Mode().Sandbox() == full
}`)
	if d := cmp.Diff([]string{"Approval", "Edits", "Sandbox"}, compared(seeded)); d != "" {
		t.Error("a seeded fault:", d)
	}
}

// compared are the fields of settings whose value a file looks at, besides whether there is one.
func compared(f goFile) (all []string) {
	field := func(e ast.Expr) {
		if s, ok := e.(*ast.SelectorExpr); ok && slices.Contains([]string{"Approval", "Sandbox", "Edits"}, s.Sel.Name) {
			all = append(all, s.Sel.Name)
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && !nothing(n.X) && !nothing(n.Y) {
				field(n.X)
				field(n.Y)
			}
		case *ast.SwitchStmt:
			field(n.Tag)
		case *ast.IndexExpr:
			field(n.Index)
		}
		return true
	})
	return all
}

// nothing reports whether an expression is nil or the empty string.
func nothing(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "nil"
	case *ast.BasicLit:
		return e.Value == `""`
	}
	return false
}

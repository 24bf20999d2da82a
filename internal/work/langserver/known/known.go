// Package known is the table of the language servers that Kerf knows how to use.
package known

import (
	"time"

	"kerf/internal/work/langserver"
)

// The bounds of a server that says nothing else.
const (
	Memory  = 4 << 30
	Timeout = 10 * time.Second
)

// Servers are those that Kerf looks for, in their order. Program is a name yet. What would
// reach the network or write beside the sources is switched off; caches lie in /tmp, which is
// the server's own.
func Servers() []langserver.Server {
	list := []langserver.Server{{
		Name: "gopls", Program: "gopls", Globs: []string{"*.go"}, Markers: []string{"go.work", "go.mod"},
		Tops: []string{"go.work"}, States: []string{"Error loading workspace"},
		Languages: map[string]string{"": "go"}, Way: langserver.Pull,
		Options: map[string]any{"pullDiagnostics": true, "symbolScope": "workspace"},
		// Neither GOFLAGS nor GOTOOLCHAIN: a directory vendor/ is only used without -mod, and a
		// toolchain that go.mod names may lie in the module cache. It can write and fetch nothing.
		Env: []string{"GOPROXY=off", "GOTELEMETRY=off", "GOCACHE=/tmp/go-build", "XDG_CACHE_HOME=/tmp/cache"},
	}, {
		Name: "typescript-language-server", Program: "typescript-language-server", Args: []string{"--stdio"},
		Globs:   []string{"*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs"},
		Markers: []string{"tsconfig.json", "jsconfig.json", "package.json"},
		Tops:    []string{"tsconfig.json", "jsconfig.json", "package.json"},
		Languages: map[string]string{"": "javascript", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript",
			".tsx": "typescriptreact", ".jsx": "javascriptreact"},
		Way:     langserver.TSServer,
		Options: map[string]any{"disableAutomaticTypingAcquisition": true, "hostInfo": "kerf"},
	}, {
		Name: "pyright", Program: "pyright-langserver", Args: []string{"--stdio"}, Globs: []string{"*.py", "*.pyi"},
		Markers: []string{"pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"},
		Alone:   true, Languages: map[string]string{"": "python"}, Way: langserver.Pull,
		Settings: map[string]any{"python": map[string]any{"analysis": map[string]any{"autoSearchPaths": true,
			"useLibraryCodeForTypes": true, "diagnosticMode": "openFilesOnly"}}},
	}, {
		Name: "rust-analyzer", Program: "rust-analyzer", Globs: []string{"*.rs"}, Markers: []string{"Cargo.toml"},
		Tops:      []string{"Cargo.toml"},
		Languages: map[string]string{"": "rust"}, Way: langserver.Pull, Reports: true,
		Options: map[string]any{"checkOnSave": false, "cargo": map[string]any{"targetDir": "/tmp/target"}},
		Env:     []string{"CARGO_NET_OFFLINE=true", "CARGO_TARGET_DIR=/tmp/target"},
	}, {
		Name: "clangd", Program: "clangd", Args: []string{"--background-index=false", "--clang-tidy=false", "--log=error"},
		Globs:     []string{"*.c", "*.h", "*.cc", "*.cpp", "*.cxx", "*.hh", "*.hpp", "*.hxx", "*.m", "*.mm"},
		Markers:   []string{"compile_commands.json", "compile_flags.txt", ".clangd", "build/compile_commands.json"},
		Languages: map[string]string{"": "cpp", ".c": "c", ".m": "objective-c", ".mm": "objective-cpp"},
		Way:       langserver.Push,
	}}
	for i := range list {
		list[i].Memory, list[i].Timeout = Memory, Timeout
	}
	return list
}

package wire

import (
	"encoding/json"

	"kerf/internal/work/langserver/position"
)

// Object is a JSON object that is written and not looked at.
type Object = map[string]any

// Document names a file, and with Version a state of it.
type Document struct {
	URI     string `json:"uri"`
	Version int    `json:"version,omitempty"`
}

// Item is a file that is opened.
type Item struct {
	URI      string `json:"uri"`
	Language string `json:"languageId"`
	Version  int    `json:"version"`
	Text     string `json:"text"`
}

// At is a place in a file.
type At struct {
	Document Document          `json:"textDocument"`
	Position position.Position `json:"position"`
}

// Location is a passage of a file.
type Location struct {
	URI   string         `json:"uri"`
	Range position.Range `json:"range"`
}

// Locations are what servers answer where locations are asked for: none, one, several, or
// links to them.
type Locations []Location

// UnmarshalJSON takes each of these forms.
func (l *Locations) UnmarshalJSON(b []byte) error {
	type link struct {
		Location
		Target string         `json:"targetUri"`
		Name   position.Range `json:"targetSelectionRange"`
	}
	var list []link
	if len(b) > 0 && b[0] == '{' {
		list = make([]link, 1)
		if err := json.Unmarshal(b, &list[0]); err != nil {
			return err
		}
	} else if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*l = nil
	for _, x := range list {
		if x.Target != "" {
			x.Location = Location{x.Target, x.Name}
		}
		*l = append(*l, x.Location)
	}
	return nil
}

// Symbol is something that has a name, in both forms of the protocol: with children, or
// with a location of its own.
type Symbol struct {
	Name      string         `json:"name"`
	Detail    string         `json:"detail"`
	Kind      int            `json:"kind"`
	Container string         `json:"containerName"`
	Range     position.Range `json:"range"`
	// Selection is where the name stands.
	Selection position.Range `json:"selectionRange"`
	Children  []Symbol       `json:"children"`
	Location  *Location      `json:"location"`
}

// kinds are the words of the kinds of symbols, from 1.
var kinds = [...]string{"", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor",
	"enum", "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
	"enum member", "struct", "event", "operator", "type parameter"}

// Word is the word of the kind.
func (s Symbol) Word() string {
	if s.Kind > 0 && s.Kind < len(kinds) {
		return kinds[s.Kind]
	}
	return "symbol"
}

// Diagnostic is what a server says of a passage.
type Diagnostic struct {
	Range    position.Range  `json:"range"`
	Severity int             `json:"severity"`
	Code     json.RawMessage `json:"code"`
	Source   string          `json:"source"`
	Message  string          `json:"message"`
}

// Error is the severity of errors. Without one it is the client's to choose.
const Error = 1

// Published are diagnostics that a server sends by itself.
type Published struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Report is the answer to a question for diagnostics.
type Report struct {
	Kind  string       `json:"kind"` // "full", or "unchanged", which nobody asked for
	Items []Diagnostic `json:"items"`
}

// Edits is what a server wants changed. Of the two forms servers use one.
type Edits struct {
	Changes  map[string][]position.Edit `json:"changes"`
	Document []FileEdits                `json:"documentChanges"`
}

// FileEdits are edits of one file, or with Kind "create", "rename" or "delete" one of it as
// a whole.
type FileEdits struct {
	Kind     string          `json:"kind"`
	URI      string          `json:"uri"`
	Old      string          `json:"oldUri"`
	New      string          `json:"newUri"`
	Document Document        `json:"textDocument"`
	Edits    []position.Edit `json:"edits"`
}

// The kinds of changes that happen to files beside the protocol.
const (
	Created = 1
	Changed = 2
	Deleted = 3
)

// Event is a file that came, changed or went.
type Event struct {
	URI  string `json:"uri"`
	Type int    `json:"type"`
}

// Abilities are those of a server that Kerf asks about.
type Abilities struct {
	Encoding   position.Encoding `json:"positionEncoding"`
	Sync       json.RawMessage   `json:"textDocumentSync"`
	Diagnostic json.RawMessage   `json:"diagnosticProvider"`
	Definition json.RawMessage   `json:"definitionProvider"`
	References json.RawMessage   `json:"referencesProvider"`
	Rename     json.RawMessage   `json:"renameProvider"`
	Symbols    json.RawMessage   `json:"documentSymbolProvider"`
	Workspace  json.RawMessage   `json:"workspaceSymbolProvider"`
}

// Has reports whether an ability is said to be there.
func Has(ability json.RawMessage) bool {
	return len(ability) > 0 && string(ability) != "null" && string(ability) != "false"
}

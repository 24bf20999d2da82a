// Package langfake is a language server for tests. Its language has lines `def NAME` and
// `use NAME`, where what is used must be defined in some .toy file of the project, lines
// `bad WORDS`, which are errors, and `warn WORDS`, which are none. It keeps files as real
// servers do: open ones as they were told, the others as they were on the disk when it was
// told of a change there. Flags have it misbehave.
package langfake

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// Main runs a server on the standard streams and returns its exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	f := flag.NewFlagSet("langfake", flag.ContinueOnError)
	s := &server{out: bufio.NewWriter(out), errs: errs, disk: map[string]string{}, open: map[string]*doc{}}
	f.StringVar(&s.way, "way", "pull", "pull, push, or mute: push without versions")
	f.StringVar(&s.encoding, "encoding", "utf-16", "utf-8 or utf-16")
	f.StringVar(&s.hang, "hang", "", "a method that is never answered; \"publish\" for what is pushed")
	f.StringVar(&s.crash, "crash", "", "a method at which it ends with code 3")
	f.StringVar(&s.once, "once", "", "a file: where it is, there is no crash; a crash makes it")
	f.StringVar(&s.asks, "asks", "", "a file to write the answers to that it gets to all that servers may ask")
	f.StringVar(&s.late, "late", "", "a method that is not answered before there is the file of -until")
	f.StringVar(&s.until, "until", "", "see -late")
	f.StringVar(&s.huge, "huge", "", "a method that is answered with a message that says it is huge")
	f.StringVar(&s.endless, "endless", "", "a method that is answered with a header without end")
	f.StringVar(&s.eat, "eat", "", "a method at which it takes a gigabyte and never answers")
	f.BoolVar(&s.stale, "stale", false, "says more, and wrong things, of old versions and of none")
	f.BoolVar(&s.broken, "broken", false, "reports work named \"broken\" that never ends")
	f.BoolVar(&s.noise, "noise", false, "sends a flood of messages and questions first")
	f.StringVar(&s.rename, "rename", "", "outside, create, old or overlap")
	f.StringVar(&s.words, "words", "", "words in place of each message")
	f.StringVar(&s.log, "log", "", "a file to write the methods to")
	if f.Parse(args) != nil {
		return 2
	}
	return s.serve(bufio.NewReader(in))
}

type doc struct {
	version int
	text    string
}

type server struct {
	out  *bufio.Writer
	errs io.Writer

	way, encoding, hang, crash, once, late, until, asks, huge, endless, eat, rename, words, log string
	stale, noise, broken                                                                        bool

	root string
	disk map[string]string // by URI
	open map[string]*doc
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
}

type object = map[string]any

func (s *server) serve(in *bufio.Reader) int {
	for {
		length := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return 0
			}
			line = strings.TrimSpace(line)
			if line == "" {
				break
			}
			if v, ok := strings.CutPrefix(line, "Content-Length:"); ok {
				length, _ = strconv.Atoi(strings.TrimSpace(v))
			}
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(in, body); err != nil {
			return 0
		}
		var m message
		if json.Unmarshal(body, &m) != nil || m.Method == "" {
			if s.asks != "" && m.Method == "" {
				write(s.asks, string(body)) // an answer
			}
			continue
		}
		if code, over := s.take(m); over {
			return code
		}
	}
}

// misbehave does what the server was told to do wrongly at a message, and reports whether that is
// all that becomes of the message.
func (s *server) misbehave(m message) (code int, over, done bool) {
	switch m.Method {
	case s.crash:
		if _, err := os.Stat(s.once); s.once == "" || err != nil {
			if s.once != "" {
				_ = os.WriteFile(s.once, nil, 0o644)
			}
			fmt.Fprintln(s.errs, "\x1b[31mboom\x1b[0m")
			return 3, true, true
		}
	case s.hang:
		return 0, false, true
	case s.late:
		for {
			if _, err := os.Stat(s.until); err == nil {
				return 0, false, false
			}
			time.Sleep(5 * time.Millisecond)
		}
	case s.eat:
		eaten := make([]byte, 1<<30)
		for i := 0; i < len(eaten); i += 4096 {
			eaten[i] = byte(i)
		}
		for {
			time.Sleep(time.Second) // until it is ended
			runtime.KeepAlive(eaten)
		}
	case s.huge:
		fmt.Fprintf(s.out, "Content-Length: 99999999999\r\n\r\n{")
		_ = s.out.Flush()
		return 0, false, true
	case s.endless:
		for range 1 << 14 {
			if _, err := s.out.WriteString("X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"); err != nil {
				return 0, true, true
			}
		}
		_ = s.out.Flush()
		return 0, false, true
	}
	return 0, false, false
}

// take carries out one message.
func (s *server) take(m message) (code int, over bool) {
	s.note(m.Method)
	if code, over, done := s.misbehave(m); done {
		return code, over
	}
	var p struct {
		RootURI  string `json:"rootUri"`
		Document struct {
			URI     string
			Version int
			Text    string
		} `json:"textDocument"`
		ContentChanges []struct{ Text string }
		Changes        []struct {
			URI  string
			Type int
		}
		Position struct{ Line, Character int }
		NewName  string
		Query    string
	}
	if len(m.Params) > 0 {
		_ = json.Unmarshal(m.Params, &p)
	}
	uri := p.Document.URI
	switch m.Method {
	case "initialize":
		s.root = p.RootURI
		s.load()
		can := object{"positionEncoding": s.encoding, "textDocumentSync": 1, "definitionProvider": true,
			"referencesProvider": true, "renameProvider": true, "documentSymbolProvider": true, "workspaceSymbolProvider": true}
		if s.way == "pull" {
			can["diagnosticProvider"] = object{"interFileDependencies": true}
		}
		if s.broken {
			s.send(object{"method": "$/progress", "params": object{"token": 1, "value": object{"kind": "begin", "title": "broken"}}})
		}
		s.answer(m, object{"capabilities": can})
		if s.asks != "" {
			s.ask()
		}
		if s.noise {
			for i := range 2000 {
				s.send(object{"method": "window/logMessage", "params": object{"message": strings.Repeat("noise ", 50)}})
				s.send(object{"id": i + 1000, "method": "workspace/configuration", "params": object{"items": []object{{"section": "a"}}}})
				s.send(object{"method": "textDocument/publishDiagnostics", "params": object{"uri": fmt.Sprintf("file:///x%d", i),
					"version": 1, "diagnostics": []object{}}})
				s.send(object{"id": 5_000_000 + i, "result": "nobody asked"})
			}
		}
	case "textDocument/didOpen":
		s.open[uri] = &doc{p.Document.Version, p.Document.Text}
		s.publish()
	case "textDocument/didChange":
		d := s.open[uri]
		if d == nil || p.Document.Version <= d.version || len(p.ContentChanges) != 1 {
			s.note("FAULT: a change that does not follow")
			return 4, true
		}
		d.version, d.text = p.Document.Version, p.ContentChanges[0].Text
		s.publish()
	case "textDocument/didClose":
		delete(s.open, uri)
	case "workspace/didChangeWatchedFiles":
		for _, c := range p.Changes {
			s.reread(c.URI)
		}
	case "textDocument/diagnostic":
		s.answer(m, object{"kind": "full", "items": s.problems(uri)})
	case "textDocument/documentSymbol":
		s.answer(m, s.symbols([]string{uri}, "", true))
	case "workspace/symbol":
		s.answer(m, s.symbols(s.all(), p.Query, false))
	case "textDocument/definition", "textDocument/references":
		name := s.nameAt(uri, p.Position.Line, p.Position.Character)
		list := []object{}
		for _, w := range s.places(name) {
			if m.Method == "textDocument/references" || w.def {
				list = append(list, object{"uri": w.uri, "range": w.span})
			}
		}
		s.answer(m, list)
	case "textDocument/rename":
		s.answerRename(m, s.nameAt(uri, p.Position.Line, p.Position.Character), p.NewName)
	case "shutdown":
		s.answer(m, nil)
	case "exit":
		return 0, true
	default:
		if len(m.ID) > 0 {
			s.send(object{"id": m.ID, "error": object{"code": -32601, "message": "unknown"}})
		}
	}
	return 0, false
}

func (s *server) note(method string) {
	if s.log != "" {
		write(s.log, method)
	}
}

// write adds a line to a file.
func write(name, line string) {
	if f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
		_, _ = fmt.Fprintln(f, line)
		_ = f.Close()
	}
}

// ask asks the client all that servers may ask.
func (s *server) ask() {
	uri := s.root + "/a.toy"
	edit := object{"edit": object{"changes": object{uri: []object{{"range": span(0, 0, 0), "newText": "written"}}}}}
	for i, q := range []object{
		{"method": "workspace/applyEdit", "params": edit},
		{"method": "window/showDocument", "params": object{"uri": "https://example.test/", "external": true}},
		{"method": "workspace/configuration", "params": object{"items": []object{{"section": "a.b"}, {"section": "c"}}}},
		{"method": "client/registerCapability", "params": object{"registrations": []object{{"id": "1", "method": "m"}}}},
		{"method": "client/unregisterCapability", "params": object{"unregisterations": []object{{"id": "1", "method": "m"}}}},
		{"method": "window/workDoneProgress/create", "params": object{"token": "t"}},
		{"method": "window/showMessageRequest", "params": object{"type": 1, "message": "?", "actions": []object{{"title": "yes"}}}},
		{"method": "workspace/workspaceFolders"},
		{"method": "workspace/diagnostic/refresh"},
		{"method": "no/such/method", "params": []int{1}},
		{"method": "workspace/configuration", "params": "nonsense"},
	} {
		q["id"] = fmt.Sprintf("ask-%02d", i)
		s.send(q)
	}
	s.send(object{"method": "$/progress", "params": object{"token": "t", "value": object{"kind": "begin"}}})
	s.send(object{"method": "$/progress", "params": object{"token": "t", "value": object{"kind": "end"}}})
}

func (s *server) send(o object) {
	o["jsonrpc"] = "2.0"
	b, _ := json.Marshal(o)
	_, _ = fmt.Fprintf(s.out, "Content-Length: %d\r\n\r\n%s", len(b), b)
	_ = s.out.Flush()
}

func (s *server) answer(m message, result any) { s.send(object{"id": m.ID, "result": result}) }

// load reads the project.
func (s *server) load() {
	_ = filepath.WalkDir(path(s.root), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(p, ".toy") {
			s.reread((&url.URL{Scheme: "file", Path: filepath.ToSlash(p)}).String())
		}
		return nil
	})
}

func (s *server) reread(uri string) {
	if b, err := os.ReadFile(path(uri)); err == nil && strings.HasSuffix(uri, ".toy") {
		s.disk[uri] = string(b)
	} else {
		delete(s.disk, uri)
	}
}

func path(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return filepath.FromSlash(u.Path)
}

// all are the files, sorted.
func (s *server) all() []string {
	var list []string
	for uri := range s.disk {
		list = append(list, uri)
	}
	for uri := range s.open {
		if !slices.Contains(list, uri) {
			list = append(list, uri)
		}
	}
	slices.Sort(list)
	return list
}

func (s *server) text(uri string) string {
	if d := s.open[uri]; d != nil {
		return d.text
	}
	return s.disk[uri]
}

type word struct {
	uri, verb, name string
	def             bool
	span            object
	line, from, to  int
}

var lines = regexp.MustCompile(`^(.*?)\b(def|use|bad|warn) (\S+)`)

// words are those of a file.
func (s *server) wordsOf(uri string) []word {
	var list []word
	for n, line := range strings.Split(s.text(uri), "\n") {
		at := 0
		for {
			m := lines.FindStringSubmatchIndex(line[at:])
			if m == nil {
				break
			}
			w := word{uri: uri, verb: line[at+m[4] : at+m[5]], name: line[at+m[6] : at+m[7]], line: n,
				from: s.column(line[:at+m[6]]), to: s.column(line[:at+m[7]])}
			w.def = w.verb == "def"
			w.span = span(n, w.from, w.to)
			list = append(list, w)
			at += m[1]
		}
	}
	return list
}

func (s *server) column(before string) int {
	if s.encoding == "utf-8" {
		return len(before)
	}
	return len(utf16.Encode([]rune(before)))
}

func span(line, from, to int) object {
	return object{"start": object{"line": line, "character": from}, "end": object{"line": line, "character": to}}
}

func (s *server) places(name string) []word {
	var list []word
	for _, uri := range s.all() {
		for _, w := range s.wordsOf(uri) {
			if w.name == name && (w.def || w.verb == "use") {
				list = append(list, w)
			}
		}
	}
	return list
}

func (s *server) nameAt(uri string, line, column int) string {
	for _, w := range s.wordsOf(uri) {
		if w.line == line && w.from <= column && column <= w.to {
			return w.name
		}
	}
	return ""
}

func (s *server) problems(uri string) []object {
	list := []object{}
	for _, w := range s.wordsOf(uri) {
		severity, text := 1, ""
		switch w.verb {
		case "use":
			if !slices.ContainsFunc(s.places(w.name), func(o word) bool { return o.def }) {
				text = w.name + " is not defined"
			}
		case "bad":
			text = w.name + " is bad"
		case "warn":
			severity, text = 2, w.name
		}
		if s.words != "" && text != "" {
			text = s.words
		}
		if text != "" {
			list = append(list, object{"range": w.span, "severity": severity, "code": w.verb, "source": "toy", "message": text})
		}
	}
	return list
}

// publish says what is wrong in the open files.
func (s *server) publish() {
	if s.way == "pull" || s.hang == "publish" {
		return
	}
	for _, uri := range s.all() {
		d := s.open[uri]
		if d == nil {
			continue
		}
		wrong := []object{{"range": span(0, 0, 0), "severity": 1, "message": "this is stale"}}
		params := object{"uri": uri, "diagnostics": s.problems(uri)}
		if s.way == "push" {
			params["version"] = d.version
		}
		if s.stale {
			s.send(object{"method": "textDocument/publishDiagnostics", "params": object{"uri": uri, "version": d.version - 1,
				"diagnostics": wrong}})
		}
		s.send(object{"method": "textDocument/publishDiagnostics", "params": params})
		if s.stale {
			for _, version := range []any{d.version - 1, nil} {
				s.send(object{"method": "textDocument/publishDiagnostics", "params": object{"uri": uri, "version": version,
					"diagnostics": wrong}})
			}
		}
	}
}

func (s *server) symbols(uris []string, query string, whole bool) []object {
	list := []object{}
	for _, uri := range uris {
		for _, w := range s.wordsOf(uri) {
			switch {
			case !w.def || !strings.Contains(w.name, query):
			case whole:
				list = append(list, object{"name": w.name, "kind": 12, "range": w.span, "selectionRange": w.span})
			default:
				list = append(list, object{"name": w.name, "kind": 12, "location": object{"uri": uri, "range": w.span}})
			}
		}
	}
	return list
}

func (s *server) answerRename(m message, from, to string) {
	if from == "" {
		s.send(object{"id": m.ID, "error": object{"code": -32602, "message": "there is nothing to rename"}})
		return
	}
	byFile := map[string][]object{}
	for _, w := range s.places(from) {
		byFile[w.uri] = append(byFile[w.uri], object{"range": w.span, "newText": to})
	}
	var list []object
	for _, uri := range s.all() {
		if len(byFile[uri]) == 0 {
			continue
		}
		version := any(nil)
		if d := s.open[uri]; d != nil {
			version = d.version
			if s.rename == "old" {
				version = d.version + 7
			}
		}
		if s.rename == "overlap" {
			byFile[uri] = append(byFile[uri], byFile[uri][0])
		}
		list = append(list, object{"textDocument": object{"uri": uri, "version": version}, "edits": byFile[uri]})
	}
	switch s.rename {
	case "outside":
		list = append(list, object{"textDocument": object{"uri": "file:///etc/passwd", "version": nil},
			"edits": []object{{"range": span(0, 0, 0), "newText": "x"}}})
	case "create":
		list = append(list, object{"kind": "create", "uri": s.root + "/made.toy"})
	}
	s.answer(m, object{"documentChanges": list})
}

// Package tool holds the words for tools: what the model calls, what a tool
// proposes, and what goes back.
//
// A tool never acts. It turns arguments into an [Action]; the session asks,
// confines, commits and records. A tool sees the machine only through [Env].
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

// Spec is a tool as offered to the model.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the arguments
	Grammar     string          // Lark grammar where the model takes freeform input
	// Parallel tools may run beside each other; the others run alone.
	Parallel bool
	// Aliases are names that models were trained on; accepted, not offered.
	Aliases []string
}

// Same reports whether two describe a tool in the same way.
func (s Spec) Same(t Spec) bool {
	return s.Name == t.Name && s.Description == t.Description && bytes.Equal(s.Schema, t.Schema) &&
		s.Grammar == t.Grammar && s.Parallel == t.Parallel && slices.Equal(s.Aliases, t.Aliases)
}

// Call is one call of a tool.
type Call struct {
	ID   protocol.CallID
	Name string // as the model wrote it, an alias perhaps
	// Args is the JSON object of the arguments. Freeform input arrives as
	// {"input": text}.
	Args json.RawMessage
	// Manner is how the caller wants to be answered.
	Manner Manner
}

// Manner says how a caller is answered. The zero value is for programs: results have all
// their parts, and lines are numbered as `%4d | text`.
type Manner struct {
	// Short results tell of a change in one line: no versions, no new content.
	Short bool
	// Tab has a number and a tab before each line of a file.
	Tab bool
	// Versions has short results tell versions and hashes all the same, as calls that name a
	// version are told them; see doc/adr/0005-models-read-short-results.md.
	Versions bool
	// Lenient reads arguments by their meaning where that is certain: "5" as 5, path as
	// file_path. What is unknown is left out, and noted.
	Lenient bool
}

// Number puts the number of a line before it.
func (m Manner) Number(b *strings.Builder, n int, line string) {
	if m.Tab {
		b.WriteString(strconv.Itoa(n))
		b.WriteByte('\t')
	} else {
		fmt.Fprintf(b, "%4d | ", n)
	}
	b.WriteString(line)
	b.WriteByte('\n')
}

// Tool is one tool. Implementations have no state and may be called by several
// goroutines.
type Tool interface {
	Spec() Spec
	// Prepare turns a call into what it proposes. A refusal is a *Error, which
	// the model reads; other errors are faults of the machine.
	Prepare(ctx context.Context, env Env, c Call) (Action, error)
}

// Env is what tools see of the machine. Paths in results are absolute.
type Env interface {
	// Cwd is the working directory; relative paths start there.
	Cwd() string
	// Resolve makes path absolute and checks that it lies in the workspace; an
	// error is an *Error with code OUTSIDE_WORKSPACE or INVALID_ARGUMENTS.
	Resolve(path string) (string, error)
	// Read returns the state of an absolute path and its version; a nil image
	// means there is nothing. Directories, devices and the like are *Errors.
	Read(path string) (*delta.Image, Stamp, error)
	// Seen returns what the model last saw of path: the image (nil if it saw that
	// nothing was there), and whether it saw it at all. The image may be not
	// Loaded when its bytes are no longer kept.
	Seen(path string) (*delta.Image, bool)
	// List, Glob and Grep look for files. Results are sorted and bounded; more
	// says that some were left out.
	List(ctx context.Context, dir string, depth, limit int) (entries []Entry, more bool, err error)
	Glob(ctx context.Context, dir, pattern string, limit int) (paths []string, more bool, err error)
	Grep(ctx context.Context, q Query) (lines []Line, missed Missed, err error)
}

// Entry is one line of a directory listing. Path is relative to the listed
// directory; directories end in a slash, links in an at sign.
type Entry struct{ Path string }

// Missed says what a search left out: further matches, files that are too large with the
// first of their paths, or all that it did not come to in its time.
type Missed struct {
	More    bool
	Large   []string
	Larges  int
	Stopped bool
}

// Query asks for lines that match a pattern (RE2 syntax).
type Query struct {
	Pattern    string
	Dir        string // absolute; a file is searched alone
	Glob       string // only files whose path matches, or empty
	IgnoreCase bool
	Context    int // lines shown around a match
	Limit      int
}

// Line is one matching line, or one beside it (Match false).
type Line struct {
	Path   string
	Number int // 1-based
	Text   string
	Match  bool
}

// Stamp is a version as the model sees it.
type Stamp struct {
	Version     int    `json:"version"`
	ContentHash string `json:"contentHash"` // 16 hex digits of xxhash64
	LineEnding  string `json:"lineEnding"`  // lf, crlf or mixed
	Encoding    string `json:"encoding"`
}

// Action is what a tool proposes: one of the types below.
type Action interface{ action() }

// Answer needs nothing done.
type Answer struct {
	Result Result
	// Observed names files whose current state the result shows the model.
	Observed []history.Observation
	// Todo replaces the plan that the user sees, if not nil.
	Todo *protocol.TodoList
}

// Change proposes new contents for files. It is committed only if every Pre is
// still what is on disk.
type Change struct {
	Set delta.Set
	// BestEffort commits file by file and reports each; otherwise all or nothing.
	BestEffort bool
	// Result is told to the model after the commit; the session adds the new
	// versions. Failures holds files that could not be planned (best effort).
	Result   Result
	Failures []Failure
	// Merged says that the change was merged with newer edits; it is told.
	Merged bool
	// Derived says that a program worked the edits out: that the model never saw a line of
	// them is no reason for a warning.
	Derived bool
	// Real says that the paths in Set are real ones; the session makes them so before
	// anybody is asked.
	Real bool
}

// Failure is one file of a best-effort change that was left alone.
type Failure struct {
	Path string
	Err  *Error
}

// Command proposes to run a program.
type Command struct {
	// Line is the shell command as shown to the user and as run: Argv is what is
	// executed, Line how it is shown.
	Line string
	Argv []string
	Dir  string
	TTY  bool
	// Yield is how long to wait before the call returns with the process still
	// running; Timeout, when not 0, ends the process.
	Yield, Timeout time.Duration
	// Login has a login shell run the line.
	Login bool
	// Escalate asks to run without the sandbox; Reason is the model's word why.
	Escalate  bool
	Reason    string
	MaxTokens int
}

// WriteStdin proposes to feed or poll a running process.
type WriteStdin struct {
	Process   int
	Input     string
	Yield     time.Duration
	MaxTokens int
}

// Undo proposes to take changes of the session back, or, with Redo, to bring them
// back. With neither Turn nor Call it is about the last call that stands.
type Undo struct {
	Turn, Call string
	Redo       bool
}

func (Undo) action() {}

// Fetch proposes to read a page of the web.
type Fetch struct{ URL string }

func (Fetch) action() {}

// Remote proposes to call a tool that lives in another program: one of an MCP
// server.
type Remote struct {
	Server, Tool string // as the server names it
	Name         string // as the model names it
	Args         json.RawMessage
	// Definition is all that the server says of the tool.
	Definition string
	// Resource is set for the reading of resources; URI names one.
	Resource bool
	URI      string
}

func (Remote) action()     {}
func (Answer) action()     {}
func (Change) action()     {}
func (Command) action()    {}
func (WriteStdin) action() {}

// Result is what goes back to the model, and what `kerf tool` prints.
type Result struct {
	Success bool
	Output  string
	Error   *Error
	// Short says that the model reads Output without the states, which it tells.
	Short bool
	// Images are data: URLs that the model sees with the output.
	Images        []string
	Warnings      []Warning
	VersionInfo   *Stamp
	UpdatedStates map[string]FileState // by path as the model wrote it
	// Fields are further members of the object that programs get (`kerf tool`, MCP).
	Fields map[string]any
}

// FileState tells the model what a change made of a file.
type FileState struct {
	NewVersion int       `json:"newVersion"`
	NewHash    string    `json:"newHash"`
	Affected   LineRange `json:"affectedLineRange"`
	NewContent string    `json:"newContent,omitempty"`
	// Deleted files have neither version nor hash.
	Deleted bool `json:"deleted,omitempty"`
}

// LineRange is 1-based and inclusive, in the new text.
type LineRange struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Warning goes with a result that may be fine.
type Warning struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// Warn makes a warning of each message.
func Warn(code string, messages []string) []Warning {
	var list []Warning
	for _, m := range messages {
		list = append(list, Warning{Code: code, Message: m})
	}
	return list
}

// The codes of refusals. They are part of the interface and never reused.
const (
	NotFound         = "NOT_FOUND"
	Ambiguous        = "AMBIGUOUS"
	NoChange         = "NO_CHANGE"
	VersionMismatch  = "VERSION_MISMATCH"
	OutsideWorkspace = "OUTSIDE_WORKSPACE"
	InvalidArguments = "INVALID_ARGUMENTS"
	UnreadFile       = "UNREAD_FILE"
	NotAFile         = "NOT_A_FILE"
	BinaryFile       = "BINARY_FILE"
	TooLarge         = "TOO_LARGE"
	PatchFailed      = "PATCH_FAILED"
	EncodingError    = "ENCODING"
	Denied           = "DENIED"
	WriteFailed      = "WRITE_FAILED"
	UnknownTool      = "UNKNOWN_TOOL"
	SandboxError     = "SANDBOX"
	Aborted          = "ABORTED"
)

// Error is a refusal, written for the model: what is true now and the one step
// that would succeed.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error gives code and message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Refuse makes a refusal.
func Refuse(code, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Fail is the result of a refused call.
func Fail(err *Error) Result { return Result{Error: err} }

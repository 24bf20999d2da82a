package protocol

import "context"

// ClientServices is what a front end's own program does for a session, an editor that
// holds unsaved buffers for instance. Nil members are not offered.
type ClientServices struct {
	// Name stands in the ledger.
	Name      string
	Files     ClientFiles
	Terminals ClientTerminals
	// Texts says that it shows the whole texts of changed files: FileChange.Files is
	// filled, which costs memory for each change.
	Texts bool
}

// ClientFiles reads and writes whole text files in place of the disk. Paths are
// absolute.
type ClientFiles interface {
	ReadText(ctx context.Context, path string) (string, error)
	WriteText(ctx context.Context, path, text string) error
}

// ClientTerminals runs commands where the user can watch them. They are not
// confined, so they are used only where nothing is.
type ClientTerminals interface {
	Start(ctx context.Context, c TerminalCommand) (ClientTerminal, error)
}

// TerminalCommand is a program to run in a client's terminal.
type TerminalCommand struct {
	Call      CallID // that it belongs to
	Argv, Env []string
	Dir       string
	// Limit bounds the output that is kept, in bytes.
	Limit int
}

// ClientTerminal is one running program.
type ClientTerminal interface {
	ID() string
	// Output returns what was printed so far, and whether its beginning was cut.
	Output(ctx context.Context) (text string, cut bool, err error)
	// Wait waits for the end and returns the exit code.
	Wait(ctx context.Context) (int, error)
	// Release ends the program if it still runs, and frees the terminal.
	Release(ctx context.Context) error
}

// MCPServer is a server that a front end passes on to its session.
type MCPServer struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string
	URL     string // instead of a command
	Headers map[string]string
}

// CredentialsError says that a provider needs a key or a sign-in and has none.
type CredentialsError struct {
	Provider string
	Err      error // what is missing and how to give it
}

func (e *CredentialsError) Error() string { return e.Err.Error() }

// Unwrap returns what is missing.
func (e *CredentialsError) Unwrap() error { return e.Err }

// ExitCode is that of a wrong configuration.
func (e *CredentialsError) ExitCode() int { return 2 }

// Package langserver talks to language servers: programs that know a programming language,
// over the Language Server Protocol. It starts them when they are first needed, in the
// sandbox, and believes nothing of what they say: messages are bounded, paths and positions
// are checked, an answer counts only for the very versions that were asked about, and a
// server that hangs or dies costs the caller no more than the time of its context.
package langserver

import (
	"errors"
	"path/filepath"
	"time"
)

// Way is how a server is asked what is wrong in a file.
type Way string

// The ways. With none, a server that can be asked is asked, and the versions of what others
// send are looked at.
const (
	Pull     Way = "pull"
	Push     Way = "push"
	TSServer Way = "tsserver" // the commands of tsserver, through typescript-language-server
)

// Server says how a language server is started and spoken to. It is not changed.
type Server struct {
	Name string
	// Program is its absolute path, Args follow it.
	Program string
	Args    []string
	// Env is set beside the environment of commands, as NAME=VALUE.
	Env []string
	// Globs say which files it is for, by their names or their paths below a root.
	Globs []string
	// Markers are the files that stand in the directory of a project. Without one above a
	// file the server is not used for it, unless it works Alone: then the root is the project.
	Markers []string
	Alone   bool
	// Tops are files that join projects: the outermost directory with one is the project, for
	// what breaks in one part of it is changed in another.
	Tops []string
	// Languages are the identifiers of the protocol by the ending of a file, "" the usual one.
	Languages map[string]string
	// Options go with the first message, Settings are what the server asks for later.
	Options, Settings map[string]any
	Way               Way
	// Reports says that it tells when it has read the project, as rust-analyzer does.
	Reports bool
	// States are titles of what it reports as work and is none: that something is wrong.
	States []string
	// Memory bounds it and all that it starts, in bytes; 0 does not.
	Memory uint64
	// Timeout is how long one question may take.
	Timeout time.Duration
}

// language is the identifier of a file.
func (s Server) language(path string) string {
	if id := s.Languages[filepath.Ext(path)]; id != "" {
		return id
	}
	return s.Languages[""]
}

// The reasons why a server does not answer.
var (
	// ErrNone says that there is no server for a file.
	ErrNone = errors.New("no language server for it")
	// ErrLate says that it did not answer in time.
	ErrLate = errors.New("it did not answer in time")
	// ErrUnable says that it cannot do what it was asked for.
	ErrUnable = errors.New("it cannot do that")
	// ErrNotText says that a file is not UTF-8, of which no server is told.
	ErrNotText = errors.New("the file is not UTF-8")
)

// Problem is an error that a server finds. Its words are the server's.
type Problem struct {
	Path         string
	Line, Column int // from 1
	Code         string
	Message      string
}

// maxProblems bounds how many problems of one file are kept, maxWords their text in bytes.
const (
	maxProblems = 500
	maxWords    = 2000
)

// Package quirks is a table of what real model servers and models do beside their
// protocols, each with the public report that tells of it if there is one, as emulated servers for
// the real program.
//
// A quirk has a control: the same conversation without the quirk, or a request that
// the emulated server must refuse. A row whose control fails has shown nothing.
package quirks

import (
	"net/http"
	"time"

	"kerf/internal/model/script/dialect"
)

// API is a wire protocol.
type API = dialect.API

// The protocols.
const (
	Responses = dialect.Responses
	Chat      = dialect.Chat
	Anthropic = dialect.Anthropic
	Gemini    = dialect.Gemini
)

// Unreported is the source of a row that nobody reported: a protocol does not exclude it, or
// a neighbour of it was reported.
const Unreported = "nobody"

// Quirk is one row of the table.
type Quirk struct {
	Name   string // API/what
	Source string // owner/repository#number of the report, or Unreported
	API    dialect.API
	Case
	// Control is the same without the quirk.
	Control *Case
	// Bad are bodies that Refuses must refuse: what a client without care sends.
	Bad []string
}

// Case is a conversation with emulated servers.
type Case struct {
	Steps   []Step   // runs of the program; none means one with the prompt "go"
	Answers []Answer // to the requests, in order
	Repeat  bool     // the last answer answers all further requests
	// Refuses says why a server refuses a request, in its own words, or nothing.
	Refuses func(*Request) string
	// Gets are the answers to GET requests, and to POST requests of a server's own
	// protocol, by path.
	Gets map[string]string
	// Closed is set when nothing listens.
	Closed bool
	Want   Want
}

// Step is one run of the program.
type Step struct {
	Provider string // in the configuration; empty means mock
	API      dialect.API
	Base     string   // path of base_url, empty means /v1
	Model    string   // empty means one that suits the API
	Config   []string // lines of the provider's table
	Flags    []string
	Prompt   string
	Resume   bool // goes on with the last session
	Exit     int
}

// Request is one request as it arrived.
type Request struct {
	Provider string
	Path     string
	Header   http.Header
	Body     []byte
	JSON     map[string]any
}

// Answer is the answer to one request.
type Answer struct {
	Status  int // 0 means 200
	Body    string
	Header  map[string]string
	Cut     bool          // the connection breaks at the end of the body
	Stall   bool          // nothing comes behind the body
	Wait    time.Duration // before the headers
	Piece   int           // the body comes in pieces of so many bytes
	Gap     time.Duration // behind each piece
	Endless string        // comes again and again behind the body, Gap apart
	Gzip    bool          // compressed, though nobody asked for it
}

// Want is what is expected of the last run, and of the requests of all.
type Want struct {
	Exit          int
	Least, Most   int // requests; 0 means unsaid
	Out, NotOut   []string
	Err, NotErr   []string
	Last, NotLast []string // what the last request holds
	Once          []string // what stdout holds exactly once
	MostRefused   int      // how often stderr may speak of a refusal
}

// All is the table.
func All() []Quirk {
	var all []Quirk
	for _, rows := range [][]Quirk{chatSilent(), chatHistory(), chatErrors(), overflows(), textCalls(), local(),
		anthropicRows(), geminiRows(), responsesRows(), rude(), odd()} {
		all = append(all, rows...)
	}
	return all
}

func objects(v any) []map[string]any {
	list, _ := v.([]any)
	var all []map[string]any
	for _, o := range list {
		if o, ok := o.(map[string]any); ok {
			all = append(all, o)
		}
	}
	return all
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

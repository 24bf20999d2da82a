// Package message is what Kerf and the helper process of the witness say to each other.
package message

import "encoding/json"

// Op says what a message between Kerf and its helper is about.
type Op string

// The messages. Kerf sends Watch with the listener, Cut or End, Seen once it has read
// what the command touched, Resume after a Cut, and Answer; the helper answers all but the
// first and the last with the same Op and number, and sends Ask.
const (
	Watch  Op = "watch"
	Cut    Op = "cut"
	Resume Op = "resume"
	End    Op = "end"
	Seen   Op = "seen"
	Ask    Op = "ask"
	Answer Op = "answer"
)

// Message is one packet on the socket between Kerf and its helper.
type Message struct {
	Op Op    `json:"op"`
	ID int64 `json:"id"` // of the command

	Dir   string   `json:"dir,omitempty"`   // of the journal
	Roots []string `json:"roots,omitempty"` // real paths
	// Ignore are names that Kerf itself put into the workspace.
	Ignore []string        `json:"ignore,omitempty"`
	Ledger string          `json:"ledger,omitempty"` // its directory
	Entry  json.RawMessage `json:"entry,omitempty"`  // of the ledger, for the command's begin
	// OneRoot says that all processes have the same root directory.
	OneRoot bool `json:"one_root,omitempty"`

	// Brief, with End, says that the command may well leave something running.
	Brief bool `json:"brief,omitempty"`

	Error string `json:"error,omitempty"`
	// Ended, in the answer to End, says that nothing of the command runs any more, and in
	// Seen that Kerf knows.
	Ended bool `json:"ended,omitempty"`
	// Begun says that there is a journal.
	Begun bool `json:"begun,omitempty"`

	Question int64  `json:"question,omitempty"` // number of an Ask
	Path     string `json:"path,omitempty"`
	Size     int64  `json:"size,omitempty"`
	Why      string `json:"why,omitempty"`
	Allow    bool   `json:"allow,omitempty"`
}

package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"kerf/internal/agent/history"
	"kerf/internal/agent/outline"
	"kerf/internal/agent/rollout"
)

// journal keeps the records of a session and the files beside them. Without a
// rollout it only counts. It belongs to the loop.
type journal struct {
	rollout *rollout.Writer
	meta    rollout.Metadata
	// dirty tells whether the work tree was dirty at the start, if that is known within
	// the time.
	dirty func(within time.Duration) (dirty, known bool)
	warn  func(string)

	failed error // why records cannot be written, told once
	due    bool  // metadata.json is behind
	made   bool  // it was written once

	outline outline.Kept
}

// write makes records durable. A full disk does not end the turn: the writer
// keeps what it could not write, and the user is told once.
func (j *journal) write(records []history.Record) {
	if len(records) == 0 {
		return
	}
	for _, r := range records {
		j.observe(r)
	}
	if j.rollout == nil {
		return
	}
	entries := make([]rollout.Entry, len(records))
	for i, r := range records {
		entries[i] = rollout.Entry{Type: r.Type(), Body: j.slim(r)}
	}
	err := j.rollout.Append(entries...)
	j.fault(err)
	j.failed = err
	j.outlined(false)
}

// outlined brings the outline up to date where much was added to the record since. Ended says
// that a turn is over.
func (j *journal) outlined(ended bool) {
	v := outline.View{Kept: &j.outline, Dir: j.rollout.Dir()}
	v.Grown(context.Background(), j.rollout.Size(), ended)
}

// observe keeps the metadata true.
func (j *journal) observe(r history.Record) {
	switch r := r.(type) {
	case history.TurnContext:
		j.meta.Turns++
		j.meta.Model = r.Settings.Model
	case history.UserInput:
		if j.meta.Title == "" && !r.Marker {
			j.meta.Title = titleOf(r.Text)
		}
	case history.TokenUsage:
		j.meta.Tokens += r.Usage.Total()
	case history.EventRecord:
		if r.What != history.Renamed {
			return
		}
		j.meta.Title = r.Message
	case history.AssistantMessage:
		if r.Plan != "" {
			j.savePlan(r.Plan)
		}
		return
	default:
		return
	}
	j.due = true
}

// fault warns of the first of a row of errors.
func (j *journal) fault(err error) {
	if err != nil && j.failed == nil {
		j.warn(fmt.Sprintf("the session cannot be saved at the moment: %v", err))
	}
}

// begin writes metadata.json once there is a title.
func (j *journal) begin() {
	if !j.made && j.meta.Title != "" {
		j.made = true
		j.saveMeta()
	}
}

// gitPatience is how long the end of a session waits for git: a turn may be over before
// git has looked at all files.
const gitPatience = time.Second

// learn takes the state of the work tree over, if it is known within the time.
func (j *journal) learn(within time.Duration) {
	if j.dirty == nil || j.meta.Git.Dirty != nil {
		return
	}
	if d, known := j.dirty(within); known {
		j.meta.Git.Dirty, j.due = &d, true
	}
}

// close brings the files up to date for the last time.
func (j *journal) close() {
	if j.rollout != nil {
		if j.made {
			j.learn(gitPatience)
		}
		j.saveMeta()
		_ = j.rollout.Close()
	}
}

// saveMeta brings metadata.json up to date. It only ever repeats what the
// rollout knows, so it may lag behind.
func (j *journal) saveMeta() {
	if j.rollout == nil || !j.due {
		return
	}
	j.learn(0)
	j.due = false
	j.meta.Updated = time.Now().UTC()
	if err := j.rollout.NoteMetadata(j.meta); err != nil {
		j.fault(err)
		j.failed = cmp.Or(j.failed, err)
	}
}

// savePlan keeps the plan beside the rollout, for people.
func (j *journal) savePlan(plan string) {
	if j.rollout == nil {
		return
	}
	if err := j.rollout.SavePlan(plan); err != nil {
		j.warn(fmt.Sprintf("the plan cannot be saved: %v", err))
	}
}

// sync brings the session's files up to date; the rollout reaches the disk
// before the end of the turn is told.
func (j *journal) sync() {
	if j.rollout == nil {
		return
	}
	j.saveMeta()
	_ = j.rollout.Sync()
	j.outlined(true)
}

// slim returns r with its images kept beside the rollout and named in their
// place: a log of text stays small and can be read.
func (j *journal) slim(r history.Record) history.Record {
	switch r := r.(type) {
	case history.UserInput:
		r.Images = j.keepImages(r.Images)
		return r
	case history.ToolCall:
		r.Images = j.keepImages(r.Images)
		return r
	}
	return r
}

func (j *journal) keepImages(urls []string) []string {
	if len(urls) == 0 {
		return urls
	}
	kept := slices.Clone(urls)
	for i, url := range urls {
		kind, data, ok := history.ImageData(url)
		if !ok {
			continue
		}
		// Without the copy the record keeps the image itself.
		if name, err := j.rollout.SaveBlob(data); err == nil {
			kept[i] = history.ImageName(kind, name)
		}
	}
	return kept
}

// titleOf makes a title of the first line of a prompt.
func titleOf(text string) string {
	text = strings.TrimSpace(text)
	text, _, _ = strings.Cut(text, "\n")
	const most = 80
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// progress is how far the record of a session goes.
type progress struct {
	rounds int          // of the model that are in it
	items  map[int]bool // what is in it of the last round, by index
}

// progress reads the record of the task's session. busy is how many calls have begun and
// not ended.
func (f files) progress() (p progress, busy int) {
	id, err := f.session()
	if err != nil || id == "" {
		return p, 0
	}
	file, err := os.Open(filepath.Join(f.home, "sessions", id, "rollout.jsonl"))
	if err != nil {
		return p, 0
	}
	defer file.Close()
	type round struct {
		turn string
		n    int
	}
	var last round
	open := map[string]bool{}
	lines := bufio.NewReaderSize(file, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return p, len(open)
		}
		var r struct {
			Type, Event string
			Turn        string `json:"turn_id"`
			Call        string `json:"call_id"`
			Round       int
			Index       int
		}
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		if r.Type == "event" && r.Event == "tool_started" {
			open[r.Call] = true
			continue
		}
		if r.Type != "tool_call" && r.Type != "assistant_message" || r.Round == 0 {
			continue
		}
		delete(open, r.Call)
		if now := (round{r.Turn, r.Round}); now != last {
			last, p.items = now, map[int]bool{}
			p.rounds++
		}
		p.items[r.Index] = true
	}
}

// rest is a scenario without the rounds that are played. Of a round that was broken off it
// keeps the calls that were not made.
func (p progress) rest(scenario []byte) ([]byte, error) {
	if p.rounds == 0 {
		return scenario, nil
	}
	var all map[string]json.RawMessage
	var rounds []map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(scenario, &all), json.Unmarshal(all["rounds"], &rounds)); err != nil {
		return nil, err
	}
	if p.rounds > len(rounds) {
		rounds = nil
	} else {
		broken := rounds[p.rounds-1]
		rounds = rounds[p.rounds:]
		var items, left []map[string]json.RawMessage
		if err := json.Unmarshal(broken["items"], &items); err != nil && broken["items"] != nil {
			return nil, err
		}
		for i, item := range items {
			if item["call"] != nil && !p.items[i] {
				left = append(left, item)
			}
		}
		if left != nil {
			broken["items"], _ = json.Marshal(left)
			delete(broken, "expect")
			rounds = append([]map[string]json.RawMessage{broken}, rounds...)
		}
	}
	if rounds == nil {
		rounds = []map[string]json.RawMessage{}
	}
	all["rounds"], _ = json.Marshal(rounds)
	return json.Marshal(all)
}

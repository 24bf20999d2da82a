package modeltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"kerf/internal/model"
	"kerf/internal/model/script"
	"kerf/internal/model/script/dialect"
)

// Round is the answer to one request. The zero value is an empty 200 answer;
// the functions below make the usual ones.
type Round struct {
	Script *script.Round // what the model does, rendered as an event stream
	Body   string        // instead of Script: the body as it is

	// For keeps the round for a request that holds all these texts, as it is in JSON;
	// such a round is taken before the ones for any request.
	For []string

	Status int               // 0 means 200
	Header map[string]string // in place of, and added to, the usual ones

	// Faults of the connection. CutAt and StallAt count bytes of the body; use
	// the methods, which keep zero apart from none.
	CutAt   *int          // the connection is closed after so many bytes
	StallAt *int          // nothing more is sent after so many bytes, until the client leaves
	Slow    time.Duration // a pause before every byte
	Delay   time.Duration // a pause before the headers
}

// Answer is a round of items, with some usage.
func Answer(items ...script.Item) Round {
	return Round{Script: &script.Round{Items: items,
		Usage: &script.Usage{Input: 100, Cached: 40, Output: 20, Reasoning: 5}}}
}

// Play is a round of a scenario.
func Play(r script.Round) Round { return Round{Script: &r} }

// Scenario is all rounds of s.
func Scenario(s *script.Scenario) []Round {
	rounds := make([]Round, len(s.Rounds))
	for i, r := range s.Rounds {
		rounds[i] = Play(r)
	}
	return rounds
}

// Raw is an event stream as it is.
func Raw(events ...string) Round { return Round{Body: strings.Join(events, "")} }

// HTTP is an answer with a status and a body, which may be empty.
func HTTP(status int, body string) Round { return Round{Status: status, Body: body} }

// Page is a web page instead of an event stream.
func Page(html string) Round {
	return Round{Body: html, Header: map[string]string{"Content-Type": "text/html; charset=utf-8"}}
}

// Cut closes the connection after n bytes of the body.
func (r Round) Cut(n int) Round { r.CutAt = &n; return r }

// Stall sends nothing after n bytes of the body.
func (r Round) Stall(n int) Round { r.StallAt = &n; return r }

// Drip sends the body byte by byte with a pause before each.
func (r Round) Drip(pause time.Duration) Round { r.Slow = pause; return r }

// Late waits before the headers.
func (r Round) Late(d time.Duration) Round { r.Delay = d; return r }

// With adds a header.
func (r Round) With(name, value string) Round {
	r.Header = maps.Clone(r.Header)
	if r.Header == nil {
		r.Header = map[string]string{}
	}
	r.Header[name] = value
	return r
}

// Message, Reasoning, Call and Freeform are items. Args is anything that
// encoding/json takes; a string is passed on as it is.
func Message(text string) script.Item { return script.Item{Message: text} }

// Reasoning is a piece of reasoning.
func Reasoning(text string) script.Item { return script.Item{Reasoning: text} }

// Call is a call with JSON arguments.
func Call(name string, args any) script.Item {
	return script.Item{Call: name, Args: json.RawMessage(dialect.Encode(args))}
}

// Freeform is a call with text.
func Freeform(name, input string) script.Item { return script.Item{Call: name, Input: &input} }

// answer is a round made ready to be sent.
type answer struct {
	Round
	cut bool // the connection is closed at the end of the body
}

// ready renders round k for a request. A request that is not what the round
// expects gets a 400 answer that says how it differs.
func (r Round) ready(k int, req *Request) answer {
	if r.Script == nil {
		return answer{Round: r}
	}
	s, api := r.Script, req.api()
	if s.Expect != nil {
		if differs := s.Expect.Check(api.Texts(req.Body)); differs != "" {
			return answer{Round: refusal(api, &script.Failure{Kind: model.BadCall,
				Message: fmt.Sprintf("round %d: %s", k, differs)})}
		}
	}
	r.Delay += time.Duration(s.DelayMS) * time.Millisecond
	f := s.Error
	dropped := f != nil && (f.Kind == model.Network || f.Kind == model.Broken)
	if f != nil && len(s.Items) == 0 && !dropped {
		r.Status, r.Body = api.Refusal(f)
		if f.RetryAfter > 0 {
			r = r.With("Retry-After", strconv.FormatFloat(f.RetryAfter, 'f', -1, 64))
		}
		return answer{Round: r}
	}
	played := *s
	played.Cut = s.Cut || dropped
	r.Body = strings.Join(api.Render(played, k), "")
	return answer{r, played.Cut}
}

func refusal(api dialect.API, f *script.Failure) Round {
	status, body := api.Refusal(f)
	return HTTP(status, body)
}

// suits reports whether a round is for a request.
func (r Round) suits(req *Request) bool {
	for _, text := range r.For {
		if !strings.Contains(string(req.Body), text) {
			return false
		}
	}
	return true
}
